"""The ALBERT encoder: E -> H, then L applications of a few blocks (paper section 3.1, cross-layer sharing).

Shapes: B batch, S sequence, E embedding, H hidden, L layers, G groups, P positions, N heads.
"""

import itertools

import keras
from keras import ops

from albert_tf import kernels
from albert_tf.layers.attention import SelfAttention
from albert_tf.layers.base import ConfiguredLayer
from albert_tf.layers.feed_forward import FeedForward
from albert_tf.layers.transformer_block import TransformerBlock


@keras.saving.register_keras_serializable("albert_tf")
class SharedEncoder(ConfiguredLayer):
    """Applies in layer l the blocks of group l * G // L, one after the other; with G = 1 the same block L times.

    Args:
        config: AlbertConfig, or the dict of one. Where `parameter_sharing` is not "all" every layer has a block
            object of its own, and those of a group have the shared half in common.
        remat: compute what happens inside a block again for its gradient, rather than keep it.
        constant_graph: apply the block of a group in a loop of the device, so that the graph, and the time to trace
            and to compile it, do not grow with L.
    """

    def __init__(self, config, remat=False, constant_graph=False, **kwargs):
        super().__init__(config, **kwargs)
        self.remat = remat
        self.constant_graph = constant_graph
        self.embedding_projection = None
        if self.config.embedding_size != self.config.hidden_size:
            self.embedding_projection = self.make_projection(self.config.hidden_size, "embedding_hidden_mapping_in")
        # blocks[row][inner]: a row for each group, or for each layer where layers do not share everything.
        self.blocks = self._make_blocks()

    def group_of_layer(self, layer):
        """The group whose parameters layer `layer` uses; by integers, as the official float form misrounds some."""
        return layer * self.config.num_hidden_groups // self.config.num_hidden_layers

    @property
    def num_applications(self):
        """The number of blocks that are applied one after the other in all layers."""
        return self.config.num_hidden_layers * self.config.inner_group_num

    def blocks_of_layer(self, layer):
        """The list of TransformerBlock that layer `layer` applies, one after the other."""
        return self.blocks[self._row_of_layer(layer)]

    def _row_of_layer(self, layer):
        return self.group_of_layer(layer) if self.config.parameter_sharing == "all" else layer

    def _make_blocks(self):
        config, shared = self.config, {}
        rows = config.num_hidden_groups if config.parameter_sharing == "all" else config.num_hidden_layers

        def part(kind, layer_class, name, row, inner):
            """A layer of its own, or where this kind is shared the one of the row's group."""
            key = (self.group_of_layer(row), inner) if config.parameter_sharing == kind else (kind, row, inner)
            if key not in shared:
                shared[key] = layer_class(config, dtype=self.dtype_policy, name=name)
            return shared[key]

        def block(row, inner):
            attention = part("attention", SelfAttention, "attention", row, inner)
            feed_forward = part("ffn", FeedForward, "feed_forward", row, inner)
            return TransformerBlock(attention, feed_forward, dtype=self.dtype_policy, name=f"block_{row}_{inner}")

        return [[block(row, inner) for inner in range(config.inner_group_num)] for row in range(rows)]

    def build(self, input_shape=None):
        if self.embedding_projection is not None:
            self.embedding_projection.build((None, None, self.config.embedding_size))
        for block in itertools.chain.from_iterable(self.blocks):
            block.build((None, None, self.config.hidden_size))

    def call(
        self,
        embedding_output,
        input_mask,
        positions=None,
        skip_padding=False,
        wanted=None,
        sequence_ids=None,
        seed=None,
        training=False,
        output_attentions=False,
    ):
        """Encodes.

        Args:
            embedding_output: float [B, S, E].
            input_mask: int [B, S], 1 for a token, 0 for padding.
            positions: int32 [B, P]: the only positions whose last hidden state is wanted; None: all.
            skip_padding: compute nothing for padding. Not in training, and not under XLA.
            wanted: int [B, S], with skip_padding: 1 where the last hidden state is wanted, padding or not; None: of
                tokens alone. That of the first position always is.
            sequence_ids: int [B, S], which of the sequences of its row each token is of, and attends to; None: there
                is one in a row. Not with skip_padding.
            seed: int32 [2] for dropout; every application of a block folds its own number into it.
            training: bool.
            output_attentions: return the probabilities of attention too. Not with skip_padding.

        Returns:
            tuple of L + 1 float [B, S, H]: the projected embeddings, then each layer's output; the last is [B, P, H]
            where `positions` are given. With `constant_graph` the first and the last of them only, with
            `skip_padding` the last only, of no meaning in such padding as is neither wanted nor [CLS].
            With `output_attentions` all of them, and after them `num_applications` float32 [B, N, S, S], of every
            block in the order of application.
        """
        config = self.config
        if skip_padding and training:
            raise ValueError("`skip_padding` is for evaluation and serving. Received training=True.")
        if skip_padding and sequence_ids is not None:
            raise ValueError("`skip_padding` is for one sequence in a row. Received sequence_ids.")
        if skip_padding and output_attentions:
            raise ValueError("`output_attentions` is of all positions. Received skip_padding=True.")
        if skip_padding:
            view = kernels.View.without_padding(input_mask, config.num_attention_heads, positions, wanted)
        else:
            draws = training and (config.hidden_dropout_prob or config.attention_probs_dropout_prob)
            view = kernels.View.of(input_mask, sequence_ids, seed=seed if draws else None, training=training)
        hidden = self.project_embeddings(view.strip(embedding_output))
        run = kernels.BlockRunner(view, self.compute_dtype, self.remat)
        attentions = []
        if output_attentions:
            hidden_states = self._apply_layers(_observed(run, view, attentions), hidden, positions)
        else:
            apply_layers = self._apply_layers_in_loops if self.constant_graph else self._apply_layers
            hidden_states = apply_layers(run, hidden, positions)
        if skip_padding:
            return (view.restore(hidden_states[-1]) if positions is None else hidden_states[-1],)
        return (*hidden_states, *attentions)

    def project_embeddings(self, embedding_output):
        """float [B, S, E] -> [B, S, H]; the same where both are as wide."""
        if self.embedding_projection is None:
            return embedding_output
        weights = self.embedding_projection.kernel, self.embedding_projection.bias
        return kernels.project(embedding_output, *(ops.cast(weight, self.compute_dtype) for weight in weights))

    def _apply_layers(self, run, hidden, positions):
        """The hidden states before the first layer and after each: a list. `positions` are those read of the last."""
        hidden_states = [hidden]
        for layer in range(self.config.num_hidden_layers):
            hidden = self._apply_layer(run, hidden, layer, positions)
            hidden_states.append(hidden)
        return hidden_states

    def _apply_layer(self, run, hidden, layer, positions):
        last = (self.config.num_hidden_layers - 1, self.config.inner_group_num - 1)
        for inner, block in enumerate(self.blocks_of_layer(layer)):
            read = positions if (layer, inner) == last else None
            hidden = run(block, hidden, layer * self.config.inner_group_num + inner, read)
        return hidden

    def _apply_layers_in_loops(self, run, hidden, positions):
        """The first and the last of what _apply_layers gives, layers of one group in a loop of the device."""
        first, last = hidden, self.config.num_hidden_layers - 1
        for row, group in itertools.groupby(range(last), self._row_of_layer):
            hidden = run.repeat(self.blocks[row], hidden, list(group))
        return [first, self._apply_layer(run, hidden, last, positions)]

    def get_config(self):
        return {**super().get_config(), "remat": self.remat, "constant_graph": self.constant_graph}


def _observed(run, view, attentions):
    """A BlockRunner as a function that first appends to a list the probabilities of the block's attention."""

    def apply(block, hidden, number, positions=None):
        attentions.append(block.attention.probabilities(hidden, view))
        return run(block, hidden, number, positions)

    return apply
