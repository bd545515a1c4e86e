"""Heads as nodes of ONNX: what heads/ and models/ compute of the encoder's output.

Kernels of a few columns stay float32 in every precision: they take no room, and all outputs pass through them.

Shapes: B batch, N options, S sequence, P predictions, K beam, W pieces of the longest span, H hidden, T numbers of a
vector, C classes, V vocabulary.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from albert_tf.config import AlbertConfig
from albert_tf.exports.settings import LAYER_OUTPUTS
from albert_tf.heads.exits import ExitRule
from albert_tf.heads.pooling import LEAST_NORM, MEAN, POOLED, Pooling
from albert_tf.heads.span_beam import NEVER
from albert_tf.heads.vector_dense import BIAS, KERNEL, TANH
from albert_tf.inputs.finetuning_features import SPAN_CATEGORIES
from albert_tf.portable import interface as names
from albert_tf.portable.interface import Interface
from albert_tf.portable.onnx_encoder import OnnxEncoder
from albert_tf.portable.onnx_exits import OnnxExits
from albert_tf.portable.onnx_graph import OnnxGraph

# Of a slice, whatever the length.
_END = 2**31 - 1


def onnx_model(
    weights: Mapping[str, np.ndarray],
    config: AlbertConfig,
    interface: Interface,
    precision: str,
    producer: tuple[str, str],
    beam_size: int = 0,
    rule: ExitRule | None = None,
    classifier_pooling: str = POOLED,
) -> bytes:
    """The ONNX file of a model.

    Args:
        weights: float32, by the names of models.named_weights; those of the pooling's dense layer too.
        config: of the model.
        interface: its inputs and outputs, and by them its head.
        precision: "float32", "bfloat16", "float16" or "int8", see onnx_graph.
        producer: name and version of the program that writes it.
        beam_size: K of the head "span_beam".
        rule: by which texts leave a model with exits; None: all have all layers.
        classifier_pooling: what a classifier of texts reads, "pooled" or "mean".

    Raises:
        InputError: the package onnx is missing, or the weights do not fit the precision or a file of this format.
    """
    graph = OnnxGraph(weights, precision)
    encoder = OnnxEncoder(graph, config)
    if rule is None:
        outputs = _OnnxHeads(graph, config, encoder, beam_size, classifier_pooling).outputs(interface)
    else:
        outputs = OnnxExits(graph, config, encoder, rule).outputs(interface)
    return graph.to_model(interface, outputs, producer)


class _OnnxHeads:
    """The nodes of every head, after those of the encoder."""

    def __init__(
        self, graph: OnnxGraph, config: AlbertConfig, encoder: OnnxEncoder, beam_size: int, classifier_pooling: str
    ):
        self._graph = graph
        self._config = config
        self._encoder = encoder
        self._beam_size = beam_size
        self._classifier_pooling = classifier_pooling

    def outputs(self, interface: Interface) -> dict[str, str]:
        """Adds all nodes; the name of the value that each output is."""
        head, wanted = interface.head, [form.name for form in interface.outputs]
        if head == "multiple_choice":
            return {"logits": self._choices()}
        if head == names.EMBEDDING:
            return {names.EMBEDDING: self._embedding(interface.pooling)}
        is_pooled = head in names.POOLED_HEADS and self._classifier_pooling == POOLED
        hidden = self._encoder.encode(*names.IDS, first_only=is_pooled)
        if head == names.ENCODER:
            return {name: self._of_encoder(name, hidden) for name in wanted}
        if head == names.PRETRAINING:
            found = {names.MASKED_LM_LOGITS: self._words(hidden)}
            if names.SENTENCE_ORDER_LOGITS in wanted:
                pooled = self._encoder.pool(hidden)
                found[names.SENTENCE_ORDER_LOGITS] = self._scores(pooled, "sentence_order/classifier")
            return found
        if head == "span":
            parts = self._graph.add("Split", self._scores(hidden, "span"), count=2, axis=-1, num_outputs=2)
            squeezed = [self._last_axis_gone(part) for part in parts]
            return dict(zip(("start_logits", "end_logits"), squeezed, strict=True))
        if head == "span_beam":
            return self._beam(hidden)
        if head == SPAN_CATEGORIES:
            return {"logits": self._spans(hidden, interface.outputs[0].axes[2])}
        if is_pooled:
            hidden = self._encoder.pool(hidden)
        elif head in names.POOLED_HEADS:
            hidden = self._mean(hidden)
        return {"logits": self._scores(hidden, "classifier")}

    def _mean(self, hidden: str) -> str:
        return self._encoder.mean(hidden, self._graph.add("Cast", names.IDS[1], to=self._graph.float32))

    def _of_encoder(self, name: str, hidden: str) -> str:
        """The value of an output of the encoder; the layers of one stand after the batch."""
        if name in LAYER_OUTPUTS:
            graph = self._graph
            layers = [graph.add("Unsqueeze", value, graph.constant([1])) for value in getattr(self._encoder, name)]
            return graph.add("Concat", *layers, axis=1)
        return hidden if name == names.SEQUENCE_OUTPUT else self._encoder.pool(hidden)

    def _embedding(self, pooling: Pooling) -> str:
        """One vector for each sequence, [B, T]; see heads.pooling.Pooling."""
        graph, encoder = self._graph, self._encoder
        hidden = encoder.encode(*names.IDS, first_only=pooling.mode != MEAN)
        if pooling.mode == MEAN:
            vectors = self._mean(hidden)
        elif pooling.mode == POOLED:
            vectors = encoder.pool(hidden)
        else:
            vectors = graph.add("Squeeze", encoder.first_positions(hidden), graph.constant([1]))
        if pooling.dense is not None:
            vectors = graph.product(vectors, graph.kernel(KERNEL), graph.vector(BIAS))
            vectors = graph.add("Tanh", vectors) if pooling.dense.activation == TANH else vectors
        if not pooling.normalize:
            return vectors
        length = graph.add("ReduceL2", vectors, graph.constant([-1]), keepdims=1)
        return graph.add("Div", vectors, graph.add("Max", length, graph.constant(LEAST_NORM, "float32")))

    def _scores(self, x: str, name: str) -> str:
        """x @ kernel + bias in float32: [..., H] -> [..., C]."""
        graph = self._graph
        product = graph.add("MatMul", x, graph.vector(f"{name}/kernel"))
        return graph.add("Add", product, graph.vector(f"{name}/bias"))

    def _last_axis_gone(self, x: str) -> str:
        return self._graph.add("Squeeze", x, self._graph.constant([-1]))

    def _gather(self, sequence: str, positions: str) -> str:
        """Picks positions out of each sequence: [B, S, H], int32 [B, P] -> [B, P, H]."""
        graph = self._graph
        at = graph.add("Cast", positions, to=graph.int64)
        return graph.add("GatherND", sequence, graph.add("Unsqueeze", at, graph.constant([-1])), batch_dims=1)

    def _words(self, hidden: str) -> str:
        """The masked-LM logits, [B, P, V]; see heads.pretraining.MaskedLMHead."""
        graph, encoder = self._graph, self._encoder
        asked = self._gather(hidden, names.MASKED_LM_POSITIONS)
        asked = encoder.layer_norm(
            encoder.activate(encoder.dense(asked, "masked_lm/transform")), "masked_lm/layer_norm"
        )
        bias = graph.vector("masked_lm/output_bias")
        return graph.product(asked, graph.transposed(encoder.word_table()), bias)

    def _choices(self) -> str:
        """The scores of the options, [B, N]."""
        graph = self._graph
        rows = graph.add("Concat", graph.constant([-1]), graph.add("Shape", names.IDS[0], start=2, end=3), axis=0)
        flat = [graph.add("Reshape", name, rows) for name in names.IDS]
        pooled = self._encoder.pool(self._encoder.encode(*flat, first_only=True))
        shape = graph.add("Shape", names.IDS[0], start=0, end=2)
        return graph.add("Reshape", self._scores(pooled, "classifier"), shape)

    def _beam(self, hidden: str) -> dict[str, str]:
        """The outputs of heads.span_beam.SpanBeamHead."""
        graph, size = self._graph, self._config.hidden_size
        masked = graph.add("Cast", names.P_MASK, to=graph.float32)
        is_open = graph.add("Sub", graph.constant(1.0, "float32"), masked)
        never = graph.add("Mul", masked, graph.constant(NEVER, "float32"))
        scores = self._last_axis_gone(self._scores(hidden, "span_beam/start"))
        start_logits = graph.add("Add", graph.add("Mul", scores, is_open), never)
        length = graph.add("Shape", hidden, start=1, end=2)
        width = graph.add("Min", graph.constant([self._beam_size]), length)
        start_log_probs, starts = graph.add(
            "TopK", graph.add("LogSoftmax", start_logits, axis=-1), width, count=2, axis=-1
        )
        # The first half of the kernel is the piece's, the second that of the start.
        kernel = graph.kernel("span_beam/end_transform/kernel")
        piece_part = graph.product(hidden, graph.rows(kernel, 0, size))
        start_part = graph.product(self._gather(hidden, starts), graph.rows(kernel, size, 2 * size))
        both = graph.add(
            "Add",
            graph.add("Unsqueeze", piece_part, graph.constant([1])),
            graph.add("Unsqueeze", start_part, graph.constant([2])),
        )
        both = graph.add("Tanh", graph.add("Add", both, graph.vector("span_beam/end_transform/bias")))
        both = self._encoder.layer_norm(both, "span_beam/end_layer_norm")
        scores = self._last_axis_gone(self._scores(both, "span_beam/end"))
        is_open, never = (graph.add("Unsqueeze", x, graph.constant([1])) for x in (is_open, never))
        end_logits = graph.add("Add", graph.add("Mul", scores, is_open), never)
        end_log_probs, ends = graph.add("TopK", graph.add("LogSoftmax", end_logits, axis=-1), width, count=2, axis=-1)
        return {
            "start_top_log_probs": start_log_probs,
            "start_top_index": graph.add("Cast", starts, to=graph.int32),
            "end_top_log_probs": end_log_probs,
            "end_top_index": graph.add("Cast", ends, to=graph.int32),
            "answerability_logits": self._answerability(hidden, start_logits),
        }

    def _spans(self, hidden: str, widest: Any) -> str:
        """The labels of every span, [B, S, W, C]; see heads.span_categories.SpanCategoriesHead."""
        graph = self._graph
        names_of = ("start_kernel", "end_kernel", "width_embeddings", "width_bias", "kernel", "bias")
        of = {name: graph.vector(f"span_categories/{name}") for name in names_of}
        first = graph.add("MatMul", hidden, of["start_kernel"])
        last = graph.add("MatMul", hidden, of["end_kernel"])
        last = graph.add("Pad", last, graph.constant([0, 0, 0, 0, widest - 1, 0]))
        length = graph.add("Squeeze", graph.add("Shape", hidden, start=1, end=2))
        starts = graph.add("Range", graph.constant(0), length, graph.constant(1))
        ends = graph.add("Add", graph.add("Unsqueeze", starts, graph.constant([1])), graph.constant(range(widest)))
        last = graph.add("Gather", last, ends, axis=1)
        both = graph.add("Add", graph.add("Unsqueeze", first, graph.constant([2])), last)
        hidden_size, _ = graph.shape("span_categories/start_kernel")
        width_scores = graph.add("Mul", of["width_bias"], graph.constant(hidden_size, "float32"))
        both = graph.add("Add", both, graph.add("Concat", of["width_embeddings"], width_scores, axis=-1))
        # What goes through tanh and a kernel, and after it what is added as it is.
        size, _ = graph.shape("span_categories/kernel")
        inner, linear = (
            graph.add("Slice", both, *(graph.constant([at]) for at in (begin, end, 3)))
            for begin, end in ((0, size), (size, _END))
        )
        logits = graph.add("Add", graph.add("MatMul", graph.add("Tanh", inner), of["kernel"]), linear)
        return graph.add("Add", logits, of["bias"])

    def _answerability(self, hidden: str, start_logits: str) -> str:
        graph, encoder = self._graph, self._encoder
        probabilities = graph.add("Softmax", start_logits, axis=-1)
        row = graph.add("Unsqueeze", probabilities, graph.constant([1]))
        mean, first = graph.add("MatMul", row, hidden), encoder.first_positions(hidden)
        both = graph.add("Squeeze", graph.add("Concat", mean, first, axis=-1), graph.constant([1]))
        transformed = graph.add("Tanh", encoder.dense(both, "span_beam/answerability_transform"))
        kernel = graph.vector("span_beam/answerability/kernel")
        return self._last_axis_gone(graph.add("MatMul", transformed, kernel))
