"""Counts of how often each piece is masked: all that a model that looks at no context can learn."""

from collections.abc import Iterable, Mapping

import numpy as np


def count_masked_pieces(batches: Iterable[Mapping], num_examples: int, vocab_size: int, enough: int) -> np.ndarray:
    """Counts what is to be predicted in the first examples of a training stream, of one epoch at most; int64 [V].

    Args:
        batches: what make_dataset returns, from the stream's start.
        num_examples: of an epoch.
        vocab_size: V.
        enough: number of pieces after which counting ends.
    """
    counts, left = np.zeros(vocab_size, np.int64), num_examples
    for batch in batches:
        # A batch may reach into the second epoch.
        real = batch["masked_lm_weights"][:left].numpy() > 0
        counts += np.bincount(batch["masked_lm_ids"][:left].numpy()[real], minlength=vocab_size)
        left -= len(batch["masked_lm_ids"])
        if left <= 0 or counts.sum() >= enough:
            break
    return counts
