"""Several short examples in one row: what a batch has of padding is not computed.

b examples of a share of a batch, in R rows of S tokens, N examples and P predictions of a row; W steps of a window.

The rows of a step are fixed before the run, as it is compiled for them, and so is the number of examples that it
draws: as many as the lengths of the records leave room for. Some steps together, a window, share their examples out
among all their rows, so that one step's luck is another's: the larger the number, the less room is kept for chance.
An example in a thousand, on average, finds none and is left out of its epoch.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.records.masking_rules import MaskingRules
from albert_tf.records.names import LABEL, SEQUENCE_IDS, SEQUENCE_STARTS, SEQUENCE_WEIGHTS, WEIGHTS_FEATURE
from albert_tf.records.record_files import detect_compression
from albert_tf.records.unmasked_records import parse_unmasked_batch

# Share of the examples that may be left out.
_LEFT_OUT = 0.001
# Rows of a window.
_FEWEST_ROWS = 1024
# Records whose lengths stand for all, and the rows that are packed of them on trial.
_MOST_RECORDS = 8192
_TRIAL_ROWS = 4096
_SEED = 1


@dataclasses.dataclass(frozen=True)
class Packing:
    """The size of a share of a batch whose rows hold several examples.

    Attributes:
        rows: R.
        examples: b, that a step draws.
        steps: W.
        sequences: N, the most examples of a row.
        predictions: P, the most predictions of a row.
    """

    rows: int
    examples: int
    steps: int
    sequences: int
    predictions: int


def sample_lengths(paths: Sequence[str], max_seq_length: int) -> np.ndarray:
    """The lengths in tokens of records without masks, some thousands of them: int64 [n].

    Args:
        paths: record files, each of them shuffled.
        max_seq_length: S of the records.
    """
    found = []
    for path in paths:
        records = tf.data.TFRecordDataset(path, compression_type=detect_compression(path))
        batches = records.take(-(-_MOST_RECORDS // len(paths))).batch(1024)
        found += [parse_unmasked_batch(batch, max_seq_length).lengths.numpy() for batch in batches]
    return np.concatenate(found).astype(np.int64)


def plan_packing(lengths: np.ndarray, rows: int, length: int, rules: MaskingRules) -> Packing:
    """The number of examples that so many rows have room for, by windows of such lengths on trial.

    Args:
        lengths: tokens of some records, int [n].
        rows: R.
        length: S; longer examples are cut to it.
        rules: of masking.
    """
    cut = np.minimum(lengths, length)
    steps = -(-_FEWEST_ROWS // rows)

    def place_all(examples):
        """The results of `place` for some windows, of rows without end, the places where the predictions end added."""
        draws = np.random.default_rng(_SEED)
        found = []
        for _ in range(-(-_TRIAL_ROWS // (steps * rows))):
            chosen = draws.choice(cut, steps * examples)
            budgets = rules.budgets(chosen)
            placed = place(chosen, budgets, Packing(len(chosen), len(chosen), 1, length, length), length)
            found.append(placed + np.outer(budgets, (0, 0, 0, 1)))
        return np.concatenate(found)

    # One in a row always finds room.
    fewest, most = rows, max(rows, int(rows * length / cut.mean()))
    while fewest < most:
        examples = (fewest + most + 1) // 2
        if (place_all(examples)[:, 0] >= steps * rows).mean() <= _LEFT_OUT:
            fewest = examples
        else:
            most = examples - 1
    _, _, numbers, ends = place_all(fewest).T
    predictions = max(ends.max(), *rules.budgets(np.array([length])))
    return Packing(rows, fewest, steps, int(numbers.max()) + 1, int(predictions))


def place(lengths: np.ndarray, predictions: np.ndarray, size: Packing, length: int) -> np.ndarray:
    """Finds a place for every example, the longest first, each in the first row that has room (first-fit decreasing).

    Args:
        lengths: tokens of each example of a window, int [W b].
        predictions: of each, likewise.
        size: of the steps.
        length: S.

    Returns:
        int32 [W b, 4]: the row of each example, of W R, and that number if it finds none; its first token's place in
        the row; which of the row's examples it is, from 0; its first prediction's place in the row.
    """
    rows = size.steps * size.rows
    used = np.zeros((rows + 1, 3), np.int64)
    most = np.array([length, size.sequences, size.predictions])
    placed = np.tile(np.array([rows, 0, 0, 0], np.int32), (len(lengths), 1))
    opened = 0
    for example in np.argsort(-lengths, kind="stable"):
        wanted = np.array([lengths[example], 1, predictions[example]])
        fits = (used[: opened + 1] + wanted <= most).all(axis=1)
        row = int(fits.argmax())
        if row < rows and fits[row]:
            placed[example] = row, *used[row]
            used[row] += wanted
            opened = max(opened, row + 1)
    return placed


def pack_batches(batches: tf.data.Dataset, size: Packing, length: int) -> tf.data.Dataset:
    """The batches of what RowPacker.pack makes of masked ones, from the first step of a window on."""
    windows = batches.batch(size.steps, drop_remainder=True)
    return windows.map(RowPacker(size, length).pack).unbatch()


class RowPacker:
    """Lays the examples of some steps into their rows.

    Args:
        size: of a share of a batch.
        length: S.
    """

    def __init__(self, size: Packing, length: int):
        self._size, self._length = size, length
        # First-fit decreasing leaves rows alike side by side.
        self._order = np.random.default_rng(_SEED).permutation(size.steps * size.rows)

    def pack(self, batches: dict[str, Any]) -> dict[str, Any]:
        """The same examples in fewer rows.

        Args:
            batches: what pretraining_records.parse_batch returns, of W steps: by name [W, b, ...].

        Returns:
            the same by name, [W, R, ...]; the label [W, R, N]; and position_ids int32 [W, R, S], from 0 in each
            example; SEQUENCE_IDS int32 [W, R, S], from 1, 0 in padding; SEQUENCE_STARTS int32 [W, R, N];
            SEQUENCE_WEIGHTS float32 [W, R, N], 0 where there is no example. What has no room is left out.
        """
        size, given = self._size, {name: _joined(value) for name, value in batches.items()}
        lengths = tf.reduce_sum(given["input_mask"], axis=1)
        counts = tf.reduce_sum(tf.cast(given[WEIGHTS_FEATURE], tf.int32), axis=1)
        placed = tf.numpy_function(
            lambda lengths, counts: place(lengths, counts, size, self._length), [lengths, counts], tf.int32
        )
        row, offset, number, slot = tf.unstack(tf.ensure_shape(placed, [lengths.shape[0], 4]), axis=1)
        rows = size.steps * size.rows
        tokens = _Laying(row, offset, lengths, given["input_ids"].shape[1], rows, self._length)
        masked = _Laying(row, slot, counts, given["masked_lm_ids"].shape[1], rows, size.predictions)
        single = _Laying(row, number, tf.ones_like(row), 1, rows, size.sequences)
        packed = {
            **{name: tokens.lay(given[name]) for name in ("input_ids", "input_mask", "segment_ids")},
            "position_ids": tokens.lay(tokens.within),
            SEQUENCE_IDS: tokens.lay(tf.zeros_like(tokens.within) + number[:, None] + 1),
            "masked_lm_positions": masked.lay(given["masked_lm_positions"] + offset[:, None]),
            **{name: masked.lay(given[name]) for name in ("masked_lm_ids", WEIGHTS_FEATURE)},
            LABEL: single.lay(given[LABEL][:, None]),
            SEQUENCE_STARTS: single.lay(offset[:, None]),
            SEQUENCE_WEIGHTS: single.lay(tf.ones([lengths.shape[0], 1])),
        }
        return {name: self._of_steps(value) for name, value in packed.items()}

    def _of_steps(self, value):
        return tf.reshape(tf.gather(value, self._order), [self._size.steps, self._size.rows, value.shape[1]])


def _joined(value):
    """[W, b, ...] -> [W b, ...]."""
    return tf.reshape(value, [value.shape[0] * value.shape[1], *value.shape[2:]])


class _Laying:
    """Values of examples, laid one after another into rows.

    Args:
        row: int32 [n], the row of each example; `rows` for none.
        start: int32 [n], the place in the row of its first value.
        count: int32 [n], how many values it has.
        width: the most values of an example, m.
        rows: number of rows.
        length: values of a row.
    """

    def __init__(self, row, start, count, width: int, rows: int, length: int):
        self._shape = [rows, length]
        self.within = tf.tile(tf.range(width)[None], [row.shape[0], 1])
        self._real = self.within < count[:, None]
        places = (row * length + start)[:, None] + self.within
        self._places = tf.boolean_mask(places, self._real)[:, None]

    def lay(self, values):
        """[n, m] -> [rows, length], zero where nothing is."""
        rows, length = self._shape
        # A row more, for what has none.
        flat = tf.scatter_nd(self._places, tf.boolean_mask(values, self._real), [(rows + 1) * length])
        return tf.reshape(flat, [rows + 1, length])[:rows]
