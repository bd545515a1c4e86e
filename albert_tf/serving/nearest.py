"""The nearest of many vectors to some, by products of blocks: memory does not grow with their number.

Shapes: N vectors, Q queries, K nearest, H numbers of a vector.
"""

from collections.abc import Callable

import numpy as np

# Vectors that are compared at a time.
_BLOCK = 1 << 14


def find_nearest(
    vectors: np.ndarray,
    queries: np.ndarray,
    count: int,
    to_floats: Callable[[np.ndarray], np.ndarray] = np.asarray,
    allowed: np.ndarray | None = None,
    block: int = _BLOCK,
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors with the largest products, largest first, of equals the one that stands first.

    Args:
        vectors: N of them, of any dtype, in memory or mapped from a file; those with NaN are never found.
        queries: float32 [Q, H].
        count: K, if there are as many.
        to_floats: makes float32 [n, H] of some of the vectors.
        allowed: bool [N], those that may be found; None: all.
        block: how many are compared at a time.

    Returns:
        (places int64, products float32), both [Q, the lesser of K and N]; the product is -inf, and the place means
        nothing, where there are fewer that can be found.
    """
    count = min(count, len(vectors))
    places = np.zeros((len(queries), count), np.int64)
    products = np.full((len(queries), count), -np.inf, np.float32)
    if not count:
        return places, products
    for start in range(0, len(vectors), block):
        found = queries @ to_floats(vectors[start : start + block]).T
        hidden = np.isnan(found)
        if allowed is not None:
            hidden |= ~allowed[start : start + block]
        found = np.where(hidden, np.float32(-np.inf), found)
        for query, row in enumerate(found):
            at = _largest(row, count)
            # Those of earlier blocks stand first, and so do they among equals.
            both = np.concatenate([products[query], row[at]])
            kept = np.argsort(-both, kind="stable")[:count]
            places[query] = np.concatenate([places[query], start + at])[kept]
            products[query] = both[kept]
    return places, products


def _largest(row: np.ndarray, count: int) -> np.ndarray:
    """The places of the largest numbers, in the order in which they stand; of equals the first ones."""
    if len(row) <= count:
        return np.arange(len(row))
    least = np.partition(row, -count)[-count]
    above, equal = np.flatnonzero(row > least), np.flatnonzero(row == least)
    return np.sort(np.concatenate([above, equal[: count - len(above)]]))
