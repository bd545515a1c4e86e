"""Parquet files with a column of text, row by row."""

import contextlib
import io
from collections.abc import Callable, Iterator

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import open_binary
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
    pyarrow, parquet = _import_pyarrow()
    row = 0
    try:
        with open_binary(path) as raw:
            file = parquet.ParquetFile(raw if isinstance(raw, io.IOBase) else _RemoteReader(raw))
            _check_column(file.schema_arrow, column, path, pyarrow)
            size, total = size_of_files([path]), max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=[column], use_threads=False):
                for text in batch.column(0).to_pylist():
                    row += 1
                    if text is not None:
                        yield row, text
                if report is not None:
                    report(size * row // total - size * (row - len(batch)) // total)
    except FileNotFoundError:
        raise InputError(f"{path}: No such file; give a Parquet file") from None
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: not a whole Parquet file, seen after row {row} ({reason}); copy it again") from None


class _RemoteReader(io.RawIOBase):
    """A tf.io.gfile file with all that Python's own files have."""

    def __init__(self, file):
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._file.seek(offset, whence)
        return self._file.tell()

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer) -> int:
        contents = self._file.read(len(buffer))
        buffer[: len(contents)] = contents
        return len(contents)


def _import_pyarrow():
    with contextlib.suppress(ImportError):
        import pyarrow
        from pyarrow import parquet

        return pyarrow, parquet
    raise InputError("Parquet files need the extra parquet: pip install 'albert_tf[parquet]'")


def _check_column(schema, column: str, path: str, pyarrow) -> None:
    names = schema.names
    if column not in names:
        raise InputError(f"{path}: has no column {column!r}; give one of {', '.join(names)} as --text_column")
    kind = schema.field(column).type
    if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        raise InputError(f"{path}: the column {column!r} holds {kind}, not strings; give another --text_column")
