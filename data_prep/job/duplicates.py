"""Documents that stand in the corpus more than once: all but the first are left out.

Only digests are compared, those of a share of all documents at a time, so that memory does not grow with the corpus.
"""

import os

import numpy as np

from data_prep.job.unit_files import load_unit, write_unit

# Digests compared at a time; each takes some 80 bytes while it is sorted.
_DIGESTS_AT_ONCE = 1_000_000


def find_duplicates(folder: str, token_paths: list[str], at_once: int = _DIGESTS_AT_ONCE) -> None:
    """Notes in the folder which documents to keep.

    Args:
        folder: the workspace.
        token_paths: the units of the parts, in order; each with its documents' "digests".
        at_once: how many digests to hold.
    """
    counts = [len(load_unit(path).arrays["digests"]) // 2 for path in token_paths]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    kept = np.ones(first[-1], bool)
    rounds = max(1, -(-int(first[-1]) // at_once))
    for turn in range(rounds):
        digests, numbers = [np.zeros((0, 2), np.uint64)], [np.zeros(0, np.int64)]
        for start, path in zip(first, token_paths):
            of_part = load_unit(path).arrays["digests"].reshape(-1, 2)
            chosen = np.flatnonzero(of_part[:, 0] % np.uint64(rounds) == turn)
            digests.append(of_part[chosen])
            numbers.append(start + chosen)
        digests, numbers = np.concatenate(digests), np.concatenate(numbers)
        order = np.lexsort((numbers, digests[:, 1], digests[:, 0]))
        again = (digests[order][1:] == digests[order][:-1]).all(axis=1)
        kept[numbers[order][1:][again]] = False
    write_unit(os.path.join(folder, "kept"), {}, {"kept": np.packbits(kept), "first": first})


def read_kept(folder: str, part: int, count: int) -> np.ndarray:
    """Reads which of the `count` documents of a part to keep: bool [count]."""
    arrays = load_unit(os.path.join(folder, "kept")).arrays
    start = int(arrays["first"][part])
    low = start // 8
    bits = np.unpackbits(arrays["kept"][low : (start + count + 7) // 8])
    return bits[start - 8 * low : start - 8 * low + count].astype(bool)
