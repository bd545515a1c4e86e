"""The encoder as nodes of ONNX, from the config and the named weights alone: the formulas of kernels/formulas.py.

Shapes: B batch, S sequence, E embedding, H hidden, I intermediate, N heads, D = H / N.
"""

import math

import numpy as np

from albert_tf.config import AlbertConfig
from albert_tf.kernels.formulas import MASKED_SCORE
from albert_tf.layers.base import LAYER_NORM_EPSILON
from albert_tf.portable.onnx_graph import OnnxGraph

_PREFIX = "albert"
# Heads for which that many products cost less than keys and values of all tokens.
_MOST_QUERIES = 16


class OnnxEncoder:
    """The nodes of an AlbertModel.

    Args:
        graph: where they go.
        config: of the model.

    Attributes:
        hidden_states: names of the float32 [B, S, H] before the first layer and after each, once `encode` was called.
        attentions: of the probabilities float32 [B, N, S, S] of each application of a block, likewise.
    """

    def __init__(self, graph: OnnxGraph, config: AlbertConfig):
        self._graph = graph
        self._config = config
        self.hidden_states: list[str] = []
        self.attentions: list[str] = []

    def encode(self, input_ids: str, input_mask: str, segment_ids: str, first_only: bool = False) -> str:
        """Adds the nodes from ids to hidden states.

        Args:
            input_ids, input_mask, segment_ids: names of int32 [B, S].
            first_only: compute of the last layer the first position alone, with the same result.

        Returns:
            the name of float32 [B, S, H], or [B, 1, H].
        """
        hidden, attention_bias = self.begin(input_ids, input_mask, segment_ids)
        self.hidden_states, self.attentions = [hidden], []
        last = self._config.num_hidden_layers - 1
        for number in range(last + 1):
            hidden = self.apply_layer(number, hidden, attention_bias, first_only and number == last)
            self.hidden_states.append(hidden)
        return hidden

    def begin(self, input_ids: str, input_mask: str, segment_ids: str) -> tuple[str, str]:
        """Adds the nodes before the first layer.

        Args:
            input_ids, input_mask, segment_ids: names of int32 [B, S].

        Returns:
            the names of the hidden states, float32 [B, S, H], and of what is added to scores, float32 [B, 1, 1, S].
        """
        graph, config = self._graph, self._config
        hidden = self._embeddings(input_ids, segment_ids)
        if config.embedding_size != config.hidden_size:
            hidden = self.dense(hidden, f"{_PREFIX}/encoder/embedding_hidden_mapping_in")
        mask = graph.add("Cast", input_mask, to=graph.float32)
        mask = graph.add("Sub", graph.constant(1.0, "float32"), mask)
        mask = graph.add("Mul", mask, graph.constant(MASKED_SCORE, "float32"))
        return hidden, graph.add("Unsqueeze", mask, graph.constant([1, 2]))

    def apply_layer(self, number: int, hidden: str, attention_bias: str, first_only: bool = False) -> str:
        """Adds the nodes of a layer by its number from 0: float32 [B, S, H] -> the same, or [B, 1, H]."""
        last = self._config.inner_group_num - 1
        for inner in range(last + 1):
            hidden = self.apply_block(number, inner, hidden, attention_bias, first_only and inner == last)
        return hidden

    def apply_block(self, number: int, inner: int, hidden: str, attention_bias: str, first_only: bool = False) -> str:
        """Adds the nodes of a layer's block, by its number from 0: float32 [B, S, H] -> the same, or [B, 1, H]."""
        name = self._part("attention", number, inner)
        if first_only and self._config.num_attention_heads <= _MOST_QUERIES and self._graph.multiplies_floats:
            attended = self._attend_from_first(name, hidden, attention_bias)
        else:
            wanted = self.first_positions(hidden) if first_only else hidden
            attended = self._attend(name, wanted, hidden, attention_bias)
        return self._feed_forward(self._part("feed_forward", number, inner), attended)

    @property
    def has_one_layer(self) -> bool:
        """True where all layers have the same weights."""
        layers = range(self._config.num_hidden_layers)
        return len({(self._part("attention", at, 0), self._part("feed_forward", at, 0)) for at in layers}) == 1

    def pool(self, hidden: str) -> str:
        """The pooled output: float32 [B, S, H] -> [B, H]."""
        first = self._graph.add("Squeeze", self.first_positions(hidden), self._graph.constant([1]))
        return self._graph.add("Tanh", self.dense(first, f"{_PREFIX}/pooler"))

    def mean(self, hidden: str, mask: str) -> str:
        """The mean over the pieces of each text: float32 [B, S, H] and [B, S], 1 for a token -> [B, H]."""
        graph = self._graph
        count = graph.add("ReduceSum", mask, graph.constant([1]), keepdims=1)
        total = graph.add("MatMul", graph.add("Unsqueeze", mask, graph.constant([1])), hidden)
        total = graph.add("Squeeze", total, graph.constant([1]))
        return graph.add("Div", total, graph.add("Max", count, graph.constant(1.0, "float32")))

    def first_positions(self, hidden: str) -> str:
        """[B, S, H] -> [B, 1, H]."""
        graph = self._graph
        return graph.once("Slice", hidden, *(graph.constant([at]) for at in (0, 1, 1)))

    def dense(self, x: str, name: str) -> str:
        """x @ kernel + bias of a layer by its name."""
        graph = self._graph
        return graph.product(x, graph.kernel(f"{name}/kernel"), graph.vector(f"{name}/bias"))

    def layer_norm(self, x: str, name: str) -> str:
        """LayerNorm over the last axis by the weights of a name."""
        gamma, beta = (self._graph.vector(f"{name}/{part}") for part in ("gamma", "beta"))
        return self._graph.add("LayerNormalization", x, gamma, beta, axis=-1, epsilon=LAYER_NORM_EPSILON)

    def activate(self, x: str) -> str:
        """The config's activation."""
        kinds = {"gelu": "tanh", "gelu_new": "tanh", "gelu_erf": "none"}
        act = self._config.hidden_act
        if act in kinds:
            return self._graph.add("Gelu", x, approximate=kinds[act])
        return x if act == "linear" else self._graph.add({"relu": "Relu", "tanh": "Tanh"}[act], x)

    def word_table(self):
        """The word embeddings, as graph.table gives them."""
        return self._graph.table(f"{_PREFIX}/embeddings/word_embeddings")

    def _embeddings(self, input_ids: str, segment_ids: str) -> str:
        graph, name = self._graph, f"{_PREFIX}/embeddings"
        words = graph.lookup(self.word_table(), input_ids)
        segments = graph.add("Gather", graph.vector(f"{name}/token_type_embeddings"), segment_ids)
        length = graph.add("Shape", input_ids, start=1, end=2)
        begin = graph.constant([0])
        positions = graph.add("Slice", graph.vector(f"{name}/position_embeddings"), begin, length, begin)
        return self.layer_norm(graph.add("Add", graph.add("Add", words, segments), positions), f"{name}/layer_norm")

    def _part(self, kind: str, layer: int, inner: int) -> str:
        """The name under which a half of a block is stored: that of the first block that has it."""
        config = self._config
        group = layer * config.num_hidden_groups // config.num_hidden_layers
        shared = {"attention": "attention", "feed_forward": "ffn"}[kind]
        if config.parameter_sharing == "all":
            row = group
        elif config.parameter_sharing == shared:
            # The first layer of the group.
            row = -(-group * config.num_hidden_layers // config.num_hidden_groups)
        else:
            row = layer
        return f"{_PREFIX}/encoder/block_{row}_{inner}/{kind}"

    def _attend(self, name: str, wanted: str, hidden: str, attention_bias: str) -> str:
        """LayerNorm(wanted + Attention(wanted, hidden)): [B, P, H], [B, S, H] -> [B, P, H]."""
        graph, size = self._graph, self._config.hidden_size // self._config.num_attention_heads
        if wanted == hidden:
            query, key, value = self._project(name, hidden, ("query", "key", "value"))
        else:
            (query,) = self._project(name, wanted, ("query",))
            key, value = self._project(name, hidden, ("key", "value"))
        query = graph.add("Mul", query, graph.constant(1.0 / math.sqrt(size), "float32"))
        query, value = self._part_heads(query, [0, 2, 1, 3]), self._part_heads(value, [0, 2, 1, 3])
        scores = graph.matmul(query, self._part_heads(key, [0, 2, 3, 1]))
        probabilities = graph.add("Softmax", graph.add("Add", scores, attention_bias), axis=-1)
        self.attentions.append(probabilities)
        context = graph.add("Transpose", graph.matmul(probabilities, value), perm=[0, 2, 1, 3])
        context = graph.add("Reshape", context, graph.constant([0, 0, self._config.hidden_size]))
        return self._add_context(name, context, wanted)

    def _attend_from_first(self, name: str, hidden: str, attention_bias: str) -> str:
        """The same of the first position alone, [B, 1, H], without keys and values of all tokens.

        See kernels.tensorflow_inference.attention_at_few: a product for each head rather than for each token.
        """
        graph, heads, width = self._graph, self._config.num_attention_heads, self._config.hidden_size
        first = self.first_positions(hidden)
        own = graph.constant(np.repeat(np.eye(heads), width // heads, axis=1).tolist(), "float32")
        (query,) = self._project(name, first, ("query",))
        query = graph.add("Mul", query, graph.constant(1.0 / math.sqrt(width // heads), "float32"))
        query = graph.product(graph.add("Mul", query, own), graph.transposed(graph.kernel(f"{name}/key_kernel")))
        scores = graph.matmul(query, graph.add("Transpose", hidden, perm=[0, 2, 1]))
        seen = graph.add("Squeeze", attention_bias, graph.constant([1]))
        context = graph.matmul(graph.add("Softmax", graph.add("Add", scores, seen), axis=-1), hidden)
        (context,) = self._project(name, context, ("value",))
        context = graph.add("ReduceSum", graph.add("Mul", context, own), graph.constant([1]), keepdims=1)
        return self._add_context(name, context, first)

    def _add_context(self, name: str, context: str, wanted: str) -> str:
        total = self._graph.add("Add", self.dense(context, f"{name}/output"), wanted)
        return self.layer_norm(total, f"{name}/layer_norm")

    def _project(self, name: str, hidden: str, parts: tuple[str, ...]) -> list[str]:
        """Projections [B, S, H] by one product: a list of as many."""
        graph = self._graph
        kernels = [graph.kernel(f"{name}/{part}_kernel") for part in parts]
        biases = [graph.vector(f"{name}/{part}_bias") for part in parts]
        if len(parts) == 1:
            return [graph.product(hidden, kernels[0], biases[0])]
        both = graph.product(hidden, graph.side_by_side(kernels), graph.once("Concat", *biases, axis=0))
        return list(graph.add("Split", both, count=len(parts), axis=-1, num_outputs=len(parts)))

    def _part_heads(self, x: str, order: list[int]) -> str:
        """[B, S, H] -> [B, S, N, D] in an order of these axes."""
        heads = self._config.num_attention_heads
        parted = self._graph.add("Reshape", x, self._graph.constant([0, 0, heads, self._config.hidden_size // heads]))
        return self._graph.add("Transpose", parted, perm=order)

    def _feed_forward(self, name: str, hidden: str) -> str:
        inner = self.activate(self.dense(hidden, f"{name}/intermediate"))
        total = self._graph.add("Add", self.dense(inner, f"{name}/output"), hidden)
        return self.layer_norm(total, f"{name}/layer_norm")
