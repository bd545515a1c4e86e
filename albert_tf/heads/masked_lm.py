"""The masked-LM head: the words that stood where [MASK] stands.

Shapes: B batch, S sequence, P predictions, V vocabulary, E embedding, H hidden.
"""

import keras
from keras import ops

from albert_tf import kernels
from albert_tf.kernels.projection import Projection, Unquantized
from albert_tf.layers.activations import get_activation
from albert_tf.layers.base import make_initializer, make_layer_norm


@keras.saving.register_keras_serializable("albert_tf")
class MaskedLMHead(Unquantized, keras.layers.Layer):
    """Dense H -> E, activation, LayerNorm, then scores against the word embeddings, plus a bias for each word.

    From get_masked_lm_output of the official run_pretraining.py. The scores are computed for the asked positions
    only; the table is the encoder's own (tied weights), so it is handed in at each call.

    Args:
        vocab_size: V.
        embedding_size: E.
        hidden_size: H.
        hidden_act: one of config.ACTIVATIONS.
        initializer_range: standard deviation of the initial kernel.
    """

    def __init__(self, vocab_size, embedding_size, hidden_size, hidden_act="gelu", initializer_range=0.02, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range
        self.activation = get_activation(hidden_act)
        self.transform = Projection(
            embedding_size,
            kernel_initializer=make_initializer(initializer_range),
            dtype=self.dtype_policy,
            name="transform",
        )
        self.layer_norm = make_layer_norm(self.dtype_policy)

    def build(self, input_shape=None):
        self.transform.build((None, None, self.hidden_size))
        self.layer_norm.build((None, None, self.embedding_size))
        self.output_bias = self.add_weight(name="output_bias", shape=(self.vocab_size,), initializer="zeros")

    def call(self, sequence_output, masked_lm_positions, word_embeddings, add_bias=True):
        """Scores every word at every asked position.

        Args:
            sequence_output: float [B, S, H].
            masked_lm_positions: int [B, P], below S; None where sequence_output holds those positions alone.
            word_embeddings: float [V, E], the encoder's table.
            add_bias: whether `output_bias` is in the result. Without it, losses.masked_lm_sums adds it, and what
                stands between is half the size in half the precision.

        Returns:
            float32 [B, P, V], before softmax; in the compute dtype without the bias.
        """
        hidden = ops.cast(sequence_output, self.compute_dtype)
        if masked_lm_positions is not None:
            hidden = kernels.gather_positions(hidden, masked_lm_positions)
        hidden = kernels.project(hidden, ops.cast(self.transform.kernel, self.compute_dtype))
        hidden = self.activation(ops.cast(hidden, "float32") + ops.cast(self.transform.bias, "float32"))
        norm = self.layer_norm
        hidden = kernels.layer_norm(hidden, norm.gamma, norm.beta, norm.epsilon)
        table = ops.cast(word_embeddings, self.compute_dtype)
        flat = ops.reshape(ops.cast(hidden, self.compute_dtype), (-1, self.embedding_size))
        logits = ops.matmul(flat, ops.transpose(table))
        if add_bias:
            # To the two-dimensional product, of which TensorFlow makes it a part.
            logits = ops.cast(logits, "float32") + ops.cast(self.output_bias, "float32")
        return ops.reshape(logits, (*ops.shape(hidden)[:-1], self.vocab_size))

    def get_config(self):
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "embedding_size": self.embedding_size,
            "hidden_size": self.hidden_size,
            "hidden_act": self.hidden_act,
            "initializer_range": self.initializer_range,
        }
