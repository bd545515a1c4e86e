"""A model with exits as nodes of ONNX: layer by layer, and texts that leave are no longer computed.

Where all layers have the same weights they are applied in a Loop, else one after another, each in an If that asks
whether a text is still inside. models.early_exit does the same in TensorFlow.

Shapes: B batch, b texts that are still inside, S sequence, H hidden, L layers, C classes.
"""

import functools
import math

from albert_tf.config import AlbertConfig
from albert_tf.heads.exit_names import LAYERS, exit_name
from albert_tf.heads.exits import ExitRule
from albert_tf.heads.pooling import POOLED
from albert_tf.portable.interface import IDS, Interface, TensorForm
from albert_tf.portable.onnx_encoder import OnnxEncoder
from albert_tf.portable.onnx_graph import OnnxGraph

# Names of values, as they go from one layer to the next: of all texts their logits and layers, of those inside their
# hidden states, what is added to scores, their rows, and what the rule remembers of them.
_State = list[str]
_LOGITS, _CLASSIFIER = "logits", "classifier"


class OnnxExits:
    """The nodes of a model with exits.

    Args:
        graph: where they go.
        config: of the model.
        encoder: of the same graph.
        rule: when a text leaves.
    """

    def __init__(self, graph: OnnxGraph, config: AlbertConfig, encoder: OnnxEncoder, rule: ExitRule):
        self._graph, self._config, self._encoder, self._rule = graph, config, encoder, rule
        self._last = config.num_hidden_layers - 1

    def outputs(self, interface: Interface) -> dict[str, str]:
        """Adds all nodes; {"logits": name of float32 [B, C], "layers": name of int32 [B]}."""
        graph = self._graph
        num_labels = next(form.axes[1] for form in interface.outputs if form.name == _LOGITS)
        hidden, attention_bias = self._encoder.begin(*IDS)
        batch = graph.add("Shape", IDS[0], start=0, end=1)
        rows = graph.add("Range", graph.constant(0), graph.add("Squeeze", batch), graph.constant(1))
        logits = graph.add("ConstantOfShape", graph.add("Concat", batch, graph.constant([num_labels]), axis=0))
        state = [logits, self._zeros(rows), hidden, attention_bias, rows, *self._before_exits(rows, num_labels)]
        forms = self._forms(num_labels)
        first_exit = min(self._rule.first_exit, self._last)
        for number in range(first_exit - 1):
            state = self._stay(number, state)
        state = self._leave(first_exit - 1, graph.constant(first_exit), self._exit_weights(first_exit), state)
        if self._encoder.has_one_layer and self._last > first_exit:
            state = graph.loop(self._last - first_exit, state, forms, functools.partial(self._turn, first_exit))
        else:
            for number in range(first_exit, self._last):
                state = self._next_if_any(number, state, forms)
        found = graph.choose(self._is_any(state), forms[:2], lambda: self._last_layer(state), state[:2])
        return {_LOGITS: found[0], LAYERS: graph.add("Cast", found[1], to=graph.int32)}

    def _turn(self, first_exit: int, turn: str, state: _State) -> tuple[str, _State]:
        """Adds one turn of the loop after the first exit: (name of whether there is another one, the state after)."""
        graph = self._graph
        kernels, biases = (
            graph.stack(f"exits/{part}", [exit_name(layer, part) for layer in range(1, self._last + 1)])
            for part in ("kernel", "bias")
        )
        number = graph.add("Add", turn, graph.constant(first_exit))
        weights = graph.add("Gather", kernels, number), graph.add("Gather", biases, number)
        after = self._finish_and_leave(0, graph.add("Add", number, graph.constant(1)), weights, state)
        return self._is_any(after), after

    def _next_if_any(self, number: int, state: _State, forms: list[TensorForm]) -> _State:
        """The state after the exit of a layer by its number from 0, which is computed only if a text is inside."""

        def then() -> _State:
            count = self._graph.constant(number + 1)
            return self._finish_and_leave(number, count, self._exit_weights(number + 1), state)

        # Where no text is inside there is nothing to copy but logits and layers.
        return self._graph.choose(self._is_any(state), forms, then, state)

    def _exit_weights(self, layer: int) -> tuple[str, ...]:
        """The names of an exit's kernel [H, C] and bias [C]; layers are counted from 1."""
        return tuple(self._graph.vector(exit_name(layer, part)) for part in ("kernel", "bias"))

    def _stay(self, number: int, state: _State) -> _State:
        """The state after a layer, by its number from 0, by whose exit no text leaves yet."""
        logits, layers, hidden, attention_bias, rows, *remembered = state
        hidden = self._encoder.apply_layer(number, hidden, attention_bias)
        if self._rule.remembers:
            vectors = self._read_by_exit(hidden, attention_bias)
            _, remembered = self._decide(self._scores(vectors, self._exit_weights(number + 1)), remembered)
        return [logits, layers, hidden, attention_bias, rows, *remembered]

    def _finish_and_leave(self, number: int, count: str, weights: tuple[str, ...], state: _State) -> _State:
        """Adds what was left over of the layer before, and then as _leave does."""
        return self._leave(
            number, count, weights, self._finish(0 if self._encoder.has_one_layer else number - 1, state)
        )

    def _finish(self, number: int, state: _State) -> _State:
        """The state after what _leave left over of a layer by its number from 0."""
        logits, layers, hidden, attention_bias, *rest = state
        if self._rule.asks_first:
            hidden = self._encoder.apply_block(number, self._config.inner_group_num - 1, hidden, attention_bias)
        return [logits, layers, hidden, attention_bias, *rest]

    def _leave(self, number: int, count: str, weights: tuple[str, ...], state: _State) -> _State:
        """The state after a layer and its exit; if the rule asks first, but for the layer's last block, of which [CLS]
        alone is computed.

        Args:
            number: of the layer, from 0.
            count: name of the layers that a text has then, int64 [].
            weights: names of the exit's kernel [H, C] and bias [C].
            state: before it.
        """
        graph, last = self._graph, self._config.inner_group_num - 1
        logits, layers, hidden, attention_bias, rows, *remembered = state
        for inner in range(last if self._rule.asks_first else last + 1):
            hidden = self._encoder.apply_block(number, inner, hidden, attention_bias)
        asked = hidden
        if self._rule.asks_first:
            asked = self._encoder.apply_block(number, last, hidden, attention_bias, first_only=True)
        found = self._scores(self._read_by_exit(asked, attention_bias), weights)
        done, remembered = self._decide(found, remembered)
        # Not by Compress, of whose results OpenVINO knows no number of axes.
        stay = graph.add("Squeeze", graph.add("NonZero", graph.add("Not", done)), graph.constant([0]))
        inside = [hidden, attention_bias, rows, *remembered]
        return [
            *self._answer(logits, layers, rows, found, count),
            *(graph.add("Gather", value, stay, axis=0) for value in inside),
        ]

    def _last_layer(self, state: _State) -> list[str]:
        """The logits and the layers of all texts, those inside after the last layer, computed for [CLS] alone."""
        graph = self._graph
        logits, layers, hidden, attention_bias, rows, *_ = self._finish(self._last - 1, state)
        first = self._encoder.apply_layer(self._last, hidden, attention_bias, first_only=True)
        found = self._scores(
            self._encoder.pool(first), tuple(graph.vector(f"{_CLASSIFIER}/{part}") for part in ("kernel", "bias"))
        )
        return self._answer(logits, layers, rows, found, graph.constant(self._last + 1))

    def _read_by_exit(self, hidden: str, attention_bias: str) -> str:
        """The vector of each text that an exit reads, [b, H], of all hidden states, or of [CLS] alone."""
        if self._rule.pooling == POOLED:
            return self._encoder.pool(hidden)
        graph = self._graph
        is_token = graph.add("GreaterOrEqual", attention_bias, graph.constant(0.0, "float32"))
        mask = graph.add("Cast", graph.add("Squeeze", is_token, graph.constant([1, 2])), to=graph.float32)
        return self._encoder.mean(hidden, mask)

    def _scores(self, vectors: str, weights: tuple[str, ...]) -> str:
        """The logits of an exit, or of the classifier, [b, C], of what it reads, [b, H]."""
        return self._graph.add("Add", self._graph.add("MatMul", vectors, weights[0]), weights[1])

    def _answer(self, logits: str, layers: str, rows: str, found: str, count: str) -> list[str]:
        """Logits and layers of all texts, with what was found for those of these rows."""
        graph = self._graph
        places = graph.add("Unsqueeze", rows, graph.constant([-1]))
        counts = graph.add("Expand", count, graph.add("Shape", rows))
        return [graph.add("ScatterND", logits, places, found), graph.add("ScatterND", layers, places, counts)]

    def _decide(self, logits: str, remembered: list[str]) -> tuple[str, list[str]]:
        """ExitRule.step: which texts leave, bool [b], and what is remembered of each."""
        graph, rule = self._graph, self._rule
        if rule.confidence is not None:
            at_least = graph.constant(rule.confidence, "float32")
            return graph.add("GreaterOrEqual", self._confidence(logits), at_least), []
        before, agreed = remembered
        now = self._label(logits)
        apart = graph.add("Abs", graph.add("Sub", now, before))
        most_apart = graph.add("ReduceMax", apart, graph.constant([-1]), keepdims=0)
        agrees = graph.add("LessOrEqual", most_apart, graph.constant(rule.difference, "float32"))
        agreed = graph.add("Where", agrees, graph.add("Add", agreed, graph.constant(1)), graph.constant(0))
        return graph.add("GreaterOrEqual", agreed, graph.constant(rule.patience)), [now, agreed]

    def _label(self, logits: str) -> str:
        """The answer that must agree, float32: a number [b, C], 1 for each label there is [b, C], or a class [b, 1]."""
        graph, head = self._graph, self._rule.head
        if head == "regression":
            return logits
        if head == "multi_label":
            label = graph.add("GreaterOrEqual", logits, graph.constant(0.0, "float32"))
        else:
            label = graph.add("ArgMax", logits, axis=-1, keepdims=1)
        return graph.add("Cast", label, to=graph.float32)

    def _confidence(self, logits: str) -> str:
        graph, axes = self._graph, self._graph.constant([-1])
        if self._rule.head == "multi_label":
            return graph.add("ReduceMin", graph.add("Sigmoid", graph.add("Abs", logits)), axes, keepdims=0)
        return graph.add("ReduceMax", graph.add("Softmax", logits, axis=-1), axes, keepdims=0)

    def _before_exits(self, rows: str, num_labels: int) -> list[str]:
        """The memory of a rule by patience before the first exit: an answer that none agrees with, and 0."""
        if self._rule.patience is None:
            return []
        graph = self._graph
        never = graph.constant([[math.inf] * self._label_size(num_labels)], "float32")
        shape = graph.add("Concat", graph.add("Shape", rows), graph.constant([1]), axis=0)
        return [graph.add("Expand", never, shape), self._zeros(rows)]

    def _forms(self, num_labels: int) -> list[TensorForm]:
        """The forms of a state. Axes have names of their own where a text more or less changes them."""
        hidden = TensorForm("hidden", "float32", ("inside", "pieces", self._config.hidden_size))
        forms = [TensorForm(_LOGITS, "float32", ("all", num_labels)), TensorForm(LAYERS, "int64", ("all",)), hidden]
        forms += [TensorForm("bias", "float32", ("inside", 1, 1, "pieces")), TensorForm("rows", "int64", ("inside",))]
        if self._rule.patience is not None:
            forms.append(TensorForm("label", "float32", ("inside", self._label_size(num_labels))))
            forms.append(TensorForm("agreed", "int64", ("inside",)))
        return forms

    def _label_size(self, num_labels: int) -> int:
        return 1 if self._rule.head == "classification" else num_labels

    def _is_any(self, state: _State) -> str:
        """Tells whether a text is inside: bool []."""
        return self._graph.add("Greater", self._graph.add("Size", state[4]), self._graph.constant(0))

    def _zeros(self, rows: str) -> str:
        return self._graph.add("Mul", rows, self._graph.constant(0))
