"""LAMB's trust ratio of every weight, as weights and moments stand at a report."""

import re

import tensorflow as tf

from albert_tf.models.named_weights import named_weights


class TrustRatios:
    """Computes norm(w) / norm(u) of a model's weights, u being the update that LAMB would make of its moments now.

    Weights without decay have no ratio: LAMB leaves their learning rate alone.

    Args:
        model: the weights.
        optimizer: a LAMB built on them.
    """

    def __init__(self, model, optimizer):
        self._decay, self._epsilon = optimizer.weight_decay_rate, optimizer.epsilon
        means, squares = optimizer.moments()
        excluded = optimizer.exclude_from_weight_decay
        self._parts = {
            name: (variable, mean, square)
            for (name, variable), mean, square in zip(named_weights(model).items(), means, squares, strict=True)
            if not any(re.search(pattern, variable.path) for pattern in excluded)
        }

    def now(self) -> dict[str, float]:
        """{name of the weight: ratio}; 1 where either norm is zero, as in LAMB."""
        return dict(zip(self._parts, self._compute().numpy().tolist(), strict=True))

    @tf.function
    def _compute(self):
        ratios = []
        for variable, mean, square in self._parts.values():
            weight = tf.convert_to_tensor(variable.value)
            update = tf.convert_to_tensor(mean.value) / (tf.sqrt(tf.convert_to_tensor(square.value)) + self._epsilon)
            weight_norm, update_norm = tf.norm(weight), tf.norm(update + self._decay * weight)
            defined = (weight_norm > 0) & (update_norm > 0)
            ratios.append(tf.where(defined, weight_norm / tf.where(defined, update_norm, 1.0), 1.0))
        return tf.stack(ratios)
