"""The rows of a format's table: one weight of ours, its name there, and how its values are stored there."""

import dataclasses
from collections.abc import Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Row:
    """A weight that is stored as it is.

    Attributes:
        ours: name among models.named_weights.
        theirs: name in the format.
        aliases: other names under which files hold the same values, instead of `theirs` or beside it.
    """

    ours: str
    theirs: str
    aliases: tuple[str, ...] = ()

    def shape_there(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape that a weight of this shape has in the format."""
        return tuple(shape)

    def to_theirs(self, value: np.ndarray) -> np.ndarray:
        """Our values as the format stores them."""
        return value

    def to_ours(self, value: np.ndarray) -> np.ndarray:
        """Values of the format, of the shape `shape_there`, as we store them."""
        return value


@dataclasses.dataclass(frozen=True)
class TransposedRow(Row):
    """A matrix that is stored the other way round."""

    def shape_there(self, shape):
        """The shape reversed."""
        return tuple(reversed(shape))

    def to_theirs(self, value):
        """The transposed matrix, contiguous."""
        return np.ascontiguousarray(value.T)

    def to_ours(self, value):
        """The transposed matrix, contiguous."""
        return np.ascontiguousarray(value.T)


@dataclasses.dataclass(frozen=True)
class HeadsRow(Row):
    """A weight one axis of which, H units, is stored as two: N heads of H / N units.

    Attributes:
        num_heads: N.
        axis: the one that is split.
    """

    num_heads: int = dataclasses.field(kw_only=True)
    axis: int = dataclasses.field(kw_only=True)

    def shape_there(self, shape):
        """The shape with the axis split."""
        before, units, after = shape[: self.axis], shape[self.axis], shape[self.axis + 1 :]
        return (*before, self.num_heads, units // self.num_heads, *after)

    def to_theirs(self, value):
        """The values with the axis split."""
        return value.reshape(self.shape_there(value.shape))

    def to_ours(self, value):
        """The values with both axes joined."""
        return value.reshape((*value.shape[: self.axis], -1, *value.shape[self.axis + 2 :]))


@dataclasses.dataclass(frozen=True)
class ConstantRow:
    """A tensor that the format has and our model does without, which is the same as this value.

    Attributes:
        theirs: name in the format.
        value: what is written; a file that holds a different value has no equal here.
        meaning: what the value amounts to, for the error: "the identity".
    """

    theirs: str
    value: np.ndarray
    meaning: str


def projection_rows(kernel: str, bias: str, hidden_size: int) -> list[ConstantRow]:
    """The projection from embeddings to hidden units of a format that has one even where E = H.

    Args:
        kernel: its name in the format.
        bias: its name in the format.
        hidden_size: H.
    """
    identity = np.eye(hidden_size, dtype="float32")
    return [ConstantRow(kernel, identity, "the identity"), ConstantRow(bias, np.zeros(hidden_size, "float32"), "0")]
