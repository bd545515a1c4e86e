"""The rows that predict is asked about: lines of text or JSON, tables, CoNLL columns, questions of SQuAD.

A row that cannot be read is still a row, with its number and its fault; only a file that is no such file is refused.
"""

import csv
import dataclasses
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import refuse_repeats, to_json
from albert_tf.serving.input_fields import LIST_FIELDS, WORDS, ExampleFields
from albert_tf.serving.input_lines import (
    LONGEST_LINE,
    check_input,
    open_input,
    read_lines,
)
from albert_tf.tasks import conll
from albert_tf.tasks.squad_examples import read_squad

AUTO, FORMATS = "auto", ("text", "jsonl", "tsv", "csv", "conll", "squad")
_BY_ENDING = {".jsonl": "jsonl", ".tsv": "tsv", ".csv": "csv", ".conll": "conll", ".bio": "conll", ".json": "squad"}
# Under which a line stands that is no row.
LINE = "line"
_TABLES = ("tsv", "csv")


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


def read_rows(
    source: str | BinaryIO | Iterable[str], fields: ExampleFields, task: FinetunedTask, file_format: str = AUTO
) -> Iterator[InputRow]:
    """Yields every row, in order, those that cannot be answered too.

    Args:
        source: a path; standard input; or texts of the command line.
        fields: of the model, which decide what a table must have.
        task: what the model was fine-tuned for.
        file_format: one of FORMATS; AUTO goes by the file's name and takes text where that says nothing.

    Raises:
        InputError: the file cannot be read, is not of the format, or lacks a column.
    """
    if not isinstance(source, str):
        lines, name = (read_lines(source, "stdin"), "stdin, line") if hasattr(source, "read") else (source, "argument")
        yield from _read_lines_in(lines, name, fields, _lines_format(file_format))
        return
    check_input(source)
    file_format = _format_of(source, task) if file_format == AUTO else file_format
    if file_format == "conll":
        yield from _read_conll(source, task)
    elif file_format == "squad":
        yield from _read_squad(source, task)
    else:
        with open_input(source) as file:
            lines = read_lines(file, source)
            yield from _read_lines_in(lines, f"{source}, line", fields, file_format)


def columns_of(rows: Iterable[InputRow]) -> list[str]:
    """The names of all columns that occur, in the order in which they first do."""
    return list(dict.fromkeys(name for row in rows for name in row.values))


def _lines_format(file_format: str) -> str:
    if file_format in ("conll", "squad"):
        raise InputError(f"--input_format={file_format} wants a file; name it by --input_file")
    return "text" if file_format == AUTO else file_format


def _read_lines_in(lines: Iterable[str], name: str, fields: ExampleFields, file_format: str) -> Iterator[InputRow]:
    if file_format in _TABLES:
        yield from _read_table(lines, name, fields, file_format)
        return
    for number, line in enumerate(lines, 1):
        where = f"{name} {number}"
        if file_format == "jsonl" or line.lstrip().startswith("{"):
            yield _parse_object(line, number, where)
        else:
            yield InputRow(number, where, {fields.plain or "text": line}, _not_plain(fields))


def _not_plain(fields: ExampleFields) -> str | None:
    return None if fields.plain else f"this model takes {fields}: write them as a JSON object"


def _parse_object(line: str, number: int, where: str) -> InputRow:
    try:
        values = json.loads(line, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=refuse_repeats)
        # What was read must be fit to be written: nested less deep than Python can follow.
        to_json(values)
    except RecursionError:
        return InputRow(number, where, {LINE: line}, "not JSON that can be read: nested too deep")
    except ValueError as error:
        empty = not line.strip()
        return InputRow(number, where, {LINE: line}, "the line is empty" if empty else f"not JSON: {error}")
    if not isinstance(values, dict):
        return InputRow(number, where, {LINE: line}, f"a JSON object was expected; this is a {type(values).__name__}")
    return InputRow(number, where, values)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a value of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large a number")
    return value


def _read_table(lines: Iterable[str], name: str, fields: ExampleFields, file_format: str) -> Iterator[InputRow]:
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


def _split_tsv(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    return ((number, line.split("\t")) for number, line in enumerate(lines, 1))


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


def _read_conll(path: str, task: FinetunedTask) -> Iterator[InputRow]:
    if task.head != "token_classification":
        raise InputError(f"{path}: CoNLL columns are for a model that tags words; this one is of {task.head}")
    columns = (_column_number(task, "text_column", 0), _column_number(task, "label_column", -1))
    for number, (sentence, tags) in enumerate(conll.read_sentences(path, *columns, tags_may_lack=True), 1):
        values = {WORDS: list(sentence.words)} | ({"tags": [tag for _, tag in tags]} if tags else {})
        yield InputRow(number, f"{path}, sentence {number}", values)


def _column_number(task: FinetunedTask, name: str, default: int) -> int:
    value = task.options.get(name)
    try:
        return default if value is None else int(value)
    except (TypeError, ValueError):
        raise InputError(f"the model's task has {name}={value!r}; the columns of CoNLL files have numbers") from None


def _read_squad(path: str, task: FinetunedTask) -> Iterator[InputRow]:
    if not task.head.startswith("span"):
        raise InputError(f"{path}: a .json file of SQuAD is for a model that finds answers; this one is of {task.head}")
    for number, example in enumerate(read_squad(path, with_impossible=True, need_answers=False), 1):
        values = {"id": example.qas_id, "question": example.question, "context": example.context}
        yield InputRow(number, f"{path}, question {number}", values)


def _format_of(path: str, task: FinetunedTask) -> str:
    """The format that a file's name tells of; for a tagging model also what stands in it."""
    ending = os.path.splitext(path)[1].lower()
    file_format = _BY_ENDING.get(ending, "text")
    if task.head == "token_classification" and file_format in ("text", "tsv") and _holds_tags(path, task):
        return "conll"
    return file_format


def _holds_tags(path: str, task: FinetunedTask) -> bool:
    """Tells whether the first line with text ends in a tag of the model's, as the files of training do."""
    if files.is_remote(path) or not os.path.isfile(path):
        return False
    column = _column_number(task, "label_column", -1)
    with open_input(path) as file:
        line = next(
            (line for line in read_lines(file, path) if line.strip() and not line.startswith(("#", "-DOC"))), ""
        )
    cells = line.split("\t") if "\t" in line else line.split()
    return len(cells) > 1 and -len(cells) <= column < len(cells) and cells[column].strip() in task.labels
