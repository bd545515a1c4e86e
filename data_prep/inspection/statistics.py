"""Counts of what a set of examples holds: in the making for the manifest, and from finished records."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from albert_tf.records.instance_batch import InstanceBatch
from albert_tf.records.pretraining_records import PretrainingInstance

_DIGITS = 6
_COUNTERS = ("counts", "lengths", "labels", "windows")


class RecordStatistics:
    """Counts over examples; those of parts add up, in any order, to those of the whole."""

    def __init__(self, mask_id: int, unk_id: int):
        """Takes the ids of [MASK] and <unk>."""
        self.mask_id, self.unk_id = mask_id, unk_id
        self.counts: Counter[str] = Counter()
        self.lengths: Counter[int] = Counter()
        self.labels: Counter[int] = Counter()
        self.windows: Counter[int] = Counter()
        self.distinct: set[int] = set()

    def add(self, instance: PretrainingInstance, windows: Sequence[int] | None = None) -> None:
        """Counts one example.

        Args:
            instance: the example.
            windows: words of each masked window. None: taken from the record, where windows that touch are one.
        """
        ids, positions, originals = instance.input_ids, instance.masked_lm_positions, instance.masked_lm_ids
        shown = [ids[position] for position in positions]
        masked = shown.count(self.mask_id)
        kept = sum(map(int.__eq__, shown, originals))
        text = list(ids)
        for position, original in zip(positions, originals):
            text[position] = original
        counts = self.counts
        counts["examples"] += 1
        counts["tokens"] += len(ids)
        counts["predictions"] += len(shown)
        counts["masked"] += masked
        counts["kept"] += kept
        counts["unknown"] += text.count(self.unk_id)
        counts["without_predictions"] += not shown
        self.lengths[len(ids)] += 1
        self.labels[instance.label] += 1
        self.windows.update(_find_runs(instance) if windows is None else windows)
        self.distinct.update(text)

    def add_batch(self, batch: InstanceBatch, windows: np.ndarray) -> None:
        """Counts many examples.

        Args:
            batch: the examples.
            windows: how many masked windows have 0, 1, 2, ... words.
        """
        places = np.repeat(batch.offsets[:-1], np.diff(batch.prediction_offsets)) + batch.masked_lm_positions
        shown, text = batch.input_ids[places], batch.input_ids.copy()
        text[places] = batch.masked_lm_ids
        lengths = np.bincount(np.diff(batch.offsets))
        pieces = np.bincount(text, minlength=self.unk_id + 1)
        self.counts.update(
            {
                "examples": len(batch),
                "tokens": len(text),
                "predictions": len(shown),
                "masked": int((shown == self.mask_id).sum()),
                "kept": int((shown == batch.masked_lm_ids).sum()),
                "unknown": int(pieces[self.unk_id]),
                "without_predictions": int((np.diff(batch.prediction_offsets) == 0).sum()),
            }
        )
        self.lengths.update(_nonzero(lengths))
        self.labels.update(_nonzero(np.bincount(batch.labels)))
        self.windows.update(_nonzero(windows))
        self.distinct.update(np.flatnonzero(pieces).tolist())

    def to_json(self) -> dict:
        """The counts as JSON can hold them, the distinct pieces aside."""
        return {name: [*getattr(self, name).items()] for name in _COUNTERS}

    def add_json(self, counts: Mapping) -> None:
        """Adds what to_json gave."""
        for name in _COUNTERS:
            getattr(self, name).update(dict(map(tuple, counts[name])))

    def summary(self, max_seq_length: int, masked: bool = True) -> dict:
        """The figures as numbers and lists that JSON can hold; shares are rounded.

        Args:
            max_seq_length: S.
            masked: whether the examples have masks; without, there is nothing to say about predictions.
        """
        counts = self.counts
        examples, predictions = counts["examples"], counts["predictions"]
        replaced = predictions - counts["masked"] - counts["kept"]
        windows = sum(self.windows.values())
        longest = max(self.windows, default=0)
        predicted = {
            "predictions": predictions,
            "predictions_per_example": _share(predictions, examples),
            "mask_rate": _share(predictions, counts["tokens"]),
            "examples_without_predictions": counts["without_predictions"],
            "shown_as_mask_share": _share(counts["masked"], predictions),
            "shown_unchanged_share": _share(counts["kept"], predictions),
            "shown_as_random_piece_share": _share(replaced, predictions),
            "window_words_shares": [_share(self.windows[words], windows) for words in range(1, longest + 1)],
        }
        return {
            "examples": examples,
            "tokens": counts["tokens"],
            "mean_length": _share(counts["tokens"], examples),
            "shortest": min(self.lengths, default=0),
            "full_length_share": _share(self.lengths[max_seq_length], examples),
            "padding_share": _share(examples * max_seq_length - counts["tokens"], examples * max_seq_length),
            **(predicted if masked else {}),
            "label_1_share": _share(self.labels[1], examples),
            "unknown_share": _share(counts["unknown"], counts["tokens"]),
            "distinct_pieces": len(self.distinct),
        }


def _find_runs(instance: PretrainingInstance) -> list[int]:
    """Counts the words of each run of neighbouring masked positions, one at least."""
    runs, previous = [], -2
    for position in instance.masked_lm_positions:
        if position != previous + 1:
            runs.append(1)
        else:
            runs[-1] += instance.token_boundary[position]
        previous = position
    return runs


def _nonzero(counts: np.ndarray) -> dict[int, int]:
    """{number: how often} of an array of counts."""
    return {number: int(counts[number]) for number in np.flatnonzero(counts).tolist()}


def _share(part: int, whole: int) -> float:
    return round(part / whole, _DIGITS) if whole else 0.0


def histogram(lengths: Counter[int], max_seq_length: int, bars: int = 8) -> list[tuple[int, int, int]]:
    """(from, to, examples) for `bars` ranges of lengths of about equal width, up to S."""
    edges = [round(max_seq_length * bar / bars) for bar in range(bars + 1)]
    return [
        (low + 1, high, sum(lengths[length] for length in range(low + 1, high + 1)))
        for low, high in itertools.pairwise(edges)
    ]
