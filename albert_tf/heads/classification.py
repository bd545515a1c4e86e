"""The classification head: dropout, then one score for each class.

Shapes: B batch, H hidden, C classes.
"""

import numbers

import keras
from keras import ops

from albert_tf.kernels.projection import Unquantized
from albert_tf.layers.base import make_initializer
from albert_tf.layers.dropout import StatelessDropout
from albert_tf.runtime.errors import InputError


@keras.saving.register_keras_serializable("albert_tf")
class ClassificationHead(Unquantized, keras.layers.Layer):
    """One projection, of the pooled [CLS] (create_model of the official classifier_utils.py) or of every piece.

    Args:
        hidden_size: H.
        num_labels: C; 1 for regression.
        dropout_rate: of what is projected, in training.
        initializer_range: standard deviation of the initial kernel.
    """

    def __init__(self, hidden_size, num_labels, dropout_rate=0.1, initializer_range=0.02, **kwargs):
        super().__init__(autocast=False, **kwargs)
        if not isinstance(num_labels, numbers.Integral) or num_labels < 1:
            raise InputError(f"`num_labels` must be a whole number of at least 1. Received {num_labels!r}.")
        self.hidden_size = hidden_size
        self.num_labels = num_labels
        self.dropout_rate = dropout_rate
        self.initializer_range = initializer_range
        self.dropout = StatelessDropout(dropout_rate, site=0, name="dropout")

    def build(self, input_shape=None):
        self.kernel = self.add_weight(
            name="kernel",
            shape=(self.hidden_size, self.num_labels),
            initializer=make_initializer(self.initializer_range),
        )
        self.bias = self.add_weight(name="bias", shape=(self.num_labels,), initializer="zeros")

    def call(self, hidden, seed=None, training=False):
        """float [..., H] -> float32 [..., C], before softmax.

        Args:
            hidden: pooled output, or one hidden state for each piece.
            seed: int32 [2] for dropout; may be None where nothing is dropped.
            training: bool.
        """
        dropped = self.dropout(ops.cast(hidden, "float32"), seed=seed, training=training)
        return ops.matmul(dropped, self.kernel) + self.bias

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_size": self.hidden_size,
            "num_labels": self.num_labels,
            "dropout_rate": self.dropout_rate,
            "initializer_range": self.initializer_range,
        }
