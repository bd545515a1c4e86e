"""The features of fine-tuning: what one row of the model's input is made from, and its form in a record.

Records hold the official feature names where there are any (run_classifier, run_race and run_squad of
google-research/ALBERT), but no padding: how long a row gets is decided when batches are made.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.records.example_messages import decode_example, encode_example

# What is put on top of the encoder. span: two logits a position; span_beam: the end given the start, and answerability.
HEADS = (
    "classification",
    "multi_label",
    "regression",
    "multiple_choice",
    "span",
    "span_beam",
    "token_classification",
)
SPAN_HEADS = ("span", "span_beam")
SPAN_LABELS = ("start_positions", "end_positions", "is_impossible")

INPUT_IDS, SEGMENT_IDS, P_MASK = "input_ids", "segment_ids", "p_mask"
LABEL_IDS = "label_ids"
# Classes of pieces plus one, since records hold no negative numbers: 0 is a piece that is not scored.
PIECE_LABELS = "piece_label_ids_plus_one"
EXAMPLE_INDEX, OPTION_LENGTHS, PIECES_CUT = "example_index", "option_lengths", "pieces_cut"
NOTE_PREFIX = "note/"


@dataclasses.dataclass(frozen=True)
class Feature:
    """Contents of one row of the model's input, unpadded.

    Attributes:
        example: index of the example it belongs to. A long SQuAD paragraph has several features.
        input_ids: ids from [CLS] to the last [SEP]; with the head multiple_choice a tuple of one such for each option.
        segment_ids: 0 or 1 for each of them, in the same form.
        label: by head: classification and multiple_choice the index of the class; regression a float; multi_label
            a 0 or 1 for each class; span heads (start, end, is_impossible), positions in input_ids, both inclusive;
            token_classification a class for each id, -1 where none is scored. None without labels.
        p_mask: span heads only: 1 where no answer can start or end, else 0.
        notes: integers >= 0 that the task needs again to make predictions, by name; the model never sees them.
        pieces_cut: how many pieces of the example were left out because it is too long, the same in each of its
            features.
    """

    example: int
    input_ids: Sequence[int] | tuple[Sequence[int], ...]
    segment_ids: Sequence[int] | tuple[Sequence[int], ...]
    label: Any = None
    p_mask: Sequence[int] | None = None
    notes: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)
    pieces_cut: int = 0

    @property
    def length(self) -> int:
        """The number of ids; of the longest option, with several."""
        if len(self.input_ids) and not np.isscalar(self.input_ids[0]):
            return max(len(ids) for ids in self.input_ids)
        return len(self.input_ids)


def to_columns(feature: Feature, head: str) -> dict[str, np.ndarray]:
    """The feature as named arrays of one dimension, float32 or integers >= 0; options lie one after another."""
    several = head == "multiple_choice"
    columns: dict[str, Any] = {
        EXAMPLE_INDEX: [feature.example],
        PIECES_CUT: [feature.pieces_cut],
        INPUT_IDS: np.concatenate(feature.input_ids) if several else feature.input_ids,
        SEGMENT_IDS: np.concatenate(feature.segment_ids) if several else feature.segment_ids,
    }
    if several:
        columns[OPTION_LENGTHS] = [len(ids) for ids in feature.input_ids]
    if feature.p_mask is not None:
        columns[P_MASK] = feature.p_mask
    if feature.label is not None:
        columns |= _label_columns(feature.label, head)
    columns |= {NOTE_PREFIX + name: values for name, values in feature.notes.items()}
    return {name: np.asarray(values) for name, values in columns.items()}


def from_columns(columns: Mapping[str, np.ndarray], head: str) -> Feature:
    """The feature that `to_columns` took apart; its parts are arrays."""
    input_ids, segment_ids = columns[INPUT_IDS], columns[SEGMENT_IDS]
    if head == "multiple_choice":
        ends = np.cumsum(columns[OPTION_LENGTHS])[:-1]
        input_ids, segment_ids = tuple(np.split(input_ids, ends)), tuple(np.split(segment_ids, ends))
    notes = {name.removeprefix(NOTE_PREFIX): values for name, values in columns.items() if name.startswith(NOTE_PREFIX)}
    example = int(columns[EXAMPLE_INDEX][0])
    pieces_cut = int(columns[PIECES_CUT][0])
    return Feature(example, input_ids, segment_ids, _label_of(columns, head), columns.get(P_MASK), notes, pieces_cut)


def to_example(feature: Feature, head: str) -> bytes:
    """The feature as a serialized tf.train.Example, unpadded; input_mask, all ones, is left out."""
    return encode_example(to_columns(feature, head))


def from_example(message: bytes, head: str) -> Feature:
    """The feature of a record that `to_example` wrote."""
    return from_columns(decode_example(message), head)


def _label_columns(label: Any, head: str) -> dict[str, Any]:
    if head in SPAN_HEADS:
        return {name: [int(value)] for name, value in zip(SPAN_LABELS, label)}
    if head == "regression":
        return {LABEL_IDS: np.array([label], np.float32)}
    if head == "token_classification":
        return {PIECE_LABELS: np.asarray(label) + 1}
    return {LABEL_IDS: list(label) if head == "multi_label" else [int(label)]}


def _label_of(columns: Mapping[str, np.ndarray], head: str) -> Any:
    """Feature.label; None if the columns hold none."""
    if head in SPAN_HEADS:
        return tuple(int(columns[name][0]) for name in SPAN_LABELS) if SPAN_LABELS[0] in columns else None
    if head == "token_classification":
        return columns[PIECE_LABELS] - 1 if PIECE_LABELS in columns else None
    if LABEL_IDS not in columns:
        return None
    if head == "multi_label":
        return tuple(columns[LABEL_IDS].tolist())
    return columns[LABEL_IDS][0].item()
