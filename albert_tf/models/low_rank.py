"""Low-rank updates of kernels (LoRA, Hu et al., 2021, arXiv 2106.09685): W = W0 + (alpha / r) A B; A and B are trained.

The layers know nothing of it: a model's kernel holds W, whose gradient becomes that of A and B, and after each step W
is computed anew. ALBERT applies a kernel in every layer but has it once, so that costs one small product a kernel and
step, and the merged model is the model itself.

Shapes: R rows and C columns of a kernel, r rank.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from albert_tf.models.named_weights import named_weights, trained_weights


class LowRankUpdates:
    """The updates of some kernels of a model, which are frozen but for them.

    Args:
        model: the other weights that are to be frozen are so already, and the kernels too.
        is_target: of a weight's name: whether it gets an update. Such weights have two dimensions.
        rank: r.
        alpha: what the update is multiplied by, times the rank.
        seed: of the first values of A, from a normal distribution of variance 1 / R; B is 0 at first (section 4.1).

    Attributes:
        trained: {name: variable} of A and B, by "lora_a/NAME" and "lora_b/NAME".
        bases: {name: variable} of W0, by "lora_base/NAME".
    """

    def __init__(self, model, is_target: Callable[[str], bool], rank: int, alpha: float, seed: int) -> None:
        self._model = model
        self._targets = {name: one for name, one in named_weights(model).items() if is_target(name)}
        self._scale = alpha / rank
        rng = np.random.default_rng(seed)
        self.bases: dict[str, Any] = {}
        a, b = {}, {}
        for name, target in self._targets.items():
            rows, columns = target.shape
            first = rng.normal(scale=1 / math.sqrt(rows), size=(rows, rank))
            a[f"lora_a/{name}"] = _variable(f"{name}_lora_a", first)
            b[f"lora_b/{name}"] = _variable(f"{name}_lora_b", np.zeros((rank, columns)))
            self.bases[f"lora_base/{name}"] = _variable(f"{name}_lora_base", np.asarray(target), trainable=False)
        self._a, self._b = list(a.values()), list(b.values())
        self.trained: dict[str, Any] = a | b

    @property
    def targets(self) -> list[Any]:
        """The kernels, W."""
        return list(self._targets.values())

    @property
    def num_trained(self) -> int:
        """The number of numbers in A and B."""
        return sum(math.prod(variable.shape) for variable in self.trained.values())

    def updated(self) -> dict[str, Any]:
        """Every variable that has moments: the trained weights of the model, then A and B."""
        return trained_weights(self._model) | self.trained

    def set_bases(self) -> None:
        """Takes the kernels as they are for W0, since they were given their first values."""
        for base, target in zip(self.bases.values(), self._targets.values(), strict=True):
            base.assign(target.value)
        self.write()

    def gradients(self, of_targets: Sequence[Any]) -> list[Any]:
        """The gradients of all A, then of all B, from those of the kernels, float [R, C] each."""
        triples = list(zip(of_targets, self._a, self._b, strict=True))
        of_a = [self._scale * ops.matmul(gradient, ops.transpose(b)) for gradient, _, b in triples]
        return of_a + [self._scale * ops.matmul(ops.transpose(a), gradient) for gradient, a, _ in triples]

    def write(self) -> None:
        """Gives the kernels the values that A and B make."""
        for target, base, a, b in zip(self._targets.values(), self.bases.values(), self._a, self._b, strict=True):
            target.assign(base + self._scale * ops.matmul(a, b))


def _variable(name: str, values: np.ndarray, trainable: bool = True) -> keras.Variable:
    """A float32 variable whose path is a name with slashes."""
    *scopes, last = name.split("/")
    with contextlib.ExitStack() as stack:
        for scope in scopes:
            stack.enter_context(keras.name_scope(scope))
        return keras.Variable(values.astype(np.float32), trainable=trainable, dtype="float32", name=last)
