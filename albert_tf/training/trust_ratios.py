"""LAMB's trust ratio of every weight, as weights and moments stand at a report."""

import tensorflow as tf

from albert_tf.models.named_weights import named_weights


class TrustRatios:
    """Asks LAMB what it would scale its next update by, were it made of the moments as they are.

    Weights without decay have no ratio: LAMB leaves their learning rate alone.

    Args:
        model: the weights.
        optimizer: a LAMB built on them.
    """

    def __init__(self, model, optimizer):
        self._optimizer = optimizer
        weights = zip(named_weights(model).items(), *optimizer.moments(), strict=True)
        self._parts = {
            name: (index, variable, mean, square)
            for index, ((name, variable), mean, square) in enumerate(weights)
            if optimizer.decays(index)
        }

    def now(self) -> dict[str, float]:
        """{name of the weight: ratio}; 1 where either norm is zero, as in LAMB."""
        return dict(zip(self._parts, self._compute().numpy().tolist(), strict=True))

    @tf.function
    def _compute(self):
        ratios = []
        for index, *variables in self._parts.values():
            weight, mean, square = (tf.convert_to_tensor(variable.value) for variable in variables)
            update = self._optimizer.direction(index, weight, mean, square)
            ratios.append(self._optimizer.layer_scale(index, weight, update))
        return tf.stack(ratios)
