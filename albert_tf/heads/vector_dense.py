"""The dense layer that may follow pooling: a text's vector brought to another width, as sentence-transformers has it.

Its numbers are arrays, so that it is computed by NumPy or by keras.ops; models.text_vectors trains them.

Shapes: B batch, H hidden, T numbers of a vector after it.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from albert_tf.runtime.errors import InputError

IDENTITY, TANH = ACTIVATIONS = ("identity", "tanh")
# In the names of the layer's weights.
VECTOR_DENSE = "vector_dense"
KERNEL, BIAS = f"{VECTOR_DENSE}/kernel", f"{VECTOR_DENSE}/bias"


@dataclasses.dataclass(frozen=True)
class VectorDense:
    """The layer: activation(vector @ kernel + bias). Two are the same whose sizes and activations are.

    Attributes:
        size: T.
        activation: one of ACTIVATIONS.
        kernel: float32 [H, T]; None where only the layer's shape is known, or weights of a model stand for it.
        bias: float32 [T]; None likewise.
    """

    size: int
    activation: str = IDENTITY
    kernel: np.ndarray | None = dataclasses.field(default=None, compare=False, repr=False)
    bias: np.ndarray | None = dataclasses.field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise InputError(f"a dense layer must give at least 1 number. Received {self.size!r}.")
        if self.activation not in ACTIVATIONS:
            raise InputError(f"its activation must be one of {', '.join(ACTIVATIONS)}. Received {self.activation!r}.")

    def to_dict(self) -> dict[str, Any]:
        """Size and activation as a dict for JSON; the numbers lie elsewhere."""
        return {"size": self.size, "activation": self.activation}

    def to_weights(self) -> dict[str, np.ndarray]:
        """The numbers by the names of models.named_weights; none where they are not known."""
        return {} if self.kernel is None or self.bias is None else {KERNEL: self.kernel, BIAS: self.bias}

    def with_weights(self, weights: Mapping[str, Any], where: str) -> "VectorDense":
        """The same with numbers.

        Args:
            weights: by the names of models.named_weights.
            where: they come from, for the error.

        Raises:
            InputError: they are not there, do not fit together, or are not finite.
        """
        if KERNEL not in weights or BIAS not in weights:
            raise InputError(f"{where}: the numbers of the dense layer after pooling are not there")
        kernel, bias = (np.asarray(weights[name], np.float32) for name in (KERNEL, BIAS))
        if kernel.ndim != 2 or kernel.shape[1] != self.size or bias.shape != (self.size,):
            raise InputError(
                f"{where}: a dense layer to {self.size} numbers has a kernel [H, {self.size}] and a bias "
                f"[{self.size}]. Received {list(kernel.shape)} and {list(bias.shape)}."
            )
        if not (np.isfinite(kernel).all() and np.isfinite(bias).all()):
            raise InputError(f"{where}: the dense layer after pooling holds NaN or infinite values")
        return dataclasses.replace(self, kernel=kernel, bias=bias)

    def check_width(self, hidden_size: int, where: str) -> None:
        """Raises InputError if the numbers are known, and not of vectors of a model of that width; `where` it lies."""
        if self.kernel is not None and self.kernel.shape[0] != hidden_size:
            raise InputError(
                f"{where}: the dense layer after pooling takes vectors of {self.kernel.shape[0]} numbers; the model's "
                f"have {hidden_size}"
            )

    def apply(self, vectors: Any, ops: Any = np) -> Any:
        """The vectors of a batch in the new width, [B, H] -> [B, T].

        Args:
            vectors: float32, pooled.
            ops: numpy, for arrays, or keras.ops, for tensors.

        Raises:
            InputError: its numbers are not at hand.
        """
        if self.kernel is None or self.bias is None:
            raise InputError("the numbers of the dense layer after pooling are not at hand here")
        return activate(ops.matmul(vectors, self.kernel) + self.bias, self.activation, ops)


def activate(vectors: Any, activation: str, ops: Any = np) -> Any:
    """The vectors after the activation of that name."""
    return ops.tanh(vectors) if activation == TANH else vectors
