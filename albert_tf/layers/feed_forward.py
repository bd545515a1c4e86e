"""The feed-forward half of a block, with its residual connection and LayerNorm.

Shapes: B batch, S sequence, H hidden, I intermediate.
"""

import keras
from keras import ops

from albert_tf import kernels
from albert_tf.layers.base import ConfiguredLayer, get_activation, make_layer_norm
from albert_tf.layers.dropout import StatelessDropout


@keras.saving.register_keras_serializable("albert_tf")
class FeedForward(ConfiguredLayer):
    """LayerNorm(x + Dropout(Dense(activation(Dense(x))))) (BERT, post-LayerNorm).

    Args:
        config: AlbertConfig, or the dict of one.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.activation = get_activation(self.config.hidden_act)
        self.intermediate = self.make_projection(self.config.intermediate_size, "intermediate")
        self.output_projection = self.make_projection(self.config.hidden_size, "output")
        self.dropout = StatelessDropout(self.config.hidden_dropout_prob, site=2, name="dropout")
        self.layer_norm = make_layer_norm(self.dtype_policy)

    def build(self, input_shape=None):
        self.intermediate.build((None, None, self.config.hidden_size))
        self.output_projection.build((None, None, self.config.intermediate_size))
        self.layer_norm.build((None, None, self.config.hidden_size))

    def step_weights(self):
        """The weights that a caller reads once, if it applies the layer many times, and hands to every call.

        Returns:
            (kernels, vectors): float32 [H, I] and [I, H]; float32 biases [I] and [H], gamma [H] and beta [H].
        """
        vectors = [self.intermediate.bias, self.output_projection.bias, self.layer_norm.gamma, self.layer_norm.beta]
        return [self.intermediate.kernel, self.output_projection.kernel], vectors

    def call(self, hidden, view, weights=None):
        """Applies the two projections to every position by itself.

        Args:
            hidden: float [B, S, H].
            view: kernels.View of the batch.
            weights: those of `step_weights` as tensors, kernels in the compute dtype; None reads them here.

        Returns:
            float [B, S, H].
        """
        (kernel, output_kernel), (bias, output_bias, gamma, beta) = weights or self.compute_weights()
        hidden = ops.cast(hidden, kernel.dtype)
        inner, outer, norm = (kernel, bias), (output_kernel, output_bias), (gamma, beta, self.layer_norm.epsilon)
        return kernels.feed_forward(hidden, inner, outer, self.activation, norm, self.dropout, view)
