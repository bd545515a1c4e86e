"""All features of a split in memory: flat arrays, so that making a batch is a gather and not a loop over objects."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from albert_tf.inputs.finetuning_records import (
    EXAMPLE_INDEX,
    INPUT_IDS,
    OPTION_LENGTHS,
    P_MASK,
    PIECES_CUT,
    SEGMENT_IDS,
    Feature,
    from_columns,
    to_columns,
)
from albert_tf.records.record_files import locate_damage
from albert_tf.runtime.errors import InputError

_RECORDS_AT_ONCE = 4096
_READ_BUFFER_BYTES = 8 << 20
# The largest set, RACE, has about 120 million pieces: what is only 0 or 1 is kept small.
_COLUMN_TYPES = {SEGMENT_IDS: np.int8, P_MASK: np.int8}


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


class FeatureSet(Sequence[Feature]):
    """The features of a split, in order; a sequence of Feature, made when asked for.

    Attributes:
        head: which head they are for.
        columns: by the names of finetuning_records, one row for each feature.
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
    def from_file(cls, path: str, head: str) -> "FeatureSet":
        """Reads the features of a record file.

        Raises:
            InputError: the file is damaged.
        """
        import tensorflow as tf

        first = next(iter(tf.data.TFRecordDataset(path).take(1)), None)
        if first is None:
            return cls(head, {})
        wanted = _record_columns(tf, first.numpy())
        values: dict[str, list] = {name: [] for name in wanted}
        lengths: dict[str, list] = {name: [] for name in wanted}
        records = tf.data.TFRecordDataset(path, buffer_size=_READ_BUFFER_BYTES).batch(_RECORDS_AT_ONCE)
        try:
            for parsed in records.map(lambda batch: tf.io.parse_example(batch, wanted)):
                for name, column in parsed.items():
                    part = column.values.numpy()
                    values[name].append(
                        part.astype(_COLUMN_TYPES.get(name, np.int32)) if part.dtype == np.int64 else part
                    )
                    lengths[name].append(column.row_lengths().numpy())
        except tf.errors.DataLossError as error:
            raise InputError(locate_damage([path]) or f"{path}: damaged: {error}") from None
        return cls(head, {name: Ragged.from_parts(name, values[name], lengths[name]) for name in wanted})

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


def _record_columns(tf, message: bytes) -> dict:
    """Specification for parsing records like this one: every feature in it, of any length."""
    example = tf.train.Example.FromString(message)
    types = {"int64_list": tf.int64, "float_list": tf.float32}
    return {
        name: tf.io.RaggedFeature(types[feature.WhichOneof("kind")], row_splits_dtype=tf.int64)
        for name, feature in example.features.feature.items()
    }
