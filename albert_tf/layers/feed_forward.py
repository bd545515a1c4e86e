"""The feed-forward half of a block, with its residual connection and LayerNorm.

Shapes: B batch, S sequence, H hidden, I intermediate.
"""

import keras
from keras import ops

from albert_tf.kernels import backend, chains
from albert_tf.kernels.activations import get_activation
from albert_tf.layers.dropout import StatelessDropout
from albert_tf.layers.embeddings import compute_weights, make_initializer, make_layer_norm
from albert_tf.layers.projection import Projection, Unquantized


@keras.saving.register_keras_serializable("albert_tf")
class FeedForward(Unquantized, keras.layers.Layer):
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
        super().__init__(autocast=False, **kwargs)
        self.hidden_size = hidden_size
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range
        self.dropout_rate = dropout_rate
        self.activation = get_activation(hidden_act)
        self.intermediate = self._make_dense(intermediate_size, "intermediate")
        self.output_projection = self._make_dense(hidden_size, "output")
        self.dropout = StatelessDropout(dropout_rate, site=2, name="dropout")
        self.layer_norm = make_layer_norm(self.dtype_policy)

    def _make_dense(self, size, name):
        initializer = make_initializer(self.initializer_range)
        return Projection(size, kernel_initializer=initializer, dtype=self.dtype_policy, name=name)

    def build(self, input_shape=None):
        self.intermediate.build((None, None, self.hidden_size))
        self.output_projection.build((None, None, self.intermediate_size))
        self.layer_norm.build((None, None, self.hidden_size))

    def step_weights(self):
        """The weights that a caller reads once, if it applies the layer many times, and hands to every call.

        Returns:
            (kernels, vectors): float32 [H, I] and [I, H]; float32 biases [I] and [H], gamma [H] and beta [H].
        """
        vectors = [self.intermediate.bias, self.output_projection.bias, self.layer_norm.gamma, self.layer_norm.beta]
        kernels = [self.intermediate.kernel, self.output_projection.kernel]
        return list(map(backend.read, kernels)), list(map(backend.read, vectors))

    def call(self, hidden, weights=None, seed=None, training=False):
        """Applies the two projections to every position by itself.

        Args:
            hidden: float [B, S, H].
            weights: what `step_weights` returns, with kernels in the compute dtype; None makes it here.
            seed: int32 [2] for dropout.
            training: bool.

        Returns:
            float [B, S, H].
        """
        if weights is None:
            weights = compute_weights(self, self.compute_dtype)
        (kernel, output_kernel), (bias, output_bias, gamma, beta) = weights
        hidden = ops.cast(hidden, kernel.dtype)
        inner, outer = (kernel, bias), (output_kernel, output_bias)
        output = chains.activated_projection(hidden, inner, outer, self.activation, training)
        norm = (gamma, beta, self.layer_norm.epsilon)
        return chains.residual_norm(output, output_bias, hidden, norm, self.dropout, seed, training)

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "hidden_act": self.hidden_act,
            "initializer_range": self.initializer_range,
            "dropout_rate": self.dropout_rate,
        }
