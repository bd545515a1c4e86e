"""Dropout without state: the mask is a function of the seed it is given, and of nothing else."""

import keras
from keras import ops

from albert_tf import kernels
from albert_tf.kernels.projection import Unquantized
from albert_tf.runtime.errors import InputError


@keras.saving.register_keras_serializable("albert_tf")
class StatelessDropout(Unquantized, keras.layers.Layer):
    """Zeroes a share of the input and scales the rest up, by a mask that the caller's seed decides.

    Recomputing a step, restarting it, or running it on another replica draws the very mask that is meant.

    Args:
        rate: share of the elements to drop, in [0, 1).
        site: number of this place among those that are given the same seed.
    """

    def __init__(self, rate, site, **kwargs):
        super().__init__(autocast=False, **kwargs)
        if not 0 <= rate < 1:
            raise InputError(f"The share of a dropout must lie in [0, 1). Received {rate}.")
        self.rate = rate
        self.site = site
        self.built = True

    def call(self, x, seed=None, training=False):
        """Drops when training; otherwise, or at rate 0, returns x.

        Args:
            x: float tensor of any shape.
            seed: int32 [2]; may be None where nothing is dropped.
            training: bool.
        """
        return kernels.drop(x, self.rate, self.keep_masks(ops.shape(x), seed, training))

    def keep_masks(self, shape, seed, training):
        """The mask of what `call` would keep of a tensor of a shape, for callers that drop as part of a chain.

        Returns:
            list of one bool tensor of that shape; empty where nothing is dropped.
        """
        if not training or self.rate == 0:
            return []
        if seed is None:
            raise ValueError("Dropout in training needs `seed`, an int32 tensor of shape [2]. Received None.")
        return [kernels.keep_mask(shape, self.rate, kernels.fold_in(seed, self.site))]

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "site": self.site}
