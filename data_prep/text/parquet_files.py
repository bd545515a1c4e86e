"""Parquet files with a column of text, row by row."""

from collections.abc import Callable, Iterator

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.parquet_files import import_pyarrow, open_parquet
from data_prep.text.text_files import size_of_files

_ROWS_AT_ONCE = 256


def read_rows(path: str, column: str, report: Callable[[int], None] | None = None) -> Iterator[tuple[int, str]]:
    """Reads one column of a Parquet file.

    Args:
        path: a local or remote file.
        column: its name; the column holds strings. Rows without one are left out.
        report: called now and then with the number of bytes read since the last call, as near as can be told.

    Yields:
        (row number from 1, text).

    Raises:
        InputError: the file is missing or damaged, or has no such column of text.
    """
    row = 0
    with open_parquet(path) as file:
        _check_column(file.schema, column, path)
        size, total = size_of_files([path]), max(1, file.num_rows)
        for batch in file.batches([column], _ROWS_AT_ONCE):
            for text in batch.column(0).to_pylist():
                row += 1
                if text is not None:
                    yield row, text
            if report is not None:
                report(size * row // total - size * (row - len(batch)) // total)


def _check_column(schema, column: str, path: str) -> None:
    names = schema.names
    if column not in names:
        raise InputError(f"{path}: has no column {column!r}; give one of {', '.join(names)} as --text_column")
    kind, types = schema.field(column).type, import_pyarrow().types
    if not (types.is_string(kind) or types.is_large_string(kind)):
        raise InputError(f"{path}: the column {column!r} holds {kind}, not strings; give another --text_column")
