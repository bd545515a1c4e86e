"""Results as a Parquet file: parts of an Arrow stream while they are made, the file at the end.

A Parquet file has its index at its end, so one that was cut off is none; a stream is sound up to any of its parts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from albert_tf.rows.answered_rows import ID, INPUT, ROW
from albert_tf.rows.line_rows import ID_COLUMNS
from albert_tf.rows.result_formats import (
    ResultColumns,
    answer_cells,
    cell_text,
)
from albert_tf.runtime.parquet_files import import_pyarrow

# A group of rows ends with the part that brings it to either; it is held in memory.
_GROUP_ROWS, _GROUP_BYTES = 1 << 16, 1 << 25


class ParquetForm:
    """A ResultForm: columns as in TSV, numbers and lists as such.

    Columns of a Parquet input keep their types, all others are text.

    Args:
        columns: of the results.
        types: {column: Arrow type} of the input, where it has types.
        answer: one of the model's, whose values show the types of the others.

    Raises:
        InputError: pyarrow is not installed.
    """

    is_final = False

    def __init__(self, columns: ResultColumns, types: Mapping[str, Any], answer: Mapping[str, Any]):
        pyarrow = self._pyarrow = import_pyarrow()
        self._columns = columns
        found = {ROW: pyarrow.int64()} | {f"{INPUT}: {name}": kind for name, kind in types.items()}
        found |= {name: _type_of(value, pyarrow) for name, value in answer_cells(answer, join=False).items()}
        id_column = next((name for name in ID_COLUMNS if name in types), None)
        if id_column is not None:
            found[ID] = types[id_column]
        self._is_typed = [name in found for name in columns.names]
        self._schema = pyarrow.schema([(_text(name), found.get(name, pyarrow.string())) for name in columns.names])

    def header(self) -> bytes:
        """See ResultForm."""
        return self._schema.serialize().to_pybytes()

    def encode(self, results: Sequence[Mapping[str, Any]]) -> bytes:
        """See ResultForm."""
        rows = [self._columns.cells(result, join=False) for result in results]
        arrays = []
        for at, (field, is_typed) in enumerate(zip(self._schema, self._is_typed, strict=True)):
            values = [row[at] if is_typed else _text(row[at]) for row in rows]
            arrays.append(self._pyarrow.array(values, field.type))
        return self._pyarrow.RecordBatch.from_arrays(arrays, schema=self._schema).serialize().to_pybytes()

    def finish(self, parts: BinaryIO, file: BinaryIO) -> None:
        """See ResultForm."""
        pyarrow = self._pyarrow
        with pyarrow.parquet.ParquetWriter(file, self._schema) as writer:
            group: list[Any] = []
            for batch in pyarrow.ipc.open_stream(parts):
                group.append(batch)
                if sum(map(len, group)) >= _GROUP_ROWS or sum(one.nbytes for one in group) >= _GROUP_BYTES:
                    writer.write_table(pyarrow.Table.from_batches(group))
                    group = []
            if group:
                writer.write_table(pyarrow.Table.from_batches(group))


def _type_of(value: Any, pyarrow: Any) -> Any:
    """The Arrow type of a value of an answer."""
    if isinstance(value, np.ndarray):
        return pyarrow.list_(pyarrow.from_numpy_dtype(value.dtype))
    if isinstance(value, list):
        return pyarrow.list_(_type_of(value[0], pyarrow) if value else pyarrow.string())
    return {int: pyarrow.int64(), float: pyarrow.float64()}.get(type(value), pyarrow.string())


def _text(value: Any) -> str | None:
    """A value as text; a lone surrogate, which UTF-8 cannot hold, is written as an escape."""
    return None if value is None else cell_text(value).encode(errors="backslashreplace").decode()
