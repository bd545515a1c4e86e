"""The features of fine-tuning: what one row of the model's input is made from, and its form in a record.

Records hold the official feature names where there are any (run_classifier, run_race and run_squad of
google-research/ALBERT), but no padding: how long a row gets is decided when batches are made.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.inputs.example_messages import decode_example, encode_example

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
EXAMPLE_INDEX, OPTION_LENGTHS = "example_index", "option_lengths"
NOTE_PREFIX = "note/"


@dataclasses.dataclass(frozen=True)
class Feature:
    """What one row of the model's input is made from, unpadded.

    Attributes:
        example: index of the example it belongs to. A long SQuAD paragraph has several features.
        input_ids: ids from [CLS] to the last [SEP]; with the head multiple_choice a tuple of one such for each option.
        segment_ids: 0 or 1 for each of them, in the same form.
        label: by head: classification and multiple_choice the index of the class; regression a float; multi_label
            a 0 or 1 for each class; span heads (start, end, is_impossible), positions in input_ids, both inclusive;
            token_classification a class for each id, -1 where none is scored. None without labels.
        p_mask: span heads only: 1 where no answer can start or end, else 0.
        notes: integers >= 0 that the task needs again to make predictions, by name; the model never sees them.
    """

    example: int
    input_ids: Sequence[int] | tuple[Sequence[int], ...]
    segment_ids: Sequence[int] | tuple[Sequence[int], ...]
    label: Any = None
    p_mask: Sequence[int] | None = None
    notes: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)

    @property
    def length(self) -> int:
        """The number of ids; of the longest option, with several."""
        if self.input_ids and not np.isscalar(self.input_ids[0]):
            return max(len(ids) for ids in self.input_ids)
        return len(self.input_ids)
