"""LAMB with the arithmetic of the official LAMBOptimizer (You et al., 2019, arXiv 1904.00962)."""

from typing import Any

import keras
from keras import ops

from albert_tf.optimization.adamw import AdamW, adam_update


@keras.saving.register_keras_serializable("albert_tf")
class LAMB(AdamW):
    """AdamW whose learning rate is scaled, for each variable, by norm(w) / norm(u): the trust ratio.

    The update u holds the weight decay before its norm is taken. The ratio is 1 where either norm is zero, and for
    the variables without weight decay. There is no bias correction, unless it is asked for, and no bound on the ratio,
    as in the official lamb_optimizer.py; keras.optimizers.Lamb differs in all four.

    Args:
        learning_rate: float or keras LearningRateSchedule.
        weight_decay_rate: of the decoupled decay.
        beta_1: decay of the mean of gradients.
        beta_2: decay of the mean of squared gradients.
        epsilon: added to the root, outside it.
        exclude_from_weight_decay: regular expressions; a variable whose path has a match is neither decayed nor
            scaled by its trust ratio.
        learning_rate_factors: see AdamW.
        bias_correction: see AdamW.
        **kwargs: of keras.optimizers.Optimizer.
    """

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Applies one gradient to one variable."""
        index = self._get_variable_index(variable)
        mean, square = self._means[index], self._squares[index]
        gradient = ops.cast(ops.convert_to_tensor(gradient), variable.dtype)
        new_mean = self.beta_1 * mean + (1.0 - self.beta_1) * gradient
        new_square = self.beta_2 * square + (1.0 - self.beta_2) * ops.square(gradient)
        self.assign(mean, new_mean)
        self.assign(square, new_square)
        update = self.direction(index, variable, new_mean, new_square)
        scale = self._scaled_rate(index, variable, learning_rate) * self.layer_scale(index, variable, update)
        self.assign_sub(variable, scale * update)

    def direction(self, index: int, variable: Any, mean: Any, square: Any) -> Any:
        """The step that is taken off a variable, but for the learning rate and the trust ratio.

        Args:
            index: the variable's place among those the optimizer was built with.
            variable: its value.
            mean: its first moment.
            square: its second moment.
        """
        update = adam_update(mean, square, *self._scaled_update(variable.dtype))
        return update + self.weight_decay_rate * variable if self._is_decayed[index] else update

    def layer_scale(self, index: int, variable: Any, update: Any) -> Any:
        """The trust ratio, a scalar: what multiplies the learning rate for this variable."""
        if not self._is_decayed[index]:
            return 1.0
        weight_norm = ops.sqrt(ops.sum(ops.square(variable)))
        update_norm = ops.sqrt(ops.sum(ops.square(update)))
        defined = ops.logical_and(weight_norm > 0, update_norm > 0)
        return ops.where(defined, weight_norm / ops.where(defined, update_norm, 1.0), 1.0)
