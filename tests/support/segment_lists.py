"""Segment pairs written down as lists of ids, as tests have them."""

from collections.abc import Sequence

import numpy as np

from data_prep.examples.segment_pairs import SegmentPairs


def from_lists(pairs: Sequence[tuple[Sequence[int], Sequence[int], int]]) -> tuple[np.ndarray, SegmentPairs]:
    """Ids and pairs from (first, second, label), with the ids of both segments as lists."""
    ids = np.array([piece for first, second, _ in pairs for piece in (*first, *second)], np.uint16)
    lengths = np.array([[len(first), len(second)] for first, second, _ in pairs], np.int64)
    ends = np.cumsum(lengths.ravel()).reshape(-1, 2)
    return ids, SegmentPairs(ends - lengths, ends, np.array([label for *_, label in pairs], np.uint8))
