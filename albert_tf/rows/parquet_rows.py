"""The rows of a Parquet file that predict is asked about, their values as JSON has them."""

from collections.abc import Iterator, Sequence
from typing import Any

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.parquet_files import ParquetFile, import_pyarrow, open_parquet

_ROWS_AT_ONCE = 512


def read_values(path: str, needed: Sequence[str] | None) -> Iterator[Any]:
    """Reads columns of a Parquet file.

    Args:
        path: a local or remote file.
        needed: names of the columns; those that are not there are passed over. None: all.

    Yields:
        first (the file, {column: its Arrow type}); then of every row {column: value}. Dates, times and decimal numbers
        are text.

    Raises:
        InputError: the file is missing or damaged, names a column twice, or a column holds what is no text, number,
            list or struct.
    """
    with open_parquet(path) as file:
        types = _types_of(file, path, needed)
        yield file, types
        for batch in file.batches([*types], _ROWS_AT_ONCE):
            columns = [
                (column if column.type == kind else column.cast(kind)).to_pylist()
                for column, kind in zip(batch.columns, types.values(), strict=True)
            ]
            for values in zip(*columns) if columns else [()] * len(batch):
                yield dict(zip(types, values))


def _types_of(file: ParquetFile, path: str, needed: Sequence[str] | None) -> dict[str, Any]:
    """{column: the Arrow type in which it is read} of the columns that are needed."""
    types = {}
    for field in file.schema:
        if needed is not None and field.name not in needed:
            continue
        kind = _plain_type(field.type)
        if kind is None:
            # A column that was asked for by its name is needed; the others only go along.
            others = "" if needed is not None else ", or name the columns that are to go along with --output_columns"
            raise InputError(
                f"{path}: the column {field.name!r} holds {field.type}, which is no text, number or list; write it as "
                f"another type{others}"
            )
        types[field.name] = kind
    return types


def _plain_type(kind: Any) -> Any:
    """The type in which values are like JSON's: the same one, string for dates and the like, None if there is none."""
    pyarrow = import_pyarrow()
    types = pyarrow.types
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if is_text or types.is_boolean(kind) or types.is_null(kind):
        return kind
    if types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind):
        return kind
    if types.is_float16(kind):
        return pyarrow.float32()
    if types.is_temporal(kind) or types.is_decimal(kind):
        return pyarrow.string()
    if types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    # Not of a list_view, whose values a cast loses (pyarrow 25).
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = _plain_type(kind.value_type)
        return None if inner is None else pyarrow.list_(inner)
    if types.is_struct(kind):
        fields = [(field.name, _plain_type(field.type)) for field in kind]
        return None if any(inner is None for _, inner in fields) else pyarrow.struct(fields)
    return None
