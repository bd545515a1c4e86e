"""Rows of files that hold whole numbers, lists and texts under names: JSON Lines, lists in JSON, CSV, and Parquet."""

import os
from collections.abc import Iterator, Sequence

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.parquet_files import open_parquet
from albert_tf.tasks.json_rows import JSON_FORMATS, read_objects
from albert_tf.tasks.tables import Row, read_rows

PARQUET, CSV = ".parquet", ".csv"
ROW_FORMATS = (*JSON_FORMATS, CSV, PARQUET)
_ROWS_AT_ONCE = 4096


class NumberedRow(Row):
    """A row of a file that has no lines; rows count from 1."""

    @property
    def where(self) -> str:
        """File and row, as in "a.parquet, row 3"."""
        return f"{self.path}, row {self.line}"


class NamedRow(Row):
    """A row of no file; its path is what errors call it."""

    @property
    def where(self) -> str:
        """The name alone."""
        return self.path


def parquet_rows(path: str, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """Yields the rows of a Parquet file; lists and structs are lists and dicts.

    Args:
        path: the file.
        columns: those that are read; None: all.

    Raises:
        InputError: the file is missing or damaged, or pyarrow is not installed.
    """
    with open_parquet(path) as file:
        names = list(file.schema.names if columns is None else columns)
        number = 0
        for batch in file.batches(names, _ROWS_AT_ONCE):
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                yield NumberedRow(path, number, dict(zip(names, values, strict=True)))


def read_row_file(path: str) -> Iterator[Row]:
    """Yields the rows of a file of one of ROW_FORMATS.

    Raises:
        InputError: its name ends otherwise, it cannot be read, or a row is not what it should be.
    """
    extension = os.path.splitext(path)[1].lower()
    if extension == PARQUET:
        yield from parquet_rows(path)
    elif extension == CSV:
        for row in read_rows(path):
            row.check_length()
            yield row
    elif extension in JSON_FORMATS:
        yield from read_objects(path)
    else:
        raise InputError(f"{path}: the name must end in {', '.join(ROW_FORMATS)}, which say how the file is read")
