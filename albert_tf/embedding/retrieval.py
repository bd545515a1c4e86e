"""Measures of a search: at which places the right texts stand.

Shapes: Q queries, N texts.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

RECALLS = (1, 5, 10)
MRR = "mrr"
# Queries that are compared with all texts at a time.
_QUERIES_AT_ONCE = 256


def ranks(
    scores: Iterable[np.ndarray], right: Sequence[Sequence[int]], own: Sequence[int | None] | None = None
) -> list[np.ndarray]:
    """The places, from 1 and ascending, of the right texts of each query: Q times int64 [right texts].

    A text that is not right and has the same score stands before them: who gives all the same score finds nothing.

    Args:
        scores: float [q, N], higher is nearer; of some queries after others, Q of them in all. NaN is never near.
        right: of each query, the places among the texts of those that are right, one at least.
        own: of each query, its own place among the texts, which counts for nothing unless it is right; None where it
            has none.
    """
    found: list[np.ndarray] = []
    for block in scores:
        for row in np.nan_to_num(block, nan=-np.inf):
            rights = np.asarray(right[len(found)])
            itself = None if own is None else own[len(found)]
            if itself is not None and itself not in right[len(found)]:
                row[itself] = -np.inf
            scored = -np.sort(-row[rights])
            others = np.sort(np.delete(row, rights))
            before = len(others) - np.searchsorted(others, scored, side="left")
            found.append(1 + np.arange(len(rights)) + before)
    return found


def retrieval_scores(found: Sequence[np.ndarray]) -> dict[str, float]:
    """Recall, the share of a query's right texts among the first of so many, and 1 / the first's place, by name.

    Both are means over the queries.

    >>> retrieval_scores([np.array([1]), np.array([2, 8])])
    {'recall_at_1': 0.5, 'recall_at_5': 0.75, 'recall_at_10': 1.0, 'mrr': 0.75}

    Args:
        found: of `ranks`.
    """
    recalls = {
        f"recall_at_{count}": float(np.mean([np.mean(places <= count) for places in found])) for count in RECALLS
    }
    return {**recalls, MRR: float(np.mean([1.0 / places[0] for places in found]))}


def products(queries: np.ndarray, texts: np.ndarray) -> Iterator[np.ndarray]:
    """Yields the products of vectors, for `ranks`: of float32 [Q, H] and [N, H] some [q, N]."""
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        yield queries[start : start + _QUERIES_AT_ONCE] @ texts.T
