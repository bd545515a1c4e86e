"""Multi-head self-attention with its output projection, residual connection and LayerNorm.

Shapes: B batch, S sequence, H hidden, N heads, D = H / N.
"""

import math

import keras
from keras import ops

from albert_tf.layers.dropout import StatelessDropout
from albert_tf.layers.embeddings import make_initializer, make_layer_norm

# Added to the scores of padded keys (modeling.attention_layer of the official code).
MASKED_SCORE = -10000.0


def make_attention_bias(input_mask, dtype):
    """What to add to the attention scores so that no query attends to padding.

    Args:
        input_mask: [B, S], 1 for a token, 0 for padding.
        dtype: of the result.

    Returns:
        [B, 1, 1, S]: 0 for a token, MASKED_SCORE for padding.
    """
    mask = ops.cast(input_mask, dtype)
    return (1.0 - mask)[:, None, None, :] * MASKED_SCORE


@keras.saving.register_keras_serializable("albert_tf")
class SelfAttention(keras.layers.Layer):
    """The attention half of a block: LayerNorm(x + Dropout(Dense(Attention(x)))) (BERT, post-LayerNorm).

    Queries, keys and values have kernels of their own, as LAMB's trust ratio is taken of each by itself, and are
    computed by one matrix product with the three side by side. A caller that applies the layer many times may put
    them side by side once (`fuse_projections`) and hand the result to every call.

    Args:
        hidden_size: H.
        num_attention_heads: N.
        initializer_range: standard deviation of the initial kernels.
        hidden_dropout_rate: of the projected output, before the residual sum.
        attention_dropout_rate: of the attention probabilities.
    """

    def __init__(
        self,
        hidden_size,
        num_attention_heads,
        initializer_range=0.02,
        hidden_dropout_rate=0.0,
        attention_dropout_rate=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if hidden_size % num_attention_heads:
            raise ValueError(
                "`hidden_size` must be a multiple of `num_attention_heads`. "
                f"Received hidden_size={hidden_size} and num_attention_heads={num_attention_heads}."
            )
        self.hidden_size = hidden_size
        self.num_attention_heads = num_attention_heads
        self.initializer_range = initializer_range
        self.hidden_dropout_rate = hidden_dropout_rate
        self.attention_dropout_rate = attention_dropout_rate
        self.output_projection = keras.layers.Dense(
            hidden_size, kernel_initializer=make_initializer(initializer_range), name="output"
        )
        self.attention_dropout = StatelessDropout(attention_dropout_rate, site=0, name="attention_dropout")
        self.hidden_dropout = StatelessDropout(hidden_dropout_rate, site=1, name="hidden_dropout")
        self.layer_norm = make_layer_norm()

    def build(self, input_shape=None):
        self.kernels, self.biases = [], []
        for name in ("query", "key", "value"):
            self.kernels.append(
                self.add_weight(
                    name=f"{name}_kernel",
                    shape=(self.hidden_size, self.hidden_size),
                    initializer=make_initializer(self.initializer_range),
                )
            )
            self.biases.append(self.add_weight(name=f"{name}_bias", shape=(self.hidden_size,), initializer="zeros"))
        shape = (None, None, self.hidden_size)
        self.output_projection.build(shape)
        self.layer_norm.build(shape)

    def fuse_projections(self):
        """The three projections side by side, in the compute dtype: kernel [H, 3H] and bias [3H]."""

        def join(weights):
            return ops.concatenate([ops.cast(weight, self.compute_dtype) for weight in weights], axis=-1)

        return join(self.kernels), join(self.biases)

    def call(self, hidden, attention_bias, projections=None, seed=None, training=False):
        """Attends.

        Args:
            hidden: float [B, S, H].
            attention_bias: float [B, 1, 1, S], see make_attention_bias.
            projections: what `fuse_projections` returns; None makes it here.
            seed: int32 [2] for dropout.
            training: bool.

        Returns:
            float [B, S, H].
        """
        kernel, bias = self.fuse_projections() if projections is None else projections
        length = ops.shape(hidden)[1]
        head_size = self.hidden_size // self.num_attention_heads
        fused = ops.reshape(ops.matmul(hidden, kernel) + bias, (-1, length, 3, self.num_attention_heads, head_size))
        query, key, value = ops.unstack(ops.transpose(fused, (2, 0, 3, 1, 4)), num=3, axis=0)
        scores = ops.matmul(query * (1.0 / math.sqrt(head_size)), ops.transpose(key, (0, 1, 3, 2)))
        # In float32 whatever the precision: a sum of many small probabilities.
        scores = ops.cast(scores, "float32") + ops.cast(attention_bias, "float32")
        probabilities = ops.cast(ops.softmax(scores, axis=-1), self.compute_dtype)
        probabilities = self.attention_dropout(probabilities, seed=seed, training=training)
        context = ops.transpose(ops.matmul(probabilities, value), (0, 2, 1, 3))
        output = self.output_projection(ops.reshape(context, (-1, length, self.hidden_size)))
        return self.layer_norm(hidden + self.hidden_dropout(output, seed=seed, training=training))

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_size": self.hidden_size,
            "num_attention_heads": self.num_attention_heads,
            "initializer_range": self.initializer_range,
            "hidden_dropout_rate": self.hidden_dropout_rate,
            "attention_dropout_rate": self.attention_dropout_rate,
        }
