"""The sentence-order head: did the two segments stand in this order?

Shapes: B batch, H hidden.
"""

import keras
from keras import ops

from albert_tf.kernels.projection import Projection, Unquantized
from albert_tf.layers.base import make_initializer

IN_ORDER, SWAPPED = 0, 1


@keras.saving.register_keras_serializable("albert_tf")
class SentenceOrderHead(Unquantized, keras.layers.Layer):
    """One projection of the pooled [CLS] to two scores (get_sentence_order_output of the official code).

    Args:
        hidden_size: H.
        initializer_range: standard deviation of the initial kernel.
    """

    def __init__(self, hidden_size, initializer_range=0.02, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.hidden_size = hidden_size
        self.initializer_range = initializer_range
        self.classifier = Projection(
            2,
            kernel_initializer=make_initializer(initializer_range),
            dtype=self.dtype_policy,
            name="classifier",
        )

    def build(self, input_shape=None):
        self.classifier.build((None, self.hidden_size))

    def call(self, pooled_output):
        """float [B, H] -> float32 [B, 2], before softmax: the scores of IN_ORDER and of SWAPPED."""
        kernel, bias = (ops.cast(weight, "float32") for weight in (self.classifier.kernel, self.classifier.bias))
        return ops.matmul(ops.cast(pooled_output, "float32"), kernel) + bias

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_size": self.hidden_size,
            "initializer_range": self.initializer_range,
        }
