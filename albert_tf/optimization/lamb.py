"""LAMB with the arithmetic of the official LAMBOptimizer (You et al., 2019, arXiv 1904.00962)."""

import keras
from keras import ops

from albert_tf.optimization.adamw import AdamW


@keras.saving.register_keras_serializable("albert_tf")
class LAMB(AdamW):
    """AdamW whose learning rate is scaled, for each variable, by norm(w) / norm(u): the trust ratio.

    The update u holds the weight decay before its norm is taken. The ratio is 1 where either norm is zero, and for
    the variables without weight decay. There is no bias correction and no bound on the ratio, as in the official
    lamb_optimizer.py; keras.optimizers.Lamb differs in all four.

    Args:
        learning_rate: float or keras LearningRateSchedule.
        weight_decay_rate: of the decoupled decay.
        beta_1: decay of the mean of gradients.
        beta_2: decay of the mean of squared gradients.
        epsilon: added to the root, outside it.
        exclude_from_weight_decay: regular expressions; a variable whose path has a match is neither decayed nor
            scaled by its trust ratio.
        learning_rate_factors: see AdamW.
        **kwargs: of keras.optimizers.Optimizer.
    """

    def layer_scale(self, index, variable, update):
        """The trust ratio, a scalar."""
        if not self._is_decayed[index]:
            return 1.0
        weight_norm = ops.sqrt(ops.sum(ops.square(variable)))
        update_norm = ops.sqrt(ops.sum(ops.square(update)))
        defined = ops.logical_and(weight_norm > 0, update_norm > 0)
        return ops.where(defined, weight_norm / ops.where(defined, update_norm, 1.0), 1.0)
