"""The vector of a text, made of what the encoder says of its pieces; by NumPy or by keras.ops, which it is given.

Shapes: B batch, S sequence, H hidden.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from albert_tf.runtime.errors import InputError

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
    """

    mode: str = MEAN
    normalize: bool = True
    max_seq_length: int | None = None

    def __post_init__(self) -> None:
        if self.mode not in POOLINGS:
            raise InputError(f"--pooling must be one of {', '.join(POOLINGS)}. Received {self.mode!r}.")
        if not isinstance(self.normalize, bool):
            raise InputError(f"--normalize must be true or false. Received {self.normalize!r}.")
        length = self.max_seq_length
        if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 1):
            raise InputError(f"--max_seq_length must be at least 1. Received {length!r}.")

    def __str__(self) -> str:
        """The mode and the normalisation in words."""
        return f"{self.mode}, {'of length 1' if self.normalize else 'not normalised'}"

    def with_choices(self, mode: str | None = None, normalize: bool | None = None) -> "Pooling":
        """The same with what is chosen in place of its own; None leaves it."""
        given = {"mode": mode, "normalize": normalize}
        return dataclasses.replace(self, **{name: value for name, value in given.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """The mode and the normalisation as a dict for JSON; the length stands elsewhere there."""
        return {"mode": self.mode, "normalize": self.normalize}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str) -> "Pooling":
        """The inverse of to_dict.

        Raises:
            InputError: values that to_dict does not give; `where` names the file.
        """
        try:
            return cls(**values)
        except (InputError, TypeError):
            raise InputError(f"{where}: 'pooling' is not what this version of albert_tf expects") from None

    def pool(self, outputs: Mapping[str, Any], ops: Any = np) -> Any:
        """The vectors of a batch, [B, H], in the dtype of what they are made of.

        Args:
            outputs: "sequence_output" [B, S, H] and "input_mask" int [B, S]; of "pooled" "pooled_output" [B, H].
            ops: numpy, for arrays, or keras.ops, for tensors.

        Raises:
            InputError: the model has no pooled output.
        """
        if self.mode == POOLED:
            if _POOLED_OUTPUT not in outputs:
                raise InputError("--pooling=pooled: the model has no pooler; choose mean or cls")
            vectors = outputs[_POOLED_OUTPUT]
        elif self.mode == CLS:
            vectors = outputs[_SEQUENCE_OUTPUT][:, 0]
        else:
            vectors = _mean(outputs[_SEQUENCE_OUTPUT], outputs[_INPUT_MASK], ops)
        return of_length_one(vectors, ops) if self.normalize else vectors


USUAL_POOLING = Pooling()


def _mean(sequence: Any, mask: Any, ops: Any) -> Any:
    """Mean over the pieces whose mask is 1; zeros where there is none."""
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
