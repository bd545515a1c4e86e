"""Factorised embeddings: word + segment + position in E dimensions, LayerNorm, dropout.

Shapes: B batch, S sequence, V vocabulary, E embedding.
"""

import keras
from keras import ops

from albert_tf.kernels import chains
from albert_tf.layers.dropout import StatelessDropout
from albert_tf.layers.projection import Unquantized

# tf.contrib.layers.layer_norm, which the official code calls, uses this in float32.
LAYER_NORM_EPSILON = 1e-12


def make_initializer(initializer_range):
    """The official initial values: normal, cut off at two standard deviations (modeling.create_initializer)."""
    return keras.initializers.TruncatedNormal(stddev=initializer_range)


def make_layer_norm(dtype=None, name="layer_norm"):
    """The weights of a LayerNorm over the last axis, and the official epsilon; chains.py computes it, in float32."""
    return keras.layers.LayerNormalization(epsilon=LAYER_NORM_EPSILON, dtype=dtype, name=name)


def compute_weights(part, compute_dtype):
    """part.step_weights() with the kernels cast, for a part that is applied by itself."""
    kernels, vectors = part.step_weights()
    return [ops.cast(kernel, compute_dtype) for kernel in kernels], vectors


@keras.saving.register_keras_serializable("albert_tf")
class AlbertEmbeddings(Unquantized, keras.layers.Layer):
    """Sum of word, segment and position embeddings (paper section 3.1; modeling.embedding_postprocessor).

    Args:
        vocab_size: V.
        embedding_size: E.
        type_vocab_size: number of segments.
        max_position_embeddings: longest sequence.
        initializer_range: standard deviation of the initial values.
        dropout_rate: of the output.
    """

    def __init__(
        self,
        vocab_size,
        embedding_size,
        type_vocab_size=2,
        max_position_embeddings=512,
        initializer_range=0.02,
        dropout_rate=0.0,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.type_vocab_size = type_vocab_size
        self.max_position_embeddings = max_position_embeddings
        self.initializer_range = initializer_range
        self.dropout_rate = dropout_rate
        self.layer_norm = make_layer_norm(self.dtype_policy)
        self.dropout = StatelessDropout(dropout_rate, site=0, name="dropout")

    def build(self, input_shape=None):
        def add_table(name, rows):
            initializer = make_initializer(self.initializer_range)
            return self.add_weight(name=name, shape=(rows, self.embedding_size), initializer=initializer)

        self.word_embeddings = add_table("word_embeddings", self.vocab_size)
        self.token_type_embeddings = add_table("token_type_embeddings", self.type_vocab_size)
        self.position_embeddings = add_table("position_embeddings", self.max_position_embeddings)
        self.layer_norm.build((None, None, self.embedding_size))

    def call(self, input_ids, segment_ids, position_ids=None, inputs_embeds=None, seed=None, training=False):
        """Looks up and sums.

        Args:
            input_ids: int32 [B, S], below V; None where `inputs_embeds` are given.
            segment_ids: int32 [B, S], below type_vocab_size.
            position_ids: int32 [B, S], below max_position_embeddings; None: 0 to S - 1.
            inputs_embeds: float [B, S, E], in place of the word embeddings; None: those of input_ids.
            seed: int32 [2] for dropout.
            training: bool.

        Returns:
            float [B, S, E] in the compute dtype.
        """
        words = self._words(input_ids) if inputs_embeds is None else ops.cast(inputs_embeds, "float32")
        # One-hot times table: its gradient is a small dense matrix product, not a scatter of B * S rows into two.
        segments = ops.matmul(
            ops.one_hot(segment_ids, self.type_vocab_size, dtype="float32"),
            ops.cast(self.token_type_embeddings, "float32"),
        )
        positions = self._positions(position_ids, ops.shape(segment_ids)[1])
        norm = self.layer_norm
        normalised = chains.layer_norm(words + segments + positions, norm.gamma, norm.beta, norm.epsilon)
        return self.dropout(ops.cast(normalised, self.compute_dtype), seed=seed, training=training)

    def _words(self, input_ids):
        return ops.cast(ops.take(self.word_embeddings, input_ids, axis=0), "float32")

    def _positions(self, position_ids, sequence_length):
        """float32 [B, S, E], or of the first S positions [S, E]."""
        if position_ids is not None:
            return ops.cast(ops.take(self.position_embeddings, position_ids, axis=0), "float32")
        if isinstance(sequence_length, int) and sequence_length > self.max_position_embeddings:
            raise ValueError(
                "The sequence must not be longer than `max_position_embeddings`. Received a sequence of "
                f"{sequence_length} tokens and max_position_embeddings={self.max_position_embeddings}."
            )
        return ops.cast(self.position_embeddings[:sequence_length], "float32")

    def get_config(self):
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "embedding_size": self.embedding_size,
            "type_vocab_size": self.type_vocab_size,
            "max_position_embeddings": self.max_position_embeddings,
            "initializer_range": self.initializer_range,
            "dropout_rate": self.dropout_rate,
        }
