"""Examples that a run takes of a split: at most so many, or the folds that take turns as the dev split."""

import numpy as np

from albert_tf.runtime.errors import InputError

# The same examples for every seed of a run; of fewer each is among those of more.
_SEED = 0


def choose_examples(number: int, most: int | None) -> np.ndarray | None:
    """The examples that a cap leaves, drawn at random, in their order; None where it leaves all.

    Files are often sorted by their label, so the first ones would not do.

    Args:
        number: of a split's examples.
        most: the cap.
    """
    if most is None or number <= most:
        return None
    return np.sort(np.random.default_rng(_SEED).permutation(number)[:most])


def assign_folds(number: int, num_folds: int) -> np.ndarray:
    """The fold of each example, from 0: int [number], drawn at random, of sizes that differ by one at most.

    Raises:
        InputError: there are fewer examples than folds.
    """
    if number < num_folds:
        raise InputError(f"--num_folds={num_folds} needs as many examples at least; there are {number}")
    folds = np.arange(number) % num_folds
    return np.random.default_rng(_SEED).permutation(folds)
