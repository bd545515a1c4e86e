"""Tables of text: official TSV, and TSV, CSV or JSONL with named columns; every row knows its line.

A TSV file is never quoted: a quotation mark is a character like others, as in the official GLUE files. A CSV file is
quoted as spreadsheets do it, and a field may hold line breaks.
"""

import csv
import dataclasses
import io
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from absl import logging

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import refuse_constant, refuse_repeats

FORMATS = (".tsv", ".csv", ".jsonl")
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_LONGEST_FIELD = 1 << 24
_LINES_NAMED = 5


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of a table.

    Attributes:
        path, line: where it stands; lines count from 1, a row of several lines has its first.
        values: its fields, by column name in JSONL and where there is a header, else by column number.
        extra_fields: how many fields with text stand after the last named column.
    """

    path: str
    line: int
    values: dict[Any, Any]
    extra_fields: int = 0

    @property
    def where(self) -> str:
        """File and line, as errors name them."""
        return f"{self.path}, line {self.line}"

    def check_length(self) -> None:
        """Raises InputError if there are more fields than columns: a tab or comma within a text, most likely."""
        if self.extra_fields:
            raise InputError(f"{self.where}: {self.extra_fields} more fields than the header has columns")

    def text(self, column: Any) -> str:
        """A field as text; a number of JSONL as JSON writes it.

        Raises:
            InputError: the field is missing or null, a list or an object.
        """
        value = self.values.get(column)
        if isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            return json.dumps(value)
        if value is None:
            named = f"column {column + 1}" if isinstance(column, int) else f"value of {column!r}"
            raise InputError(f"{self.where}: the row has no {named}")
        raise InputError(f"{self.where}: {column!r} must be text; received {type(value).__name__}")


def read_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yields (number from 1, text without line end) of every line; only \\n and \\r\\n end one.

    A byte order mark at the start is dropped.

    Raises:
        InputError: no such file, a folder, or a line that is not UTF-8.
    """
    for number, line in enumerate(_open(path), start=1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}, line {number}: not UTF-8 (byte {error.start + 1} of the line)") from None
        if number == 1:
            text = text.removeprefix(_BYTE_ORDER_MARK)
        yield number, text.rstrip("\n").removesuffix("\r")


def _open(path: str) -> Iterator[bytes]:
    try:
        with files.open_binary(path) as file:
            yield from file
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; a file was expected") from None


def read_rows(path: str, file_format: str | None = None, has_header: bool = True) -> Iterator[Row]:
    """Yields the rows of a table, every one of them.

    Blank lines are none: at the end of the file, where they do no harm, or before the last row, where there is a
    warning. In a table with a single column a blank line before the last row is a row with an empty text. Of rows at
    the end that have cells, and nothing in them, a warning tells; spreadsheets leave such rows.

    Args:
        path: the file.
        file_format: one of FORMATS; None tells it from the name.
        has_header: whether the first line of a TSV or CSV file names the columns.

    Raises:
        InputError: the file cannot be read, or its header names a column twice.
    """
    file_format = file_format or format_of(path)
    if file_format == ".jsonl":
        yield from _read_jsonl(path)
        return
    rows = _split_csv(path) if file_format == ".csv" else _split_tsv(path)
    header = next((_header(path, *row) for row in rows if not _is_blank(row[1])), None) if has_header else None
    without_text: list[tuple[int, list[str]]] = []
    left_out = []
    for line, fields in rows:
        if _is_blank(fields):
            without_text.append((line, fields))
            continue
        for blank_line, blanks in without_text:
            if len(blanks) > 1 or (header is not None and len(header) == 1):
                yield _row(path, blank_line, blanks or [""], header)
            else:
                left_out.append(blank_line)
        without_text.clear()
        yield _row(path, line, fields, header)
    if left_out:
        logging.warning("%s: %d blank lines are left out (%s)", path, len(left_out), describe_lines(left_out))
    cells = [line for line, blanks in without_text if len(blanks) > 1 or (file_format == ".csv" and blanks)]
    if cells:
        logging.warning("%s: %d empty rows at the end are left out (%s)", path, len(cells), describe_lines(cells))


def _header(path: str, line: int, fields: Sequence[str]) -> list[str]:
    header = [field.strip() for field in fields]
    repeated = sorted({name for name in header if name and header.count(name) > 1})
    if repeated:
        raise InputError(f"{path}, line {line}: the header names {repeated[0]!r} twice")
    return header


def _row(path: str, line: int, fields: Sequence[str], header: Sequence[str] | None) -> Row:
    names = range(len(fields)) if header is None else header
    extra = sum(bool(field.strip()) for field in fields[len(names) :])
    return Row(path, line, dict(zip(names, fields)), extra)


def _is_blank(fields: Sequence[str]) -> bool:
    return not any(field.strip() for field in fields)


def describe_lines(lines: Sequence[int]) -> str:
    """The first of some lines, as in "lines 3, 8, …"."""
    return "lines " + ", ".join(map(str, lines[:_LINES_NAMED])) + (", …" if len(lines) > _LINES_NAMED else "")


def columns_of(path: str, file_format: str | None = None) -> list[str]:
    """The names of the columns: of the header, or of the first object of a JSONL file.

    Raises:
        InputError: the file cannot be read, or is empty.
    """
    file_format = file_format or format_of(path)
    if file_format == ".jsonl":
        row = next(_read_jsonl(path), None)
        names = list(row.values) if row else None
    else:
        rows = _split_csv(path) if file_format == ".csv" else _split_tsv(path)
        names = next(([field.strip() for field in fields] for _, fields in rows if not _is_blank(fields)), None)
    if names is None:
        raise InputError(f"{path} is empty; a table with at least one row was expected")
    return names


def require_columns(path: str, wanted: Sequence[str], present: Sequence[str]) -> None:
    """Raises InputError that names the columns that are missing, and those that are there."""
    missing = [name for name in wanted if name not in present]
    if missing:
        raise InputError(
            f"{path}, line 1: the header lacks {', '.join(map(repr, missing))}; it has {', '.join(map(repr, present))}"
        )


def write_table(path: str, rows: Sequence[Sequence[Any]]) -> None:
    """Writes rows as TSV; white space within a cell becomes a space. The file appears whole or not at all."""
    with files.replace_file(path) as file:
        for row in rows:
            file.write(("\t".join(" ".join(str(cell).split()) for cell in row) + "\n").encode())


def format_of(path: str) -> str:
    """One of FORMATS, by the file's name."""
    extension = os.path.splitext(path)[1].lower()
    if extension not in FORMATS:
        raise InputError(f"{path}: the name must end in {', '.join(FORMATS)}, which say how the file is read")
    return extension


def _split_tsv(path: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in read_lines(path):
        yield number, line.split("\t")


def _split_csv(path: str) -> Iterator[tuple[int, list[str]]]:
    text = io.StringIO("\n".join(line for _, line in read_lines(path)), newline="")
    reader = csv.reader(text, strict=True)
    csv.field_size_limit(_LONGEST_FIELD)
    line = 1
    try:
        for fields in reader:
            yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: not CSV: {error}") from None


def _read_jsonl(path: str) -> Iterator[Row]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            values = json.loads(line, object_pairs_hook=refuse_repeats, parse_constant=refuse_constant)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: not JSON: {error}") from None
        if not isinstance(values, dict):
            raise InputError(f"{path}, line {number}: a JSON object was expected; this is a {type(values).__name__}")
        yield Row(path, number, values)
