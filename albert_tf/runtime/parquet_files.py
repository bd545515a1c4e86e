"""Parquet files, read some rows at a time; a fault in one is said in one line.

pyarrow is imported where it is used: it comes with the extra parquet.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import open_binary
from albert_tf.runtime.remote_reader import as_python_file


class ParquetFile:
    """A Parquet file that is open for reading.

    Attributes:
        schema: Arrow's, of all columns.
        num_rows: in the whole file.
        row: rows that were read so far.
    """

    def __init__(self, file: Any):
        self._file = file
        self.schema = file.schema_arrow
        self.num_rows: int = file.metadata.num_rows
        self.row = 0

    def batches(self, columns: Sequence[str], rows_at_once: int) -> Iterator[Any]:
        """Yields the file's rows as Arrow's record batches.

        Args:
            columns: those that are read.
            rows_at_once: of a batch, at most.
        """
        names = list(columns)
        for batch in self._file.iter_batches(batch_size=rows_at_once, columns=names, use_threads=False):
            # Arrow gives them in the order of the file.
            yield batch.select(names)
            self.row += len(batch)


@contextlib.contextmanager
def open_parquet(path: str) -> Iterator[ParquetFile]:
    """Opens a local or remote Parquet file; what is wrong with it, found here or while it is read, is one line.

    Raises:
        InputError: the file is missing or damaged, or has a column name twice; or pyarrow is not installed.
    """
    pyarrow = import_pyarrow()
    file = None
    try:
        with open_binary(path) as raw:
            file = ParquetFile(pyarrow.parquet.ParquetFile(as_python_file(raw)))
            names = file.schema.names
            repeated = next((name for name in names if names.count(name) > 1), None)
            if repeated is not None:
                raise InputError(f"{path}: two columns are named {repeated!r}; give each a name of its own")
            yield file
    except FileNotFoundError:
        raise InputError(f"{path}: No such file; give a Parquet file") from None
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason, row = " ".join(str(error).split()), 0 if file is None else file.row
        raise InputError(f"{path}: not a whole Parquet file, seen after row {row} ({reason}); copy it again") from None


def import_pyarrow() -> Any:
    """The package pyarrow, with its part for Parquet.

    Raises:
        InputError: it is not installed.
    """
    with contextlib.suppress(ImportError):
        import pyarrow
        import pyarrow.parquet

        return pyarrow
    raise InputError("Parquet files need the extra parquet: pip install 'albert_tf[parquet]'")
