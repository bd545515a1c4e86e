"""The ALBERT encoder: E -> H, then L applications of a few blocks (paper section 3.1, cross-layer sharing).

Shapes: B batch, S sequence, E embedding, H hidden, L layers, G groups.
"""

import keras

from albert_tf.config import AlbertConfig
from albert_tf.layers import backend_ops
from albert_tf.layers.attention import SelfAttention, make_attention_bias
from albert_tf.layers.embeddings import make_initializer
from albert_tf.layers.feed_forward import FeedForward
from albert_tf.layers.transformer_block import TransformerBlock


@keras.saving.register_keras_serializable("albert_tf")
class SharedEncoder(keras.layers.Layer):
    """Applies in layer l the blocks of group l * G // L, one after the other; with G = 1 the same block L times.

    Args:
        config: AlbertConfig, or the dict of one. Where `parameter_sharing` is not "all" every layer has a block
            object of its own, and those of a group have the shared half in common.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = AlbertConfig.from_dict(config) if isinstance(config, dict) else config
        self.embedding_projection = None
        if self.config.embedding_size != self.config.hidden_size:
            self.embedding_projection = keras.layers.Dense(
                self.config.hidden_size,
                kernel_initializer=make_initializer(self.config.initializer_range),
                name="embedding_hidden_mapping_in",
            )
        # blocks[row][inner]: a row for each group, or for each layer where layers do not share everything.
        self.blocks = self._make_blocks()

    def group_of_layer(self, layer):
        """Which group's parameters layer `layer` uses; by integers, the official float form misrounds some."""
        return layer * self.config.num_hidden_groups // self.config.num_hidden_layers

    def _row_of_layer(self, layer):
        return self.group_of_layer(layer) if self.config.parameter_sharing == "all" else layer

    def _make_blocks(self):
        config = self.config
        rows = config.num_hidden_groups if config.parameter_sharing == "all" else config.num_hidden_layers
        blocks, shared = [], {}

        def reuse(kind, make, row, inner):
            if config.parameter_sharing != kind:
                return make(kind)
            key = (self.group_of_layer(row), inner)
            return shared[key] if key in shared else shared.setdefault(key, make(kind))

        for row in range(rows):
            blocks.append(
                [
                    TransformerBlock(
                        reuse("attention", self._make_part, row, inner),
                        reuse("ffn", self._make_part, row, inner),
                        name=f"block_{row}_{inner}",
                    )
                    for inner in range(config.inner_group_num)
                ]
            )
        return blocks

    def _make_part(self, kind):
        config = self.config
        if kind == "attention":
            return SelfAttention(
                config.hidden_size,
                config.num_attention_heads,
                initializer_range=config.initializer_range,
                hidden_dropout_rate=config.hidden_dropout_prob,
                attention_dropout_rate=config.attention_probs_dropout_prob,
                name="attention",
            )
        return FeedForward(
            config.hidden_size,
            config.intermediate_size,
            hidden_act=config.hidden_act,
            initializer_range=config.initializer_range,
            dropout_rate=config.hidden_dropout_prob,
            name="feed_forward",
        )

    def build(self, input_shape=None):
        if self.embedding_projection is not None:
            self.embedding_projection.build((None, None, self.config.embedding_size))
        for group in self.blocks:
            for block in group:
                block.build((None, None, self.config.hidden_size))

    def call(self, embedding_output, input_mask, seed=None, training=False):
        """Encodes.

        Args:
            embedding_output: float [B, S, E].
            input_mask: int [B, S], 1 for a token, 0 for padding.
            seed: int32 [2] for dropout; every application of a block folds its own number into it.
            training: bool.

        Returns:
            tuple of L + 1 float [B, S, H]: the projected embeddings, then each layer's output.
        """
        hidden = embedding_output
        if self.embedding_projection is not None:
            hidden = self.embedding_projection(hidden)
        attention_bias = make_attention_bias(input_mask, "float32")
        # Once a step for each set of kernels, however many layers use it.
        projections = {id(b.attention): b.attention.fuse_projections() for group in self.blocks for b in group}
        hidden_states = [hidden]
        draws = training and (self.config.hidden_dropout_prob or self.config.attention_probs_dropout_prob)
        for layer in range(self.config.num_hidden_layers):
            for inner, block in enumerate(self.blocks[self._row_of_layer(layer)]):
                application = layer * self.config.inner_group_num + inner
                hidden = block(
                    hidden,
                    attention_bias,
                    projections=projections[id(block.attention)],
                    seed=backend_ops.fold_in(seed, application) if draws else None,
                    training=training,
                )
            hidden_states.append(hidden)
        return tuple(hidden_states)

    def get_config(self):
        return {**super().get_config(), "config": self.config.to_dict()}
