"""A model with exits as it answers: layer by layer, and texts that leave are no longer computed.

Shapes: B batch, b texts that are still inside, S sequence, T their tokens, H hidden, L layers, C classes.
"""

from typing import Any

from keras import ops

from albert_tf.heads.exit_names import LAYERS
from albert_tf.heads.exits import ExitRule
from albert_tf.heads.pooling import MEAN
from albert_tf.kernels import BlockRunner, View
from albert_tf.kernels.backend import read
from albert_tf.kernels.batch_halves import in_halves
from albert_tf.kernels.unpadding import Unpadding
from albert_tf.models.inputs import INPUT_IDS, INPUT_MASK, SEGMENT_IDS
from albert_tf.models.with_head import mean_over_text

LOGITS = "logits"
_INPUTS = (INPUT_IDS, INPUT_MASK, SEGMENT_IDS)


class EarlyExit:
    """Runs a model with exits, outside training. Its shapes depend on values, so that XLA cannot compile it.

    Where all layers have the same blocks they are applied in a loop of the device, else one after another, each only if
    a text is still inside. After each the texts that stay are put together again, without padding. Where the rule says
    so (`asks_first`), of a layer after which texts may leave [CLS] is computed first, and the layer is applied to those
    that stay alone.

    Args:
        model: AlbertForSequenceClassification with `early_exit`.
        rule: when a text leaves.
    """

    def __init__(self, model: Any, rule: ExitRule) -> None:
        self._albert, self._heads = model.albert, [*model.exits.heads, model.classifier]
        self._encoder, self._config = model.encoder, model.config
        self._rule = rule

    def __call__(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """{"logits": float32 [B, C], of the exit that each text left by; "layers": int32 [B], which that was}.

        Args:
            inputs: "input_ids", "input_mask" and "segment_ids", int32 [B, S].
        """
        self._read_weights()
        parts = [inputs[name] for name in _INPUTS]
        logits, layers = in_halves(self._run, parts, ["float32", "int32"])
        return {LOGITS: logits, LAYERS: layers}

    def _run(self, *parts: Any) -> list[Any]:
        state = self._start(*parts)
        last = self._config.num_hidden_layers
        first_exit = min(self._rule.first_exit, last - 1)
        state = self._repeat(state, 1, first_exit, self._stay)
        state = self._leave(state, self._blocks_of(first_exit), self._scorers[first_exit - 1], first_exit)
        state = self._repeat(state, first_exit + 1, last, self._finish_and_leave)
        state = ops.cond(state[0], lambda: self._last_layer(state), lambda: state)
        return state[4:6]

    def _read_weights(self) -> None:
        """Reads all weights but the embeddings: in a branch or a loop that would be an effect, for whose sake
        TensorFlow would do one half of the batch after the other."""
        self._blocks = BlockRunner(View(None), self._encoder.compute_dtype)
        for layer in range(self._config.num_hidden_layers):
            for block in self._encoder.blocks_of_layer(layer):
                self._blocks.prepare(block)
        pooler = self._albert.pooler
        self._pooler = [read(pooler.kernel), read(pooler.bias)]
        self._scorers = [[read(head.kernel), read(head.bias)] for head in self._heads]

    def _start(self, ids: Any, mask: Any, segment_ids: Any) -> list[Any]:
        """The state before the first layer: whether a text is inside; the rows of those that are; what the rule knows
        of them; logits and layers of all texts; and what the next layer reads."""
        view = self._view(mask)
        hidden = self._encoder.project_embeddings(view.strip(self._albert.embeddings(ids, segment_ids)))
        rows = ops.arange(ops.shape(ids)[0], dtype="int32")
        logits = ops.zeros((ops.shape(ids)[0], self._heads[-1].num_labels))
        answer, agreed = self._rule.start(logits)
        return [_any(rows), rows, answer, agreed, logits, ops.zeros_like(rows), mask, hidden, *_tensors(view)]

    def _repeat(self, state: list[Any], begin: int, end: int, step: Any) -> list[Any]:
        """The state after step(state, blocks, exit's weights, number) of layers by number from 1, begin to end - 1, of
        which each is applied only if a text is inside."""
        if begin >= end:
            return state
        if len(self._encoder.blocks) > 1:
            for number in range(begin, end):

                def apply(state=state, number=number):
                    return step(state, self._blocks_of(number), self._scorers[number - 1], number)

                state = ops.cond(state[0], apply, lambda state=state: state)
            return state
        stacked = [ops.stack(weights) for weights in zip(*self._scorers, strict=True)]

        def body(number, *state):
            exit_weights = [ops.take(weights, number - 1, axis=0) for weights in stacked]
            return number + 1, *step(list(state), self._blocks_of(1), exit_weights, number)

        def is_any_inside(number, inside, *_):
            return ops.logical_and(number < end, inside)

        number = ops.full((), begin, "int32")
        return list(ops.while_loop(is_any_inside, body, (number, *state), maximum_iterations=end - begin)[1:])

    def _stay(self, state: list[Any], blocks: list[Any], exit_weights: list[Any], number: Any) -> list[Any]:
        """The state after a layer by whose exit no text leaves yet."""
        is_any, rows, answer, agreed, logits, layers, mask, hidden, *tensors = state
        view = self._view_of(tensors)
        hidden = self._apply(view, blocks, hidden)
        if self._rule.remembers:
            found = self._scores(self._read_by_exit(view, hidden, mask), exit_weights)
            _, answer, agreed = self._rule.step(found, answer, agreed)
        return [is_any, rows, answer, agreed, logits, layers, mask, hidden, *tensors]

    def _finish_and_leave(self, state: list[Any], blocks: list[Any], exit_weights: list[Any], number: Any) -> list[Any]:
        """The state after a layer and its exit, before which the layer before is finished."""
        *before, hidden = state[:8]
        before_this = self._blocks_of(1 if len(self._encoder.blocks) == 1 else number - 1)
        hidden = self._apply(self._view_of(state[8:]), self._left_over(before_this), hidden)
        return self._leave([*before, hidden, *state[8:]], blocks, exit_weights, number)

    def _leave(self, state: list[Any], blocks: list[Any], exit_weights: list[Any], number: Any) -> list[Any]:
        """The state after a layer and its exit, but for what is left over of the layer."""
        _, rows, answer, agreed, logits, layers, mask, hidden, *tensors = state
        view, left_over = self._view_of(tensors), self._left_over(blocks)
        hidden = self._apply(view, blocks[: len(blocks) - len(left_over)], hidden)
        if left_over:
            vectors = self._albert.pool(self._apply(view, left_over, hidden, _first(mask))[:, 0], self._pooler)
        else:
            vectors = self._read_by_exit(view, hidden, mask)
        found = self._scores(vectors, exit_weights)
        done, answer, agreed = self._rule.step(found, answer, agreed)
        logits = ops.scatter_update(logits, rows[:, None], found)
        layers = ops.scatter_update(layers, rows[:, None], ops.zeros_like(rows) + number)
        inside = ops.logical_not(done)
        is_any = ops.any(inside)

        def leave():
            left = ops.cast(ops.nonzero(inside)[0], "int32")
            kept = [ops.take(tensor, left, axis=0) for tensor in (rows, answer, agreed, mask)]
            smaller = self._view(kept[3])
            stay = smaller.strip(ops.take(view.restore(hidden), left, axis=0))
            return [*kept, stay, *_tensors(smaller)]

        moves = ops.logical_and(is_any, ops.any(done))
        rows, answer, agreed, mask, *rest = ops.cond(
            moves, leave, lambda: [rows, answer, agreed, mask, hidden, *tensors]
        )
        return [is_any, rows, answer, agreed, logits, layers, mask, *rest]

    def _last_layer(self, state: list[Any]) -> list[Any]:
        """The state after the last layer, of which [CLS] alone is computed."""
        inside, rows, answer, agreed, logits, layers, mask, hidden, *tensors = state
        view, last = self._view_of(tensors), self._config.num_hidden_layers
        hidden = self._apply(view, self._left_over(self._blocks_of(last - 1)), hidden)
        first = self._apply(view, self._blocks_of(last), hidden, _first(mask))
        found = self._scores(self._albert.pool(first[:, 0], self._pooler), self._scorers[-1])
        logits = ops.scatter_update(logits, rows[:, None], found)
        layers = ops.scatter_update(layers, rows[:, None], ops.full_like(rows, last))
        return [inside, rows, answer, agreed, logits, layers, mask, hidden, *tensors]

    def _left_over(self, blocks: list[Any]) -> list[Any]:
        """The blocks of a layer that an exit computes for [CLS] alone; to whoever stays they are applied later."""
        return blocks[-1:] if self._rule.asks_first else []

    def _blocks_of(self, number: int) -> list[Any]:
        """The blocks of a layer by its number from 1."""
        return self._encoder.blocks_of_layer(number - 1)

    def _read_by_exit(self, view: View, hidden: Any, mask: Any) -> Any:
        """The vector of each text that an exit reads, float32 [b, H], of all hidden states after a layer."""
        if self._rule.pooling == MEAN:
            return mean_over_text(view.restore(hidden), mask)
        first = hidden[:, 0] if view.unpadding is None else view.unpadding.first(hidden)
        return self._albert.pool(first, self._pooler)

    def _scores(self, vectors: Any, weights: list[Any]) -> Any:
        """The logits of an exit, or of the classifier, float32 [b, C], of what it reads, [b, H]."""
        kernel, bias = (ops.cast(weight, "float32") for weight in weights)
        return ops.matmul(vectors, kernel) + bias

    def _apply(self, view: View, blocks: list[Any], hidden: Any, positions: Any = None) -> Any:
        run = self._blocks.seeing(view)
        for inner, block in enumerate(blocks):
            hidden = run(block, hidden, inner, positions if inner == len(blocks) - 1 else None)
        return hidden

    def _view(self, mask: Any) -> View:
        return View.without_padding(mask, self._config.num_attention_heads)

    def _view_of(self, tensors: list[Any]) -> View:
        return View(tensors[0], unpadding=Unpadding.of_tensors(tensors[1:], self._config.num_attention_heads))


class WholeBatchExit(EarlyExit):
    """The same by shapes that do not depend on values: a text that has left is computed on while another is inside.

    Alone, a text has no more layers than it needs; of several all have as many as the last to leave.
    """

    def __call__(self, inputs: dict[str, Any]) -> dict[str, Any]:
        self._read_weights()
        logits, layers = self._run(*(inputs[name] for name in _INPUTS))
        return {LOGITS: logits, LAYERS: layers}

    def _start(self, ids: Any, mask: Any, segment_ids: Any) -> list[Any]:
        view = View.of(mask)
        hidden = self._encoder.project_embeddings(self._albert.embeddings(ids, segment_ids))
        layers = ops.zeros_like(ids[:, 0])
        inside = ops.equal(layers, 0)
        logits = ops.zeros((ops.shape(ids)[0], self._heads[-1].num_labels))
        answer, agreed = self._rule.start(logits)
        return [ops.any(inside), inside, answer, agreed, logits, layers, hidden, view.attention_bias]

    def _leave(self, state: list[Any], blocks: list[Any], exit_weights: list[Any], number: Any) -> list[Any]:
        """The state after a layer, all of it, and its exit."""
        hidden, attention_bias = state[6:]
        view = View(attention_bias)
        hidden = self._apply(view, blocks, hidden)
        found = self._scores(self._read_by_exit(view, hidden, _mask(view)), exit_weights)
        done, answer, agreed = self._rule.step(found, *state[2:4])
        inside = ops.logical_and(state[1], ops.logical_not(done))
        answers = _answered(state, found, number)
        return [ops.any(inside), inside, answer, agreed, *answers, hidden, attention_bias]

    _finish_and_leave = _leave

    def _stay(self, state: list[Any], blocks: list[Any], exit_weights: list[Any], number: Any) -> list[Any]:
        is_any, inside, answer, agreed, logits, layers, hidden, attention_bias = state
        view = View(attention_bias)
        hidden = self._apply(view, blocks, hidden)
        if self._rule.remembers:
            found = self._scores(self._read_by_exit(view, hidden, _mask(view)), exit_weights)
            _, answer, agreed = self._rule.step(found, answer, agreed)
        return [is_any, inside, answer, agreed, logits, layers, hidden, attention_bias]

    def _last_layer(self, state: list[Any]) -> list[Any]:
        *_, layers, hidden, attention_bias = state
        last = self._config.num_hidden_layers
        first = _first(ops.expand_dims(layers, 1))
        read = self._apply(View(attention_bias), self._encoder.blocks_of_layer(last - 1), hidden, first)
        found = self._scores(self._albert.pool(read[:, 0], self._pooler), self._scorers[-1])
        answers = _answered(state, found, last)
        return [*state[:4], *answers, hidden, attention_bias]


def _answered(state: list[Any], found: Any, number: Any) -> list[Any]:
    """Logits and layers of a whole batch, with what was found after a layer for the texts that are inside."""
    inside, logits, layers = state[1], *state[4:6]
    return [ops.where(ops.expand_dims(inside, 1), found, logits), ops.where(inside, number, layers)]


def _mask(view: View) -> Any:
    """The mask of a batch with its padding, int32 [B, S], by what is added to its scores."""
    return ops.cast(view.attention_bias[:, 0, 0] >= 0, "int32")


def _first(mask: Any) -> Any:
    """The place of [CLS] in each text: int32 [b, S] -> [b, 1]."""
    return ops.zeros((ops.shape(mask)[0], 1), "int32")


def _tensors(view: View) -> list[Any]:
    return [view.attention_bias, *view.unpadding.tensors()]


def _any(rows: Any) -> Any:
    return ops.shape(rows)[0] > 0
