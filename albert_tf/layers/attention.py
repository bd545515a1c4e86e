"""Multi-head self-attention with its output projection, residual connection and LayerNorm.

Shapes: B batch, S sequence, P positions, H hidden, N heads, D = H / N.
"""

import math

import keras
from keras import ops

from albert_tf.kernels import backend, chains
from albert_tf.layers.dropout import StatelessDropout
from albert_tf.layers.embeddings import compute_weights, make_initializer, make_layer_norm
from albert_tf.layers.projection import Projection, Unquantized


@keras.saving.register_keras_serializable("albert_tf")
class SelfAttention(Unquantized, keras.layers.Layer):
    """The attention half of a block: LayerNorm(x + Dropout(Dense(Attention(x)))) (BERT, post-LayerNorm).

    Queries, keys and values have kernels of their own, as LAMB's trust ratio is taken of each by itself, and are
    computed by one matrix product with the three side by side. A caller that applies the layer many times may put
    them side by side and cast them once (`step_weights`), and hand the result to every call.

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
        super().__init__(autocast=False, **kwargs)
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
        self.output_projection = Projection(
            hidden_size,
            kernel_initializer=make_initializer(initializer_range),
            dtype=self.dtype_policy,
            name="output",
        )
        self.attention_dropout = StatelessDropout(attention_dropout_rate, site=0, name="attention_dropout")
        self.hidden_dropout = StatelessDropout(hidden_dropout_rate, site=1, name="hidden_dropout")
        self.layer_norm = make_layer_norm(self.dtype_policy)

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

    def step_weights(self):
        """The weights that a caller reads once, if it applies the layer many times, and hands to every call.

        Returns:
            (kernels, vectors): float32 [H, 3 H], the three projections side by side, and [H, H], of the output;
            float32 biases [3 H] and [H], gamma [H] and beta [H].
        """
        kernels = [ops.concatenate(self.kernels, axis=-1), backend.read(self.output_projection.kernel)]
        vectors = [self.output_projection.bias, self.layer_norm.gamma, self.layer_norm.beta]
        return kernels, [ops.concatenate(self.biases, axis=-1), *map(backend.read, vectors)]

    def call(
        self,
        hidden,
        attention_bias,
        weights=None,
        positions=None,
        unpadding=None,
        seed=None,
        training=False,
    ):
        """Attends.

        Args:
            hidden: float [B, S, H].
            attention_bias: float [B, 1, 1, S], see chains.make_attention_bias.
            weights: what `step_weights` returns, with kernels in the compute dtype; None makes it here.
            positions: int32 [B, P]: the only positions whose output is wanted; None: all.
            unpadding: Unpadding that stripped `hidden`, which then is [1, T, H]; None where there is padding.
            seed: int32 [2] for dropout.
            training: bool.

        Returns:
            float [B, S, H], or [B, P, H], or [1, T, H].
        """
        if weights is None:
            weights = compute_weights(self, self.compute_dtype)
        (kernel, output_kernel), (bias, output_bias, gamma, beta) = weights
        hidden = ops.cast(hidden, kernel.dtype)
        heads, width = self.num_attention_heads, self.hidden_size

        def attend(parts):
            return chains.attend(*parts, attention_bias, self.attention_dropout, seed, training)

        if positions is None:
            residual = hidden
            x = chains.project_for_chain(hidden, kernel, bias, training)
            if unpadding is None:
                context = attend(chains.split_heads(x, bias, heads, 3, training))
            else:
                context = unpadding.attend(x, attention_bias)
        else:
            residual = chains.gather_positions(hidden, positions)
            of_queries, of_others = (kernel[:, :width], bias[:width]), (kernel[:, width:], bias[width:])
            x = chains.project_for_chain(residual, *of_queries, training)
            queries = chains.split_heads(x, of_queries[1], heads, 1, training)
            x = chains.project_for_chain(hidden, *of_others, training)
            keys_and_values = chains.split_heads(x, of_others[1], heads, 2, training)
            context = attend([*queries, *keys_and_values])
        output = chains.project_for_chain(context, output_kernel, output_bias, training)
        norm = (gamma, beta, self.layer_norm.epsilon)
        return chains.residual_norm(output, output_bias, residual, norm, self.hidden_dropout, seed, training)

    def attention_probabilities(self, hidden, attention_bias):
        """Computes how much each query attends to each key, without dropout: to look at, as `call` keeps none of it.

        Args:
            hidden: float [B, S, H], the input of `call`.
            attention_bias: float [B, 1, 1, S], see chains.make_attention_bias.

        Returns:
            float32 [B, N, S, S], over the last axis a distribution.
        """
        (kernel, _), (bias, *_) = compute_weights(self, self.compute_dtype)
        both = slice(0, 2 * self.hidden_size)
        x = chains.project(ops.cast(hidden, kernel.dtype), kernel[:, both], bias[both])
        query, key = chains.split_heads(x, None, self.num_attention_heads, 2)
        scores = ops.cast(ops.matmul(query, ops.swapaxes(key, 2, 3)), "float32")
        return backend.softmax(scores / math.sqrt(query.shape[-1]) + attention_bias)

    def get_config(self):
        return {
            **super().get_config(),
            "hidden_size": self.hidden_size,
            "num_attention_heads": self.num_attention_heads,
            "initializer_range": self.initializer_range,
            "hidden_dropout_rate": self.hidden_dropout_rate,
            "attention_dropout_rate": self.attention_dropout_rate,
        }
