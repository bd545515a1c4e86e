"""A task without a dev split: its training split in folds, each of which is the dev split of one run."""

import functools

import numpy as np

from albert_tf.finetuning.data import FinetuningData, Split
from albert_tf.finetuning.selection import assign_folds, groups_of


class FoldData(FinetuningData):
    """The data of a run whose dev split is one fold of the training split.

    Args:
        whole: the data, whose task has no dev split.
        number: of the fold, from 0.
    """

    def __init__(self, whole: FinetuningData, number: int):
        super().__init__(whole.settings, whole.task, whole.tokenizer)
        self._whole, self._number = whole, number

    def names(self, kind: str) -> list[str]:
        """The splits of a kind; a part of the training split is the one of the kind "dev"."""
        return ["dev"] if kind == "dev" else self._whole.names(kind)

    @functools.cached_property
    def dev_digest(self) -> str:
        """The same of the fold."""
        fold = [self._number, self.settings.num_folds, self.settings.max_train_examples]
        fold += [self.task.unit] if self.task.unit else []
        return self._digest_of(self._whole.training_split().name, fold=fold)

    def split(self, name: str) -> Split:
        """A split, or a part of the training split; errors as of FinetuningData.split."""
        if name.split("_")[0] not in ("train", "dev"):
            return self._whole.split(name)
        if name not in self._splits:
            whole = self._whole.training_split()
            number = int(whole.features.examples.max()) + 1
            groups = groups_of(self.task.unit, lambda: whole.examples)
            is_dev = assign_folds(number, self.settings.num_folds, groups) == self._number
            chosen = np.flatnonzero(is_dev if name == "dev" else ~is_dev)
            of_chosen = None if groups is None else [groups[index] for index in chosen]
            few = self.choose(name, len(chosen), of_chosen) if name == "dev" else None
            chosen = chosen if few is None else chosen[few]
            split = Split(name, lambda: [whole.examples[index] for index in chosen])
            split.features = whole.features.select(chosen)
            self._splits[name] = split
        return self._splits[name]
