"""Features of fine-tuning: what one row of the model's input is made from, and all of a split in flat arrays.

Columns have the official feature names where there are any (run_classifier, run_race and run_squad of
google-research/ALBERT), but no padding: how long a row gets is decided when batches are made, which flat arrays make a
gather and not a loop over objects.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.runtime.errors import InputError

# What is put on top of the encoder. span: two logits a position; span_beam: the end given the start, and answerability.
HEADS = (
    "classification",
    "multi_label",
    "regression",
    "multiple_choice",
    "span",
    "span_beam",
    "token_classification",
    "span_categories",
)
# Spans that may overlap, each with any of the labels; and the pieces of the longest, where nothing else is said.
SPAN_CATEGORIES, MAX_SPAN_LENGTH = "span_categories", 16
SPAN_HEADS = ("span", "span_beam")
SPAN_LABELS = ("start_positions", "end_positions", "is_impossible")

INPUT_IDS, SEGMENT_IDS, P_MASK = "input_ids", "segment_ids", "p_mask"
# Of token_classification, a class for each piece, -1 where none is scored; and of all other heads.
PIECE_LABELS, LABEL_IDS = "piece_label_ids", "label_ids"
# The outputs of a model to learn from.
TEACHER_LOGITS = "teacher_logits"
EXAMPLE_INDEX, OPTION_LENGTHS, PIECES_CUT = "example_index", "option_lengths", "pieces_cut"
NOTE_PREFIX = "note/"
# The largest set, RACE, has about 120 million pieces: what is only 0 or 1 is kept small.
_COLUMN_TYPES = {SEGMENT_IDS: np.int8, P_MASK: np.int8}
_LENGTHS_SUFFIX = "/lengths"
# Heads whose label is several numbers.
_OF_SEVERAL = ("multi_label", SPAN_CATEGORIES)


@dataclasses.dataclass(frozen=True)
class Feature:
    """Contents of one row of the model's input, unpadded.

    Attributes:
        example: index of the example it belongs to. A long SQuAD paragraph has several features.
        input_ids: ids from [CLS] to the last [SEP]; with the head multiple_choice a tuple of one such for each option.
        segment_ids: 0 or 1 for each of them, in the same form.
        label: by head: classification and multiple_choice the index of the class; regression a float; multi_label
            a 0 or 1 for each class; span heads (start, end, is_impossible), positions in input_ids, both inclusive;
            token_classification a class for each id, -1 where none is scored; span_categories a number for each label
            of a span, (start * W + pieces - 1) * C + class, W the pieces of the longest. None without labels.
        p_mask: span heads: 1 where no answer can start or end, else 0; span_categories: 1 where no span can start.
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
    """The feature as named arrays of one dimension, float32 or integers; options lie one after another."""
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


def _label_columns(label: Any, head: str) -> dict[str, Any]:
    if head in SPAN_HEADS:
        return {name: [int(value)] for name, value in zip(SPAN_LABELS, label)}
    if head == "regression":
        return {LABEL_IDS: np.array([label], np.float32)}
    if head == "token_classification":
        return {PIECE_LABELS: label}
    return {LABEL_IDS: list(label) if head in _OF_SEVERAL else [int(label)]}


def _label_of(columns: Mapping[str, np.ndarray], head: str) -> Any:
    """Feature.label; None if the columns hold none."""
    if head in SPAN_HEADS:
        return tuple(int(columns[name][0]) for name in SPAN_LABELS) if SPAN_LABELS[0] in columns else None
    if head == "token_classification":
        return columns.get(PIECE_LABELS)
    if LABEL_IDS not in columns:
        return None
    if head in _OF_SEVERAL:
        return tuple(columns[LABEL_IDS].tolist())
    return columns[LABEL_IDS][0].item()


@dataclasses.dataclass(frozen=True)
class Ragged:
    """Rows of different lengths: row i is values[splits[i] : splits[i + 1]].

    Attributes:
        values: int32, int8 or float32, of all rows, one after another.
        splits: int64 [rows + 1].
    """

    values: np.ndarray
    splits: np.ndarray

    @classmethod
    def from_parts(cls, name: str, values: Sequence[np.ndarray], lengths: Sequence[np.ndarray]) -> "Ragged":
        """The column of a name, of the values and the row lengths of its parts."""
        is_float = any(part.dtype == np.float32 for part in values)
        dtype = np.float32 if is_float else _COLUMN_TYPES.get(name, np.int32)
        joined = np.concatenate([np.zeros(0, dtype), *(part.astype(dtype, copy=False) for part in values)])
        return cls.of_lengths(joined, np.concatenate([np.zeros(0, np.int64), *lengths]))

    @classmethod
    def of_lengths(cls, values: np.ndarray, lengths: np.ndarray) -> "Ragged":
        """Rows of these lengths, one after another."""
        return cls(values, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))

    def __len__(self) -> int:
        return len(self.splits) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.values[self.splits[row] : self.splits[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """int64 [rows]."""
        return np.diff(self.splits)

    def select(self, rows: np.ndarray) -> "Ragged":
        """These rows, in this order."""
        lengths = self.lengths[rows]
        # Places count up within a row, from where it starts.
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return Ragged.of_lengths(self.values[np.repeat(self.splits[rows], lengths) + within], lengths)


class FeatureSet(Sequence[Feature]):
    """The features of a split, in order; a sequence of Feature, made when asked for.

    Attributes:
        head: which head they are for.
        columns: by the names of finetuning_features, one row for each feature.
    """

    def __init__(self, head: str, columns: Mapping[str, Ragged]):
        self.head, self.columns = head, dict(columns)

    @classmethod
    def from_features(cls, features: Sequence[Feature], head: str) -> "FeatureSet":
        """Makes a set of single features; either all of them have labels, or none has."""
        rows = [to_columns(feature, head) for feature in features]
        columns = {}
        for name in rows[0] if rows else ():
            values = [row[name] for row in rows]
            columns[name] = Ragged.from_parts(name, values, [np.array([len(value) for value in values], np.int64)])
        return cls(head, columns)

    @classmethod
    def joined(cls, parts: Sequence["FeatureSet"], head: str) -> "FeatureSet":
        """The features of sets of one head, one after another."""
        filled = [part for part in parts if len(part)]
        columns = {}
        for name in filled[0].columns if filled else ():
            of_name = [part.columns[name] for part in filled]
            columns[name] = Ragged.from_parts(
                name, [column.values for column in of_name], [column.lengths for column in of_name]
            )
        return cls(head, columns)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], head: str) -> "FeatureSet":
        """The set that `to_arrays` took apart."""
        names = [name for name in arrays if not name.endswith(_LENGTHS_SUFFIX)]
        return cls(head, {name: Ragged.of_lengths(arrays[name], arrays[name + _LENGTHS_SUFFIX]) for name in names})

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Flat arrays by name: the values of each column, and the int32 lengths of its rows."""
        arrays = {}
        for name, column in self.columns.items():
            arrays |= {name: column.values, name + _LENGTHS_SUFFIX: column.lengths.astype(np.int32)}
        return arrays

    def __len__(self) -> int:
        return len(self.columns[INPUT_IDS]) if self.columns else 0

    def __getitem__(self, index: int) -> Feature:
        if not -len(self) <= index < len(self):
            raise IndexError(f"feature {index} of {len(self)}")
        index %= len(self)
        return from_columns({name: column[index] for name, column in self.columns.items()}, self.head)

    @property
    def examples(self) -> np.ndarray:
        """int [features]: the index of the example that each belongs to."""
        return self.columns[EXAMPLE_INDEX].values if self.columns else np.zeros(0, np.int32)

    def select(self, examples: np.ndarray) -> "FeatureSet":
        """The features of these examples, which are numbered anew from 0.

        Args:
            examples: int, ascending: their indices.
        """
        rows = np.flatnonzero(np.isin(self.examples, examples))
        columns = {name: column.select(rows) for name, column in self.columns.items()}
        numbers = np.searchsorted(examples, self.examples[rows]).astype(np.int32)
        columns[EXAMPLE_INDEX] = Ragged(numbers, columns[EXAMPLE_INDEX].splits)
        return FeatureSet(self.head, columns)

    def _cut_by_example(self) -> np.ndarray:
        """Pieces left out of each example, every one counted once."""
        _, first = np.unique(self.examples, return_index=True)
        return self.columns[PIECES_CUT].values[first] if self.columns else np.zeros(0, np.int32)

    @property
    def num_cut(self) -> int:
        """Number of examples that were cut because they are too long."""
        return int((self._cut_by_example() > 0).sum())

    @property
    def pieces_cut(self) -> int:
        """Number of pieces that were left out of the examples that were cut."""
        return int(self._cut_by_example().sum())

    @property
    def num_options(self) -> int:
        """Number of sequences of a feature: 1, or the options of a multiple choice.

        Raises:
            InputError: not every question has as many options.
        """
        if OPTION_LENGTHS not in self.columns or not len(self):
            return 1
        counts = np.unique(self.columns[OPTION_LENGTHS].lengths)
        if len(counts) > 1:
            raise InputError(f"every question must have as many options; here some have {counts[0]}, some {counts[-1]}")
        return int(counts[0])

    @property
    def sequences(self) -> Ragged:
        """input_ids with one row for each sequence: each feature, or each option of each feature."""
        if not self.columns:
            return Ragged.from_parts(INPUT_IDS, [], [])
        if OPTION_LENGTHS not in self.columns:
            return self.columns[INPUT_IDS]
        return Ragged.of_lengths(self.columns[INPUT_IDS].values, self.columns[OPTION_LENGTHS].values.astype(np.int64))

    @property
    def lengths(self) -> np.ndarray:
        """int64 [features]: pieces of each; of the longest option, with several."""
        return self.sequences.lengths.reshape(len(self), self.num_options).max(axis=1, initial=0)
