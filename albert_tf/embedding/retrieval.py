"""Measures of a search: at which place the right text stands.

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
) -> np.ndarray:
    """The place, from 1, of the first right text of each query: int64 [Q].

    A text that is not right and has the same score stands before it: who gives all the same score finds nothing.

    Args:
        scores: float [q, N], higher is nearer; of some queries after others, Q of them in all. NaN is never near.
        right: of each query, the places among the texts of those that are right, one at least.
        own: of each query, its own place among the texts, which counts for nothing unless it is right; None where it
            has none.
    """
    found: list[int] = []
    for block in scores:
        for row in np.nan_to_num(block, nan=-np.inf):
            rights = np.asarray(right[len(found)])
            itself = None if own is None else own[len(found)]
            if itself is not None and itself not in right[len(found)]:
                row[itself] = -np.inf
            best = row[rights].max()
            found.append(1 + int((row >= best).sum()) - int((row[rights] >= best).sum()))
    return np.array(found, np.int64)


def retrieval_scores(found: np.ndarray) -> dict[str, float]:
    """Share of queries whose right text is among the first of so many, and the mean of 1 / rank, by name.

    >>> retrieval_scores(np.array([1, 4, 20, 1]))
    {'recall_at_1': 0.5, 'recall_at_5': 0.75, 'recall_at_10': 0.75, 'mrr': 0.575}

    Args:
        found: of `ranks`.
    """
    recalls = {f"recall_at_{count}": float(np.mean(found <= count)) for count in RECALLS}
    return {**recalls, MRR: float(np.mean(1.0 / found))}


def products(queries: np.ndarray, texts: np.ndarray) -> Iterator[np.ndarray]:
    """Yields the products of vectors, for `ranks`: of float32 [Q, H] and [N, H] some [q, N]."""
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        yield queries[start : start + _QUERIES_AT_ONCE] @ texts.T
