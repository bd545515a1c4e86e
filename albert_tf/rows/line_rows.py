"""Rows made of lines: texts and JSON objects, one a line, and the tables TSV and CSV."""

import csv
import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from albert_tf.checkpoints.task_fields import LIST_FIELDS
from albert_tf.rows.input_lines import LONGEST_LINE
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import refuse_constant, refuse_repeats, to_json
from albert_tf.serving.input_fields import ExampleFields

TABLES = ("tsv", "csv")
# Columns that say which example a row is; the first that is there counts.
ID_COLUMNS = ("id", "guid", "index", "idx", "qid")
# Under which a line stands that is no row.
LINE = "line"
_BRACE = """; a line that begins with { is an object: write a text that does as {"text": "..."}"""


@dataclasses.dataclass(frozen=True)
class InputRow:
    """A row as it was given.

    Attributes:
        number: from 1; the header of a table is no row.
        where: what an error calls it.
        values: its columns; a text without a name is "text".
        error: why it cannot be answered; None if nothing is known against it.
    """

    number: int
    where: str
    values: Mapping[str, Any]
    error: str | None = None


def read_texts(lines: Iterable[str], name: str, fields: ExampleFields, file_format: str) -> Iterator[InputRow]:
    """Yields a row for each line.

    Args:
        lines: without their ends.
        name: what to call the lines in an error, before a line's number.
        fields: of the model.
        file_format: "jsonl": objects alone; else a line that starts with "{" is an object and any other one a text.
    """
    for number, line in enumerate(lines, 1):
        where = f"{name} {number}"
        if file_format == "jsonl" or line.lstrip().startswith("{"):
            yield _parse_object(line, number, where, "" if file_format == "jsonl" else _BRACE)
        else:
            yield InputRow(number, where, {fields.plain or "text": line}, _not_plain(fields))


def _not_plain(fields: ExampleFields) -> str | None:
    return None if fields.plain else f"this model takes {fields}: write them as a JSON object"


def _parse_object(line: str, number: int, where: str, advice: str = "") -> InputRow:
    try:
        values = json.loads(line, parse_constant=refuse_constant, parse_float=_finite, object_pairs_hook=refuse_repeats)
        # What was read must be fit to be written: nested less deep than Python can follow.
        to_json(values)
    except RecursionError:
        return InputRow(number, where, {LINE: line}, "not JSON that can be read: nested too deep")
    except ValueError as error:
        empty = not line.strip()
        return InputRow(number, where, {LINE: line}, "the line is empty" if empty else f"not JSON: {error}{advice}")
    if not isinstance(values, dict):
        return InputRow(number, where, {LINE: line}, f"a JSON object was expected; this is a {type(values).__name__}")
    return InputRow(number, where, values)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large a number")
    return value


def read_table(lines: Iterable[str], name: str, fields: ExampleFields, file_format: str) -> Iterator[Any]:
    """Yields first the names of the header, then a row for each that follows.

    Args:
        lines, name, fields: as for read_texts.
        file_format: one of TABLES.

    Raises:
        InputError: no header, one that lacks a column, or no CSV.
    """
    rows = (
        _split_csv(lines, name)
        if file_format == "csv"
        else ((at, line.split("\t")) for at, line in enumerate(lines, 1))
    )
    header_line, header = next(rows, (1, []))
    header = [column.strip() for column in header]
    where = f"{name} {header_line}"
    if not any(header):
        raise InputError(f"{where}: a header with the names of the columns was expected; it is empty")
    repeated = next((column for column in header if column and header.count(column) > 1), None)
    if repeated is not None:
        raise InputError(f"{where}: the header names {repeated!r} twice")
    missing = fields.missing(header)
    if missing is not None:
        raise InputError(f"{where}: the header has {missing}")
    yield header
    lists = {column for field, column in fields.columns(header).items() if field in LIST_FIELDS}
    for number, (line, cells) in enumerate(rows, 1):
        yield _table_row(number, f"{name} {line}", header, cells, lists)


def _table_row(number: int, where: str, header: list[str], cells: list[str], lists: set[str]) -> InputRow:
    values: dict[str, Any] = {column: cell for column, cell in zip(header, cells) if column}
    if not any(cell.strip() for cell in cells) and len(header) > 1:
        return InputRow(number, where, values, "the line is empty")
    extra = sum(bool(cell.strip()) for cell in cells[len(header) :])
    if extra:
        return InputRow(number, where, values, f"{extra} more fields than the header has columns")
    if len(cells) < len(header):
        return InputRow(number, where, values, f"{len(cells)} fields; the header has {len(header)} columns")
    for column in lists & set(values):
        try:
            values[column] = json.loads(values[column])
        except (ValueError, RecursionError):
            return InputRow(number, where, values, f'{column!r} must be a list of texts in JSON, as ["a", "b"]')
    return InputRow(number, where, values)


def _split_csv(lines: Iterable[str], name: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(LONGEST_LINE)
    reader, first = csv.reader((line + "\n" for line in lines), strict=True), 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InputError(f"{name} {first}: not CSV: {error}") from None
        if cells is None:
            return
        # An empty line is a row of one empty field.
        yield first, cells or [""]
        first = reader.line_num + 1
