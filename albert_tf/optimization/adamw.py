"""AdamW with the arithmetic of the official AdamWeightDecayOptimizer (BERT's optimization.py)."""

import math
import re
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from albert_tf.kernels import backend
from albert_tf.optimization.names import BETA_2, EPSILON, WEIGHT_DECAY_RATE

# Official names of the parameters without weight decay: LayerNorm's and biases. Ours spell it layer_norm.
EXCLUDED_FROM_WEIGHT_DECAY = ("LayerNorm", "layer_norm", "bias")


@keras.saving.register_keras_serializable("albert_tf")
class AdamW(keras.optimizers.Optimizer):
    """Adam, without bias correction unless it is asked for, with decoupled weight decay.

    For a gradient g and a variable w, with state m and v (zero at first):

        m = beta_1 m + (1 - beta_1) g        v = beta_2 v + (1 - beta_2) g^2
        u = m / (sqrt(v) + epsilon) + weight_decay_rate w        w = w - learning_rate u

    With `bias_correction`, m / (1 - beta_1^t) and v / (1 - beta_2^t) take the place of m and v in u, in step t from 1
    (Kingma & Ba, 2014, arXiv 1412.6980): the rule of torch.optim.AdamW.

    Differences from keras.optimizers.AdamW: no bias correction by default (the first updates are sqrt(1000) / 10 = 3.2
    times as large), epsilon 1e-6, and exclusion by a search in the variable's whole path rather than its last part.

    Args:
        learning_rate: float or keras LearningRateSchedule.
        weight_decay_rate: of the decoupled decay.
        beta_1: decay of the mean of gradients.
        beta_2: decay of the mean of squared gradients.
        epsilon: added to the root, outside it.
        exclude_from_weight_decay: regular expressions; a variable whose path has a match is not decayed.
        learning_rate_factors: (regular expression, factor) pairs; the first one that a variable's path has a match
            for multiplies its learning rate. See build.layerwise_factors.
        bias_correction: whether the moments are divided by what they lack in the first steps.
        **kwargs: of keras.optimizers.Optimizer. Its `weight_decay` is a different rule, and refused.
    """

    def __init__(
        self,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule = 5e-5,
        weight_decay_rate: float = WEIGHT_DECAY_RATE,
        beta_1: float = 0.9,
        beta_2: float = BETA_2,
        epsilon: float = EPSILON,
        exclude_from_weight_decay: Sequence[str] | None = EXCLUDED_FROM_WEIGHT_DECAY,
        learning_rate_factors: Sequence[tuple[str, float]] = (),
        bias_correction: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if kwargs.pop("weight_decay", None) is not None:
            raise ValueError("`weight_decay` is Keras's own rule, which scales otherwise; use `weight_decay_rate`.")
        if isinstance(exclude_from_weight_decay, str):
            raise ValueError(
                "`exclude_from_weight_decay` is a list of regular expressions. "
                f"Received the string {exclude_from_weight_decay!r}."
            )
        super().__init__(learning_rate=learning_rate, name=name or type(self).__name__.lower(), **kwargs)
        self.weight_decay_rate = weight_decay_rate
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.exclude_from_weight_decay = tuple(exclude_from_weight_decay or ())
        self.learning_rate_factors = tuple((pattern, factor) for pattern, factor in learning_rate_factors)
        self.bias_correction = bias_correction

    @property
    def schedule_variables(self) -> list[keras.Variable]:
        """The variables that the learning rate's schedule reads besides the step; most have none."""
        return list(getattr(self._learning_rate, "variables", ()))

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the two moments of every variable and decides which are decayed."""
        if self.built:
            return
        super().build(variables)
        self._means, self._squares = self._make_state(variables)
        self._is_decayed = [
            not any(re.search(pattern, variable.path) for pattern in self.exclude_from_weight_decay)
            for variable in variables
        ]
        self._factors = [
            next((factor for pattern, factor in self.learning_rate_factors if re.search(pattern, variable.path)), 1.0)
            for variable in variables
        ]

    def _make_state(self, variables: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Two variables for each of those that are updated: lists of them."""
        means, squares = self.add_optimizer_variables(variables, ["adam_m", "adam_v"])
        return means, squares

    def moments(self) -> tuple[list[Any], list[Any]]:
        """The state, two variables for each variable it was built with: lists of adam_m and of adam_v."""
        return list(self._means), list(self._squares)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Applies one gradient to one variable."""
        index = self._get_variable_index(variable)
        gradient = ops.cast(ops.convert_to_tensor(gradient), variable.dtype)
        rate = self._scaled_rate(index, variable, learning_rate)
        decay = self.weight_decay_rate if self._is_decayed[index] else 0.0
        variables = (variable, self._means[index], self._squares[index])
        settings = rate, self.beta_1, self.beta_2, *self._scaled_update(variable.dtype), decay
        backend.assign_update(_updated, variables, gradient, *settings)

    def _scaled_rate(self, index: int, variable: Any, learning_rate: Any) -> Any:
        """The learning rate of the variable of this place, a scalar."""
        rate = ops.cast(learning_rate, variable.dtype)
        return rate if self._factors[index] == 1.0 else rate * self._factors[index]

    def _scaled_update(self, dtype: str) -> tuple[Any, Any]:
        """(factor of mean / (sqrt(square) + epsilon), that epsilon): scalars; 1 and its own without a correction."""
        if not self.bias_correction:
            return 1.0, self.epsilon
        step = ops.cast(self.iterations + 1, dtype)
        # What is left of the zeros that the moments began with; 1 - beta^t in float32 would be off for 0.999.
        first, second = (
            -ops.expm1(step * math.log(beta)) if beta else ops.cast(1, dtype) for beta in (self.beta_1, self.beta_2)
        )
        root = ops.sqrt(second)
        return root / first, self.epsilon * root

    def decays(self, index: int) -> bool:
        """Tells whether the variable at this place is decayed."""
        return self._is_decayed[index]

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        config = super().get_config()
        del config["weight_decay"]
        return {
            **config,
            "weight_decay_rate": self.weight_decay_rate,
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "exclude_from_weight_decay": list(self.exclude_from_weight_decay),
            "learning_rate_factors": [list(pair) for pair in self.learning_rate_factors],
            "bias_correction": self.bias_correction,
        }


def _updated(
    variable: Any,
    mean: Any,
    square: Any,
    gradient: Any,
    rate: Any,
    beta_1: float,
    beta_2: float,
    scale: Any,
    epsilon: Any,
    decay: float,
) -> tuple[Any, Any, Any]:
    """The new values of a variable and its moments.

    The moments move towards the gradient by 1 - beta, which Python computes: in float32 it is off by 1e-5 of itself for
    0.999, and so is the product of many betas. Decay is part of the update: 1 - rate * decay is hardly a float32 number
    at the rates of fine-tuning.

    Args:
        variable, mean, square, gradient: float [...].
        rate: scalar, the learning rate.
        beta_1, beta_2: Python floats.
        scale, epsilon: of the update: scalars.
        decay: Python float, the weight decay rate; 0 for none.
    """
    mean = mean + (1.0 - beta_1) * (gradient - mean)
    square = square + (1.0 - beta_2) * (ops.square(gradient) - square)
    update = adam_update(mean, square, scale, epsilon)
    if decay:
        update = update + decay * variable
    return variable - rate * update, mean, square


def adam_update(mean: Any, square: Any, scale: Any, epsilon: Any) -> Any:
    """The step of Adam, but for the learning rate, float [...].

    Args:
        mean, square: float [...], the moments.
        scale: scalar, what multiplies it; a Python float is 1.
        epsilon: scalar, added to the root.
    """
    update = mean / (ops.sqrt(square) + epsilon)
    return update if isinstance(scale, float) else scale * update
