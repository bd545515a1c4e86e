"""The vector of a text, made of what the encoder says of its pieces; by NumPy or by keras.ops, which it is given.

Shapes: B batch, S sequence, H hidden, T numbers of a vector: H, or those that a dense layer makes of them.
"""

import dataclasses
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from albert_tf.heads.vector_dense import VectorDense
from albert_tf.runtime.errors import FlagError, InputError

MEAN, CLS, POOLED = POOLINGS = ("mean", "cls", "pooled")
_INPUT_MASK, _SEQUENCE_OUTPUT, _POOLED_OUTPUT = "input_mask", "sequence_output", "pooled_output"
# Norms below it count as it, so that a vector of zeros stays one.
LEAST_NORM = 1e-12


@dataclasses.dataclass(frozen=True)
class Pooling:
    """The way from a text to one vector.

    Attributes:
        mode: "mean" of the last hidden states of all pieces, [CLS] and [SEP] among them, without the padding; "cls",
            that of [CLS]; or "pooled", the pooler's output, which pre-training uses for the order of segments.
        normalize: whether vectors have length 1, so that products of them are cosines.
        max_seq_length: where texts are cut; None: not before the model's last position.
        dense: the layer that a vector goes through before it gets length 1; None: none.
    """

    mode: str = MEAN
    normalize: bool = True
    max_seq_length: int | None = None
    dense: VectorDense | None = None

    def __post_init__(self) -> None:
        if self.mode not in POOLINGS:
            raise FlagError(f"--pooling must be one of {', '.join(POOLINGS)}. Received {self.mode!r}.")
        if not isinstance(self.normalize, bool):
            raise FlagError(f"--normalize must be true or false. Received {self.normalize!r}.")
        length = self.max_seq_length
        if length is None:
            return
        if isinstance(length, bool) or not isinstance(length, numbers.Integral) or length < 1:
            raise FlagError(f"--max_seq_length must be at least 1. Received {length!r}.")
        # NumPy's are no numbers of JSON.
        object.__setattr__(self, "max_seq_length", int(length))

    def __str__(self) -> str:
        """The mode, the dense layer and the normalisation in words."""
        dense = "" if self.dense is None else f"a dense layer to {self.dense.size} numbers, "
        return f"{self.mode}, {dense}{'of length 1' if self.normalize else 'not normalised'}"

    def size(self, hidden_size: int) -> int:
        """T, the numbers of a vector of a model with so many hidden units."""
        return hidden_size if self.dense is None else self.dense.size

    def with_choices(self, mode: str | None = None, normalize: bool | None = None) -> "Pooling":
        """The same with what is chosen in place of its own; None leaves it."""
        given = {"mode": mode, "normalize": normalize}
        return dataclasses.replace(self, **{name: value for name, value in given.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """All but the length, which stands elsewhere there, and a dense layer's numbers, as a dict for JSON."""
        dense = {} if self.dense is None else {"dense": self.dense.to_dict()}
        return {"mode": self.mode, "normalize": self.normalize, **dense}

    def with_length(self) -> dict[str, Any]:
        """The same with the length, as checkpoints keep it; from_dict reads it too."""
        return self.to_dict() | {"max_seq_length": self.max_seq_length}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str) -> "Pooling":
        """The inverse of to_dict and of with_length.

        Raises:
            InputError: values that to_dict does not give; `where` names the file.
        """
        try:
            dense = values.get("dense")
            return cls(**{**values, "dense": None if dense is None else VectorDense(**dense)})
        except (InputError, TypeError):
            raise InputError(f"{where}: 'pooling' is not what this version of albert_tf expects") from None

    def pool(self, outputs: Mapping[str, Any], ops: Any = np) -> Any:
        """The vectors of a batch, [B, T], in the dtype of what they are made of.

        Args:
            outputs: "sequence_output" [B, S, H] and "input_mask" int [B, S]; of "pooled" "pooled_output" [B, H].
            ops: numpy, for arrays, or keras.ops, for tensors.

        Raises:
            InputError: the model has no pooled output, or the numbers of the dense layer are not at hand.
        """
        if self.mode == POOLED:
            if _POOLED_OUTPUT not in outputs:
                raise InputError("--pooling=pooled: the model has no pooler; choose mean or cls")
            vectors = outputs[_POOLED_OUTPUT]
        elif self.mode == CLS:
            vectors = outputs[_SEQUENCE_OUTPUT][:, 0]
        else:
            vectors = mean_of_pieces(outputs[_SEQUENCE_OUTPUT], outputs[_INPUT_MASK], ops)
        if self.dense is not None:
            vectors = self.dense.apply(vectors, ops)
        return of_length_one(vectors, ops) if self.normalize else vectors


USUAL_POOLING = Pooling()


def mean_of_pieces(sequence: Any, mask: Any, ops: Any) -> Any:
    """Mean over the pieces whose mask is 1; zeros where there is none.

    Args:
        sequence: [B, S, H].
        mask: [B, S].
        ops: numpy, for arrays, or keras.ops, for tensors.
    """
    ones = ops.ones_like(sequence[:, :, :1])
    weights = ops.where(ops.expand_dims(mask, -1) > 0, ones, ops.zeros_like(ones))
    return ops.sum(sequence * weights, axis=1) / ops.maximum(ops.sum(weights, axis=1), 1.0)


def of_length_one(vectors: Any, ops: Any = np) -> Any:
    """Vectors divided by their lengths, [..., H]; those of zeros stay zero.

    Args:
        vectors: [..., H].
        ops: numpy, for arrays, or keras.ops, for tensors.
    """
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors / ops.sqrt(ops.maximum(squares, LEAST_NORM * LEAST_NORM))
