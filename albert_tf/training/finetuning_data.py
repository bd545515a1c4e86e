"""The data of a fine-tuning run: its task, its vocabulary, its features by split, their lengths."""

import dataclasses
import functools
import os
from typing import Any

import numpy as np
from absl import logging

from albert_tf.errors import InputError
from albert_tf.inputs.finetuning_dataset import BatchShape
from albert_tf.inputs.finetuning_features import FeatureSet
from albert_tf.inputs.length_buckets import choose_buckets
from albert_tf.tasks.feature_sets import load_split_features
from albert_tf.tasks.task import Task
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.training.finetuned_task import FinetunedTask
from albert_tf.training.finetuning_settings import FinetuningSettings

CACHE_NAME = "features"


class Split:
    """One split of a task.

    Args:
        task: the task.
        name: for example "dev" or "test_matched".

    Attributes:
        features: of its examples, all of them.
    """

    def __init__(self, task: Task, name: str):
        self.name = name
        self._task = task
        self.features: FeatureSet

    @functools.cached_property
    def examples(self) -> list[Any]:
        """All of them, read when they are first asked for: features in a cache need none."""
        return self._task.examples(self.name)


class FinetuningData:
    """What all runs of a command share, whatever their seed.

    Args:
        settings: the flags.
        task: what they make it.
        tokenizer: the vocabulary.
    """

    def __init__(self, settings: FinetuningSettings, task: Task, tokenizer: AlbertTokenizer):
        self.settings = settings
        self.task = task
        self.tokenizer = tokenizer
        self._splits: dict[str, Split] = {}

    def names(self, kind: str) -> list[str]:
        """The splits of a kind, "train", "dev" or "test", that are there; "dev_matched" is of the kind "dev"."""
        return [name for name in self.task.splits() if name.split("_")[0] == kind]

    def split(self, name: str) -> Split:
        """A split, read once.

        Raises:
            InputError: its files are missing or at fault, or hold nothing.
        """
        if name not in self._splits:
            settings, split = self.settings, Split(self.task, name)
            folder = settings.cache_dir or os.path.join(settings.output_dir, CACHE_NAME)
            made = load_split_features(
                *(self.task, name, self.tokenizer, settings.task_settings, folder, settings.num_workers),
                examples=lambda: split.examples,
            )
            if not len(made):
                raise InputError(f"{', '.join(self.task.input_files(name))}: no examples")
            logging.info(
                "%s: %s features of %d to %d pieces, on average %.1f",
                *(name, f"{len(made):,}", made.lengths.min(), made.lengths.max(), made.lengths.mean()),
            )
            split.features = made
            self._splits[name] = split
        return self._splits[name]

    def training_split(self) -> Split:
        """The split to train on.

        Raises:
            InputError: there is none.
        """
        names = self.names("train")
        if not names:
            raise InputError(f"--task_name={self.task.name} has no training split; leave --do_train out")
        return self.split(names[0])

    def dev_splits(self) -> list[Split]:
        """Those to evaluate on; checkpoints are compared by the first.

        Raises:
            InputError: there is none.
        """
        names = self.names("dev")
        if not names:
            raise InputError(f"--task_name={self.task.name} has no dev split; leave --do_eval out")
        return [self.split(name) for name in names]

    @functools.cached_property
    def _buckets(self) -> tuple[int, ...]:
        settings = self.settings
        if settings.pad_to_max_length:
            return (settings.max_seq_length,)
        names = [
            *(self.names("train")[:1] if settings.do_train else []),
            *(self.names("dev") if settings.do_eval else []),
            *(self.names("test") if settings.do_predict else []),
        ]
        lengths = np.concatenate([self.split(name).features.lengths for name in names])
        buckets = tuple(choose_buckets(lengths, settings.max_seq_length))
        positions = np.asarray(buckets)[np.searchsorted(buckets, lengths)].mean()
        logging.info(
            "batches of %s positions: %.1f positions a row, in place of %d",
            *(", ".join(map(str, buckets)), positions, settings.max_seq_length),
        )
        return buckets

    def batch_shape(self, batch_size: int) -> BatchShape:
        """How features become batches of so many rows."""
        return BatchShape(batch_size, self._buckets)

    def vocabulary(self) -> dict[str, Any]:
        """{"file", "sha256", "size"}."""
        tokenizer = self.tokenizer
        file = os.path.basename(tokenizer.model_file)
        return {"file": file, "sha256": tokenizer.sha256, "size": tokenizer.vocab_size}

    def finetuned_task(self) -> FinetunedTask:
        """What a checkpoint of these runs is for."""
        task, settings = self.task, self.settings
        return FinetunedTask(
            head=task.head,
            num_labels=num_labels(task),
            labels=tuple(task.labels),
            name=task.name,
            input_fields=tuple(task.input_fields),
            settings=dataclasses.asdict(settings.task_settings),
            cleaning=dataclasses.asdict(self.tokenizer.cleaning),
            options=dataclasses.asdict(settings.task_options),
            classifier_dropout_prob=settings.classifier_dropout_prob,
        )


def num_labels(task: Task) -> int:
    """How many numbers the task's head gives."""
    if task.head in ("classification", "multi_label", "token_classification"):
        return len(task.labels)
    return 2 if task.head.startswith("span") else 1
