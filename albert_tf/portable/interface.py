"""Inputs and outputs of a portable model by its head: names, types and axes, the same in every format.

Axes are numbers, or names where they are free: "batch", "length", "options" of an example, "predictions" (the
positions whose words are asked for), and "beam", the smaller of the beam's width and the length.
"""

import dataclasses
from typing import Any

from albert_tf.config import AlbertConfig
from albert_tf.exports.settings import ATTENTIONS, HIDDEN_STATES
from albert_tf.heads.exit_names import LAYERS
from albert_tf.heads.pooling import USUAL_POOLING, Pooling
from albert_tf.inputs.finetuning_features import MAX_SPAN_LENGTH, SPAN_CATEGORIES

# Heads of a model that was only pre-trained, EMBEDDING its output too; those of fine-tuning are
# inputs.finetuning_features.HEADS.
ENCODER, EMBEDDING, PRETRAINING = "encoder", "embedding", "pretraining"
_CHOICE = "multiple_choice"
# Heads that read the pooled [CLS] of a text or a pair.
POOLED_HEADS = ("classification", "multi_label", "regression")
SEQUENCE_OUTPUT, POOLED_OUTPUT = "sequence_output", "pooled_output"
MASKED_LM_POSITIONS, MASKED_LM_LOGITS = "masked_lm_positions", "masked_lm_logits"
SENTENCE_ORDER_LOGITS, P_MASK = "sentence_order_logits", "p_mask"
IDS = ("input_ids", "input_mask", "segment_ids")

Axis = int | str


@dataclasses.dataclass(frozen=True)
class TensorForm:
    """An input or an output: its name, its dtype ("int32" or "float32") and its axes."""

    name: str
    dtype: str
    axes: tuple[Axis, ...]

    def to_dict(self) -> dict[str, Any]:
        """The form for JSON; free axes are names."""
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.axes)}


@dataclasses.dataclass(frozen=True)
class Interface:
    """Everything that goes into a model and comes out of it.

    Attributes:
        head: ENCODER, EMBEDDING, PRETRAINING, or one of inputs.finetuning_features.HEADS.
        inputs: int32 all of them, in the order of the model's arguments.
        outputs: in the order of the model's results.
        pooling: how EMBEDDING makes one vector of a text.
    """

    head: str
    inputs: tuple[TensorForm, ...]
    outputs: tuple[TensorForm, ...]
    pooling: Pooling = USUAL_POOLING


def make_interface(
    head: str,
    config: AlbertConfig,
    num_labels: int = 0,
    batch: int | None = None,
    length: int | None = None,
    has_order: bool = True,
    has_pooler: bool = True,
    beam: int = 0,
    layer_outputs: tuple[str, ...] = (),
    pooling: Pooling = USUAL_POOLING,
    max_span_length: int = MAX_SPAN_LENGTH,
    has_exits: bool = False,
) -> Interface:
    """The interface of a head.

    Args:
        head: as Interface.head.
        config: of the model.
        num_labels: C, of heads that have classes.
        batch: the number of sequences, or of examples, of every call; None: free.
        length: the number of pieces of every call; None: free.
        has_order: whether the head of pre-training judges the order of segments.
        has_pooler: whether the encoder has a pooled output.
        beam: the width of the beam, of the head "span_beam".
        layer_outputs: those of exports.settings.LAYER_OUTPUTS that the encoder gives besides.
        pooling: of the head EMBEDDING.
        max_span_length: of the head SPAN_CATEGORIES.
        has_exits: whether texts may leave before the last layer, of POOLED_HEADS.
    """
    rows: Axis = "batch" if batch is None else batch
    pieces: Axis = "length" if length is None else length
    outputs: dict[str, tuple[Axis, ...]]
    if head == ENCODER:
        outputs = {SEQUENCE_OUTPUT: (rows, pieces, config.hidden_size)}
        outputs |= {POOLED_OUTPUT: (rows, config.hidden_size)} if has_pooler else {}
        outputs |= {name: _of_layers(config, rows, pieces)[name] for name in layer_outputs}
    elif head == EMBEDDING:
        outputs = {EMBEDDING: (rows, pooling.size(config.hidden_size))}
    elif head == PRETRAINING:
        outputs = {MASKED_LM_LOGITS: (rows, "predictions", config.vocab_size)}
        outputs |= {SENTENCE_ORDER_LOGITS: (rows, 2)} if has_order else {}
    elif head == _CHOICE:
        outputs = {"logits": (rows, "options")}
    elif head in POOLED_HEADS:
        outputs = {"logits": (rows, num_labels)} | ({LAYERS: (rows,)} if has_exits else {})
    elif head == "token_classification":
        outputs = {"logits": (rows, pieces, num_labels)}
    elif head == SPAN_CATEGORIES:
        outputs = {"logits": (rows, pieces, max_span_length, num_labels)}
    elif head == "span":
        outputs = {"start_logits": (rows, pieces), "end_logits": (rows, pieces)}
    elif head == "span_beam":
        outputs = _of_beam(rows, "beam" if length is None else min(beam, length))
    else:
        raise ValueError(f"`head` is no kind of head. Received head={head!r}.")
    return Interface(head, tuple(_inputs(head, rows, pieces)), tuple(map(_output, outputs.items())), pooling)


def _inputs(head: str, rows: Axis, pieces: Axis) -> list[TensorForm]:
    axes = (rows, "options", pieces) if head == _CHOICE else (rows, pieces)
    inputs = [TensorForm(name, "int32", axes) for name in IDS]
    if head == PRETRAINING:
        inputs.append(TensorForm(MASKED_LM_POSITIONS, "int32", (rows, "predictions")))
    if head == "span_beam":
        inputs.append(TensorForm(P_MASK, "int32", axes))
    return inputs


def _output(named: tuple[str, tuple[Axis, ...]]) -> TensorForm:
    """The form of an output by its name and axes: a number of something is whole."""
    name, axes = named
    return TensorForm(name, "int32" if name.endswith("_index") or name == LAYERS else "float32", axes)


def _of_layers(config: AlbertConfig, rows: Axis, pieces: Axis) -> dict[str, tuple[Axis, ...]]:
    """The axes of what all layers of an encoder give."""
    applications = config.num_hidden_layers * config.inner_group_num
    return {
        HIDDEN_STATES: (rows, config.num_hidden_layers + 1, pieces, config.hidden_size),
        ATTENTIONS: (rows, applications, config.num_attention_heads, pieces, pieces),
    }


def _of_beam(rows: Axis, width: Axis) -> dict[str, tuple[Axis, ...]]:
    """The axes of the outputs of the head "span_beam"."""
    return {
        "start_top_log_probs": (rows, width),
        "start_top_index": (rows, width),
        "end_top_log_probs": (rows, width, width),
        "end_top_index": (rows, width, width),
        "answerability_logits": (rows,),
    }
