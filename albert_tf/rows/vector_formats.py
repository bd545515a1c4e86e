"""Vectors as they are kept: float32, float16, or int8 with a scale for each; and a file of them for NumPy.

Shapes: N vectors, H numbers of each.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from albert_tf.rows.result_formats import json_line

FLOAT32, FLOAT16, INT8 = VECTOR_TYPES = ("float32", "float16", "int8")
VECTOR, SCALE = "vector", "scale"
_INT8_MOST = 127
_BLOCK = 1 << 20


def record_type(vector_type: str, size: int) -> np.dtype[Any]:
    """The dtype of a vector in a file of NumPy; of int8 a record of its scale and its numbers.

    Args:
        vector_type: one of VECTOR_TYPES.
        size: H.
    """
    if vector_type == INT8:
        return np.dtype([(SCALE, "<f4"), (VECTOR, "i1", (size,))])
    return np.dtype(({FLOAT32: "<f4", FLOAT16: "<f2"}[vector_type], (size,)))


def to_answer(vector: np.ndarray, vector_type: str) -> dict[str, Any]:
    """{"vector"} and, of int8, {"scale"}: the vector is their product.

    Args:
        vector: float32 [H].
        vector_type: one of VECTOR_TYPES.
    """
    if vector_type != INT8:
        return {VECTOR: vector.astype(vector_type)}
    scale = float(np.float32(np.abs(vector).max(initial=0.0) / _INT8_MOST))
    numbers = np.rint(vector / scale) if scale else np.zeros_like(vector)
    return {VECTOR: np.clip(numbers, -_INT8_MOST, _INT8_MOST).astype(np.int8), SCALE: scale}


def to_floats(kept: np.ndarray) -> np.ndarray:
    """Vectors of a file of NumPy as float32 [N, H]; those of rows without one are NaN."""
    if kept.dtype.names is None:
        return kept.astype(np.float32)
    floats: np.ndarray = kept[VECTOR].astype(np.float32) * kept[SCALE][:, np.newaxis]
    return floats


class NpyForm:
    """A ResultForm: a .npy file with a vector for each row, in order; NaN for a row that has none.

    Args:
        dtype: of record_type.
    """

    is_final = False

    def __init__(self, dtype: np.dtype[Any]):
        self._dtype = dtype

    def header(self) -> bytes:
        """See ResultForm; that of the file has the number of rows, which only its end tells."""
        return b""

    def encode(self, results: Sequence[Mapping[str, Any]]) -> bytes:
        """See ResultForm."""
        kept = np.zeros(len(results), self._dtype)
        for row, result in enumerate(results):
            if self._dtype.names is not None:
                kept[row] = (result.get(SCALE, np.nan), result.get(VECTOR, 0))
            else:
                kept[row] = result.get(VECTOR, np.nan)
        return kept.tobytes()

    def finish(self, parts: BinaryIO, file: BinaryIO) -> None:
        """See ResultForm."""
        size = parts.seek(0, 2)
        parts.seek(0)
        base, shape = (self._dtype, ()) if self._dtype.names is not None else (self._dtype.base, self._dtype.shape)
        described = {"descr": np.lib.format.dtype_to_descr(base), "fortran_order": False}
        described["shape"] = (size // self._dtype.itemsize, *shape)
        np.lib.format.write_array_header_1_0(file, described)
        shutil.copyfileobj(parts, file, _BLOCK)


def vector_line(result: Mapping[str, Any]) -> str:
    """A result as a line of JSON, its numbers with as many digits as float32 or float16 needs."""
    if VECTOR not in result:
        return json_line(result)
    return json_line({**result, VECTOR: json.loads(f"[{', '.join(map(str, result[VECTOR]))}]")})
