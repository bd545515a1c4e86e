"""Muon: momentum whose matrices are made orthogonal (Jordan et al., 2024, https://kellerjordan.github.io/posts/muon)."""

import re
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from albert_tf.optimization.adamw import AdamW

# The kernels of the encoder, the projection of the embeddings among them; not those of pooler and heads.
ENCODER_MATRICES = (r"(^|/)albert/encoder/.*kernel$",)
# Of the quintic iteration: chosen for a steep slope at zero, at the price of singular values between 0.7 and 1.2.
_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


@keras.saving.register_keras_serializable("albert_tf")
class Muon(AdamW):
    """Muon for the matrices of the encoder, and AdamW for every other variable.

    For the gradient g of a matrix w of R rows and C columns, with state m (zero at first):

        m = momentum m + (1 - momentum) g            u = orthogonalise(momentum m + (1 - momentum) g)
        w = w - matrix_rate learning_rate (sqrt(max(1, R / C)) u + weight_decay_rate w)

    The mean of a matrix's squared gradients is not kept: where AdamW has adam_v, it has a scalar that stays 0.

    keras.optimizers.Muon differs in what it leaves to AdamW (every variable with "embedding" in its path, and no head),
    in its AdamW (with bias correction, and decay of biases), and knows no rate of its own for a part of the model.

    Args:
        learning_rate: float or keras LearningRateSchedule; that of AdamW.
        matrix_rate: what multiplies it for the matrices: the spectral norm of an update is about this many times as
            large as the change of one entry by AdamW.
        momentum: decay of the mean of a matrix's gradients.
        iterations_of_newton_schulz: how often singular values are moved towards 1.
        matrices: regular expressions; a variable of two dimensions whose path has a match is updated by Muon.
        newton_schulz_dtype: float type in which singular values are moved, such as "bfloat16", which Muon was published
            with; None for the variables' own.
        **kwargs: of AdamW.
    """

    def __init__(
        self,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule = 1e-3,
        matrix_rate: float = 20.0,
        momentum: float = 0.95,
        iterations_of_newton_schulz: int = 5,
        matrices: Sequence[str] = ENCODER_MATRICES,
        newton_schulz_dtype: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        self.matrix_rate = matrix_rate
        self.momentum = momentum
        self.iterations_of_newton_schulz = iterations_of_newton_schulz
        self.matrices = tuple(matrices)
        self.newton_schulz_dtype = newton_schulz_dtype

    def _make_state(self, variables: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        self._is_matrix = [
            len(variable.shape) == 2 and any(re.search(pattern, variable.path) for pattern in self.matrices)
            for variable in variables
        ]
        means, squares = [], []
        for variable, is_matrix in zip(variables, self._is_matrix, strict=True):
            means.append(self.add_variable_from_reference(variable, name="adam_m"))
            squares.append(
                self.add_variable((), "zeros", dtype=variable.dtype, name="adam_v")
                if is_matrix
                else self.add_variable_from_reference(variable, name="adam_v")
            )
        return means, squares

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Applies one gradient to one variable."""
        index = self._get_variable_index(variable)
        if not self._is_matrix[index]:
            super().update_step(gradient, variable, learning_rate)
            return
        gradient = ops.cast(ops.convert_to_tensor(gradient), variable.dtype)
        mean = self._means[index]
        rows, columns = variable.shape
        new_mean = mean + (1.0 - self.momentum) * (gradient - mean)
        self.assign(mean, new_mean)
        update = orthogonalise(
            self.momentum * new_mean + (1.0 - self.momentum) * gradient,
            self.iterations_of_newton_schulz,
            self.newton_schulz_dtype,
        )
        rate = self._scaled_rate(index, variable, learning_rate)
        update = max(1.0, rows / columns) ** 0.5 * update
        if self._is_decayed[index]:
            update = update + self.weight_decay_rate * variable
        self.assign_sub(variable, rate * self.matrix_rate * update)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        return {
            **super().get_config(),
            "matrix_rate": self.matrix_rate,
            "momentum": self.momentum,
            "iterations_of_newton_schulz": self.iterations_of_newton_schulz,
            "matrices": list(self.matrices),
            "newton_schulz_dtype": self.newton_schulz_dtype,
        }


def orthogonalise(matrix: Any, iterations: int = 5, dtype: str | None = None) -> Any:
    """The matrix with its singular values moved near to 1: float [R, C] -> [R, C]; zeros stay zeros.

    Args:
        matrix: float [R, C].
        iterations: of Newton and Schulz; after five, singular values lie between about 0.7 and 1.2, unless they were
            below a thousandth of the matrix's Frobenius norm.
        dtype: of the iterations; None for the matrix's own.
    """
    first, second, third = _NEWTON_SCHULZ
    rows, columns = matrix.shape
    x = ops.transpose(matrix) if rows > columns else matrix
    x = ops.cast(x / (ops.sqrt(ops.sum(ops.square(x))) + 1e-7), dtype or matrix.dtype)
    for _ in range(iterations):
        products = ops.matmul(x, ops.transpose(x))
        x = first * x + ops.matmul(second * products + third * ops.matmul(products, products), x)
    x = ops.cast(x, matrix.dtype)
    return ops.transpose(x) if rows > columns else x
