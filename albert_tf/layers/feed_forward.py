"""The feed-forward half of a block, with its residual connection and LayerNorm.

Shapes: B batch, S sequence, H hidden, I intermediate.
"""

import keras

from albert_tf.layers.activations import get_activation
from albert_tf.layers.dropout import StatelessDropout
from albert_tf.layers.embeddings import make_initializer, make_layer_norm


@keras.saving.register_keras_serializable("albert_tf")
class FeedForward(keras.layers.Layer):
    """LayerNorm(x + Dropout(Dense(activation(Dense(x))))) (BERT, post-LayerNorm).

    Args:
        hidden_size: H.
        intermediate_size: I.
        hidden_act: one of config.ACTIVATIONS.
        initializer_range: standard deviation of the initial kernels.
        dropout_rate: of the output, before the residual sum.
    """

    def __init__(
        self,
        hidden_size,
        intermediate_size,
        hidden_act="gelu",
        initializer_range=0.02,
        dropout_rate=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.hidden_size = hidden_size
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range
        self.dropout_rate = dropout_rate
        initializer = make_initializer(initializer_range)
        self.activation = get_activation(hidden_act)
        self.intermediate = keras.layers.Dense(intermediate_size, kernel_initializer=initializer, name="intermediate")
        self.output_projection = keras.layers.Dense(hidden_size, kernel_initializer=initializer, name="output")
        self.dropout = StatelessDropout(dropout_rate, site=2, name="dropout")
        self.layer_norm = make_layer_norm()

    def build(self, input_shape=None):
        self.intermediate.build((None, None, self.hidden_size))
        self.output_projection.build((None, None, self.intermediate_size))
        self.layer_norm.build((None, None, self.hidden_size))

    def call(self, hidden, seed=None, training=False):
        """Applies the two projections to every position by itself: float [B, S, H] -> [B, S, H]."""
        output = self.output_projection(self.activation(self.intermediate(hidden)))
        return self.layer_norm(hidden + self.dropout(output, seed=seed, training=training))

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "hidden_act": self.hidden_act,
            "initializer_range": self.initializer_range,
            "dropout_rate": self.dropout_rate,
        }
