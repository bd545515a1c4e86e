"""The ALBERT encoder: E -> H, then L applications of a few blocks (paper section 3.1, cross-layer sharing).

Shapes: B batch, S sequence, E embedding, H hidden, L layers, G groups, P positions.
"""

import itertools

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.kernels import chains
from albert_tf.kernels.block_runner import BlockRunner
from albert_tf.kernels.unpadding import Unpadding
from albert_tf.layers.attention import SelfAttention
from albert_tf.layers.embeddings import make_initializer
from albert_tf.layers.feed_forward import FeedForward
from albert_tf.layers.projection import Projection, Unquantized
from albert_tf.layers.transformer_block import TransformerBlock


@keras.saving.register_keras_serializable("albert_tf")
class SharedEncoder(Unquantized, keras.layers.Layer):
    """Applies in layer l the blocks of group l * G // L, one after the other; with G = 1 the same block L times.

    Args:
        config: AlbertConfig, or the dict of one. Where `parameter_sharing` is not "all" every layer has a block
            object of its own, and those of a group have the shared half in common.
        remat: compute what happens inside a block again for its gradient, rather than keep it.
        constant_graph: apply the block of a group in a loop of the device, so that the graph, and the time to trace
            and to compile it, do not grow with L.
    """

    def __init__(self, config, remat=False, constant_graph=False, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.remat = remat
        self.constant_graph = constant_graph
        self.config = AlbertConfig.from_dict(config) if isinstance(config, dict) else config
        self.embedding_projection = None
        if self.config.embedding_size != self.config.hidden_size:
            self.embedding_projection = Projection(
                self.config.hidden_size,
                kernel_initializer=make_initializer(self.config.initializer_range),
                dtype=self.dtype_policy,
                name="embedding_hidden_mapping_in",
            )
        # blocks[row][inner]: a row for each group, or for each layer where layers do not share everything.
        self.blocks = self._make_blocks()

    def group_of_layer(self, layer):
        """The group whose parameters layer `layer` uses; by integers, as the official float form misrounds some."""
        return layer * self.config.num_hidden_groups // self.config.num_hidden_layers

    def blocks_of_layer(self, layer):
        """The list of TransformerBlock that layer `layer` applies, one after the other."""
        return self.blocks[self._row_of_layer(layer)]

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
                        dtype=self.dtype_policy,
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
                dtype=self.dtype_policy,
                name="attention",
            )
        return FeedForward(
            config.hidden_size,
            config.intermediate_size,
            hidden_act=config.hidden_act,
            initializer_range=config.initializer_range,
            dropout_rate=config.hidden_dropout_prob,
            dtype=self.dtype_policy,
            name="feed_forward",
        )

    def build(self, input_shape=None):
        if self.embedding_projection is not None:
            self.embedding_projection.build((None, None, self.config.embedding_size))
        for group in self.blocks:
            for block in group:
                block.build((None, None, self.config.hidden_size))

    def call(
        self,
        embedding_output,
        input_mask,
        positions=None,
        skip_padding=False,
        wanted=None,
        seed=None,
        training=False,
    ):
        """Encodes.

        Args:
            embedding_output: float [B, S, E].
            input_mask: int [B, S], 1 for a token, 0 for padding.
            positions: int32 [B, P]: the only positions whose last hidden state is wanted; None: all.
            skip_padding: compute nothing for padding. Not in training, and not under XLA.
            wanted: int [B, S], with skip_padding: 1 where the last hidden state is wanted, padding or not; None: of
                tokens alone. That of the first position always is.
            seed: int32 [2] for dropout; every application of a block folds its own number into it.
            training: bool.

        Returns:
            tuple of L + 1 float [B, S, H]: the projected embeddings, then each layer's output; the last is [B, P, H]
            where `positions` are given. With `constant_graph` the first and the last of them only, with
            `skip_padding` the last only, of no meaning in such padding as is neither wanted nor [CLS].
        """
        if skip_padding and training:
            raise ValueError("`skip_padding` is for evaluation and serving. Received training=True.")
        unpadding = None
        if skip_padding:
            unpadding = Unpadding(input_mask, self.config.num_attention_heads, positions, wanted)
        hidden = unpadding.strip(embedding_output) if skip_padding else embedding_output
        if self.embedding_projection is not None:
            projection = self.embedding_projection
            kernel, bias = (ops.cast(weight, self.compute_dtype) for weight in (projection.kernel, projection.bias))
            hidden = chains.project(hidden, kernel, bias)
        draws = training and (self.config.hidden_dropout_prob or self.config.attention_probs_dropout_prob)
        run = BlockRunner(
            attention_bias=chains.make_attention_bias(input_mask, "float32"),
            compute_dtype=self.compute_dtype,
            unpadding=unpadding,
            seed=seed if draws else None,
            training=training,
            remat=self.remat,
        )
        apply_layers = self._apply_layers_in_loops if self.constant_graph else self._apply_layers
        hidden_states = apply_layers(run, hidden, positions)
        if skip_padding:
            hidden = hidden_states[-1]
            return (hidden if positions is not None else unpadding.restore(hidden),)
        return tuple(hidden_states)

    def _apply_layers(self, run, hidden, positions):
        """The hidden states before the first layer and after each, before padding is put back: a list."""
        hidden_states, layers = [hidden], range(self.config.num_hidden_layers)
        for layer in layers:
            read = positions if layer == layers[-1] else None
            hidden = run(self.blocks_of_layer(layer), hidden, layer, read)
            hidden_states.append(hidden)
        return hidden_states

    def _apply_layers_in_loops(self, run, hidden, positions):
        """The same, of which only the first and the last are to be had."""
        first, last = hidden, self.config.num_hidden_layers - 1
        for row, group in itertools.groupby(range(last), self._row_of_layer):
            hidden = run.repeat(self.blocks[row], hidden, list(group))
        return [first, run(self.blocks_of_layer(last), hidden, last, positions)]

    def get_config(self):
        return {
            **super().get_config(),
            "config": self.config.to_dict(),
            "remat": self.remat,
            "constant_graph": self.constant_graph,
        }
