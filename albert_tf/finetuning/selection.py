"""Examples that a run takes of a split: at most so many, or the folds that take turns as the dev split."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from albert_tf.runtime.errors import InputError

# The same examples for every seed of a run; of fewer each is among those of more.
_SEED = 0


def groups_of(unit: str, read: Callable[[], Sequence[Any]]) -> list[str] | None:
    """The groups of examples that stay whole; None where every example stands alone, and none is read.

    Args:
        unit: of the task; see tasks.task.Task.
        read: gives the examples.
    """
    return [example.group for example in read()] if unit else None


def key_of_cap(unit: str, most: int | None) -> dict[str, Any]:
    """The cap in the key of a part of the examples, and what is drawn whole, of which earlier versions drew parts."""
    return {} if most is None else {"most": most, "unit": unit} if unit else {"most": most}


def choose_examples(number: int, most: int | None, groups: Sequence[str] | None = None) -> np.ndarray | None:
    """The examples that a cap leaves, drawn at random, in their order; None where it leaves all.

    Files are often sorted by their label, so the first ones would not do.

    Args:
        number: of a split's examples.
        most: the cap.
        groups: of each example, where groups are drawn whole; as many as the cap has room for.

    Raises:
        InputError: it has no room for the first group that is drawn.
    """
    if most is None or number <= most:
        return None
    if groups is None:
        return np.sort(np.random.default_rng(_SEED).permutation(number)[:most])
    names, group_of, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    drawn = np.random.default_rng(_SEED).permutation(len(names))
    chosen = drawn[np.cumsum(sizes[drawn]) <= most]
    if not len(chosen):
        least = int(sizes[drawn[0]])
        raise InputError(
            f"the group that is drawn first has {least} examples, which stay together; give {least} or more"
        )
    return np.flatnonzero(np.isin(group_of, chosen))


def assign_folds(number: int, num_folds: int, groups: Sequence[str] | None = None) -> np.ndarray:
    """The fold of each example, from 0: int [number], drawn at random, of sizes that differ by one at most.

    Args:
        number: of examples.
        num_folds: how many there are.
        groups: of each example, where groups stay whole; it is their numbers then that differ by one at most.

    Raises:
        InputError: there are fewer examples, or groups, than folds.
    """
    if groups is not None:
        names, group_of = np.unique(groups, return_inverse=True)
        return _deal(len(names), num_folds, "groups")[group_of]
    return _deal(number, num_folds, "examples")


def _deal(number: int, num_folds: int, what: str) -> np.ndarray:
    if number < num_folds:
        raise InputError(f"--num_folds={num_folds} needs as many {what} at least; there are {number}")
    folds = np.arange(number) % num_folds
    return np.random.default_rng(_SEED).permutation(folds)
