"""The teacher's vectors of the texts to learn from: made once and kept, or read from a file; and cut to another width.

Shapes: N texts, T numbers of a teacher's vector, H of a student's.
"""

import dataclasses
import os
from typing import Any

import numpy as np
from absl import logging

from albert_tf.checkpoints.task_fields import TEXT
from albert_tf.heads.pooling import LEAST_NORM, of_length_one
from albert_tf.rows.kept_vectors import open_library, read_texts
from albert_tf.rows.table_prediction import TablePrediction
from albert_tf.rows.vector_formats import FLOAT16, to_floats
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.serving.embedder import Embedder
from albert_tf.serving.input_fields import ExampleFields

FILE_ENDING = ".npy"
# Of a model's vectors, beside their texts; a search keeps its own there.
_KEPT_ENDING = ".teacher.npy"
# Vectors that are looked at together.
_BLOCK = 1 << 14


@dataclasses.dataclass(frozen=True)
class TaughtTexts:
    """Texts with the teacher's vectors of them.

    Attributes:
        texts: N, none of them blank.
        rows: int64 [N], where the vector of each text stands in `kept`.
        kept: the vectors as they lie in their file, of vector_formats.record_type.
    """

    texts: list[str]
    rows: np.ndarray
    kept: np.ndarray

    @property
    def size(self) -> int:
        """T, the numbers of a vector."""
        return _size_of(self.kept)

    def vectors(self, places: np.ndarray) -> np.ndarray:
        """The vectors of some texts, of length 1: float32 [n, T]."""
        return of_length_one(to_floats(self.kept[self.rows[places]]))


def open_teacher(teacher: str, texts: TablePrediction, vectors_file: str | None = None) -> TaughtTexts:
    """Opens the texts of a file with their vectors; a model makes those that are not there.

    Args:
        teacher: a model, as Embedder takes it; or a .npy file with a vector for each row of the texts, as embed_texts
            writes it.
        texts: `source`, a file, with its `input_format`, `columns` and `batch_size`.
        vectors_file: where the vectors of a model are kept; None: beside the texts.

    Raises:
        InputError: no such teacher, no texts, or vectors that are not of them.
        OSError: no room, or no right to write.
        RunStopped: a signal came; what is finished is kept.
    """
    if teacher.endswith(FILE_ENDING):
        if vectors_file is not None:
            raise FlagError(f"--vectors_file is for the vectors of a model; --teacher={teacher} is a file of them")
        rows, kept = read_texts(texts, ExampleFields([TEXT], None)), _read_vectors(teacher)
        if len(kept) != len(rows):
            raise InputError(f"--teacher={teacher} has {len(kept):,} vectors, {texts.source} {len(rows):,} rows")
    else:
        try:
            embedder = Embedder(teacher)
        except InputError as error:
            raise InputError(f"--teacher: {error}") from None
        library = open_library(embedder, texts, vectors_file or f"{texts.source}{_KEPT_ENDING}", FLOAT16)
        rows, kept = list(library.texts), library.vectors
    has_vector = _has_length(kept)
    found = [row for row, text in enumerate(rows) if text is not None and has_vector[row]]
    if not found:
        raise InputError(f"{texts.source}: no text in it with a vector")
    if len(found) < len(rows):
        logging.info("%s of %s rows are blank or have no vector", f"{len(rows) - len(found):,}", f"{len(rows):,}")
    return TaughtTexts([str(rows[row]) for row in found], np.array(found, np.int64), kept)


def _size_of(kept: np.ndarray) -> int:
    return int(kept.dtype["vector"].shape[0] if kept.dtype.names is not None else kept.shape[1])


def _has_length(kept: np.ndarray) -> np.ndarray:
    """Tells which of the vectors point anywhere: finite, and not zero; bool."""
    blocks = (to_floats(kept[start : start + _BLOCK]) for start in range(0, len(kept), _BLOCK))
    lengths = np.concatenate([np.zeros(0), *(np.linalg.norm(block, axis=-1) for block in blocks)])
    return np.isfinite(lengths) & (lengths > LEAST_NORM)


def _read_vectors(path: str) -> np.ndarray:
    """The vectors of a file, mapped from it."""
    if not os.path.isfile(path):
        raise InputError(f"--teacher={path}: no such file; embed_texts writes one, a vector for each row of the texts")
    try:
        # As np.load does it of an array; of an archive of arrays that would give something else.
        kept = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"--teacher={path}: no file of NumPy, or a damaged one ({error})") from None
    names = kept.dtype.names
    is_int8 = names is not None and {"scale", "vector"} <= set(names) and len(kept.dtype["vector"].shape) == 1
    is_plain = names is None and kept.ndim == 2 and np.issubdtype(kept.dtype, np.floating)
    if not (is_plain or (is_int8 and kept.ndim == 1)):
        raise InputError(
            f"--teacher={path}: [rows, numbers] of floats were expected, or int8 as embed_texts writes it; it holds "
            f"{kept.dtype} {list(kept.shape)}"
        )
    return kept


class Axes:
    """The way from a teacher's vectors to a student's width, by which cosines change as little as can be.

    A narrower student learns the vectors along the axes in which they differ most, the first eigenvectors of their
    second moments; to a wider one, numbers are added that are 0.

    Args:
        matrix: float32 [T, H], of orthonormal columns (rows, where H is larger).
        share: of the squares of the vectors' numbers that it keeps; None: unknown.
    """

    def __init__(self, matrix: np.ndarray, share: float | None = None):
        self.matrix, self.share = matrix, share

    @classmethod
    def of(cls, taught: TaughtTexts, width: int, most: int = 100_000) -> "Axes":
        """The axes of some vectors.

        Args:
            taught: the texts.
            width: H.
            most: vectors that are looked at; the same for the same texts.
        """
        size = taught.size
        if width >= size:
            return cls(np.eye(size, width, dtype=np.float32), 1.0)
        values, vectors = np.linalg.eigh(second_moments(taught, most))
        axes, shares = vectors[:, ::-1][:, :width], values[::-1] / max(values.sum(), LEAST_NORM)
        # Which of its two signs an axis has, the processor's rounding decides.
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(width)])
        return cls(axes.astype(np.float32), float(shares[:width].sum()))

    def apply(self, vectors: np.ndarray) -> np.ndarray:
        """The vectors in the student's width, of length 1: float32 [n, T] -> [n, H]."""
        return of_length_one(vectors @ self.matrix)


def second_moments(taught: TaughtTexts, most: int) -> np.ndarray:
    """The means of the products of a vector's numbers, of `most` texts at regular distances: float64 [T, T]."""
    places = np.arange(0, len(taught.texts), max(1, len(taught.texts) // most))
    total = np.zeros((taught.size, taught.size))
    for start in range(0, len(places), _BLOCK):
        vectors = taught.vectors(places[start : start + _BLOCK])
        total += vectors.T @ vectors
    return total / len(places)


def keep_axes(path: str, make: Any, is_begun: bool, may_write: bool) -> Axes:
    """The axes of a run that has begun; of one that has not, those that `make` gives, which are left for it.

    Args:
        path: where they are.
        make: function that gives Axes.
        is_begun: whether there are weights that learn by them.
        may_write: whether this worker leaves them there.
    """
    if is_begun and files.exists(path):
        with files.open_binary(path) as file:
            return Axes(np.load(file, allow_pickle=False))
    axes: Axes = make()
    if may_write:
        with files.replace_file(path) as file:
            np.save(file, axes.matrix)
    return axes
