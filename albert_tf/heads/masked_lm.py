"""The masked-LM head: the words that stood where [MASK] stands.

Shapes: B batch, S sequence, P predictions, V vocabulary, E embedding, H hidden.
"""

import keras
from keras import ops

from albert_tf.layers.activations import get_activation
from albert_tf.layers.embeddings import make_initializer, make_layer_norm


def gather_positions(sequence, positions):
    """Picks positions out of each sequence: float [B, S, H], int [B, P] -> [B, P, H].

    The sequences are laid end to end and picked by row, which is one lookup (gather_indexes of the official code).
    """
    batch, length, hidden_size = ops.shape(sequence)
    rows = ops.arange(batch, dtype="int32")[:, None] * length + ops.cast(positions, "int32")
    return ops.take(ops.reshape(sequence, (-1, hidden_size)), rows, axis=0)


@keras.saving.register_keras_serializable("albert_tf")
class MaskedLMHead(keras.layers.Layer):
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
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range
        self.activation = get_activation(hidden_act)
        self.transform = keras.layers.Dense(
            embedding_size, kernel_initializer=make_initializer(initializer_range), name="transform"
        )
        self.layer_norm = make_layer_norm()

    def build(self, input_shape=None):
        self.transform.build((None, None, self.hidden_size))
        self.layer_norm.build((None, None, self.embedding_size))
        self.output_bias = self.add_weight(name="output_bias", shape=(self.vocab_size,), initializer="zeros")

    def call(self, sequence_output, masked_lm_positions, word_embeddings):
        """Scores every word at every asked position.

        Args:
            sequence_output: float [B, S, H].
            masked_lm_positions: int [B, P], below S.
            word_embeddings: float [V, E], the encoder's table.

        Returns:
            float32 [B, P, V], before softmax.
        """
        hidden = self.transform(gather_positions(sequence_output, masked_lm_positions))
        hidden = self.layer_norm(self.activation(hidden))
        table = ops.cast(word_embeddings, self.compute_dtype)
        logits = ops.matmul(hidden, ops.transpose(table))
        return ops.cast(logits, "float32") + ops.cast(self.output_bias, "float32")

    def get_config(self):
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "embedding_size": self.embedding_size,
            "hidden_size": self.hidden_size,
            "hidden_act": self.hidden_act,
            "initializer_range": self.initializer_range,
        }
