"""Factorised embeddings: word + segment + position in E dimensions, LayerNorm, dropout.

Shapes: B batch, S sequence, V vocabulary, E embedding.
"""

import keras
from keras import ops

from albert_tf import kernels
from albert_tf.layers.base import ConfiguredLayer, make_initializer, make_layer_norm
from albert_tf.layers.dropout import StatelessDropout


@keras.saving.register_keras_serializable("albert_tf")
class AlbertEmbeddings(ConfiguredLayer):
    """Sum of word, segment and position embeddings (paper section 3.1; modeling.embedding_postprocessor).

    Args:
        config: AlbertConfig, or the dict of one.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layer_norm = make_layer_norm(self.dtype_policy)
        self.dropout = StatelessDropout(self.config.hidden_dropout_prob, site=0, name="dropout")

    def build(self, input_shape=None):
        def add_table(name, rows):
            initializer = make_initializer(self.config.initializer_range)
            return self.add_weight(name=name, shape=(rows, self.config.embedding_size), initializer=initializer)

        self.word_embeddings = add_table("word_embeddings", self.config.vocab_size)
        self.token_type_embeddings = add_table("token_type_embeddings", self.config.type_vocab_size)
        self.position_embeddings = add_table("position_embeddings", self.config.max_position_embeddings)
        self.layer_norm.build((None, None, self.config.embedding_size))

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
            ops.one_hot(segment_ids, self.config.type_vocab_size, dtype="float32"),
            ops.cast(self.token_type_embeddings, "float32"),
        )
        positions = self._positions(position_ids, ops.shape(segment_ids)[1])
        norm = self.layer_norm
        normalised = kernels.layer_norm(words + segments + positions, norm.gamma, norm.beta, norm.epsilon)
        return self.dropout(ops.cast(normalised, self.compute_dtype), seed=seed, training=training)

    def _words(self, input_ids):
        return ops.cast(ops.take(self.word_embeddings, input_ids, axis=0), "float32")

    def _positions(self, position_ids, sequence_length):
        """float32 [B, S, E], or of the first S positions [S, E]."""
        longest = self.config.max_position_embeddings
        if position_ids is not None:
            return ops.cast(ops.take(self.position_embeddings, position_ids, axis=0), "float32")
        if isinstance(sequence_length, int) and sequence_length > longest:
            raise ValueError(
                "The sequence must not be longer than `max_position_embeddings`. Received a sequence of "
                f"{sequence_length} tokens and max_position_embeddings={longest}."
            )
        return ops.cast(self.position_embeddings[:sequence_length], "float32")
