"""The data of a fine-tuning run: its task, its vocabulary, its features by split, their lengths."""

import dataclasses
import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from absl import logging

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.finetuning.selection import choose_examples, groups_of, key_of_cap
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.finetuning.split_features import feature_key, load_split_features
from albert_tf.inputs.finetuning_dataset import BatchShape
from albert_tf.inputs.finetuning_features import SPAN_CATEGORIES, FeatureSet
from albert_tf.inputs.length_buckets import choose_buckets
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.tasks.task import Task
from albert_tf.tokenization.base import Tokenizer

CACHE_NAME = "features"


class Split:
    """One split of a task, or a part of it.

    Args:
        name: for example "dev" or "test_matched".
        read: reads the examples.

    Attributes:
        features: of its examples, all of them.
    """

    def __init__(self, name: str, read: Callable[[], list[Any]]):
        self.name = name
        self._read = read
        self.features: FeatureSet

    @functools.cached_property
    def examples(self) -> list[Any]:
        """The examples, read when they are first asked for: features in a cache need none."""
        return self._read()


class FinetuningData:
    """The data that all runs of a command share, whatever their seed.

    Args:
        settings: the flags.
        task: what they make it.
        tokenizer: the vocabulary.
    """

    def __init__(self, settings: FinetuningSettings, task: Task, tokenizer: Tokenizer):
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
            settings, split = self.settings, Split(name, lambda: self._read_examples(name))
            folder = settings.cache_dir or os.path.join(settings.output_dir, CACHE_NAME)
            made = load_split_features(
                *(self.task, name, self.tokenizer, settings.task_settings, folder, settings.num_workers),
                examples=lambda: split.examples,
                most=self._most_examples(name),
            )
            if not len(made):
                raise InputError(f"{', '.join(self.task.input_files(name))}: no examples")
            logging.info(
                "%s: %s features of %d to %d pieces, on average %.1f",
                *(name, f"{len(made):,}", made.lengths.min(), made.lengths.max(), made.lengths.mean()),
            )
            if name.split("_")[0] != "test" and made[0].label is None:
                paths = self.task.input_files(name)
                raise InputError(f"{paths[0]}: the examples have no labels; the {name} split needs them")
            if made.num_cut:
                logging.info("%s: %s", name, self._describe_cut(made))
            said = self.task.describe_features(made)
            if said:
                logging.info("%s: %s", name, said)
            split.features = made
            self._splits[name] = split
        return self._splits[name]

    def _most_examples(self, name: str) -> int | None:
        """The cap on the examples of a split; None for none."""
        caps = {"train": self.settings.max_train_examples, "dev": self.settings.max_eval_examples}
        return caps.get(name.split("_")[0])

    def _read_examples(self, name: str) -> list[Any]:
        examples = self.task.examples(name)
        chosen = self.choose(name, len(examples), groups_of(self.task.unit, lambda: examples))
        if chosen is None:
            return examples
        logging.info("%s: %d of %d examples", name, len(chosen), len(examples))
        return [examples[index] for index in chosen]

    def choose(self, name: str, number: int, groups: Sequence[str] | None) -> np.ndarray | None:
        """The examples that the cap on a split leaves; arguments, None and errors as of choose_examples."""
        most = self._most_examples(name)
        try:
            return choose_examples(number, most, groups)
        except InputError as error:
            flag = "max_train_examples" if name.split("_")[0] == "train" else "max_eval_examples"
            raise InputError(f"--{flag}={most} of --task_name={self.task.name}: {error}") from None

    def _describe_cut(self, features: FeatureSet) -> str:
        """Describes how many texts lost a part, since they are longer than the settings allow."""
        flags = " and ".join(f"--{name}={getattr(self.settings.task_settings, name)}" for name in self.task.cut_by)
        examples, cut, left_out = len(np.unique(features.examples)), features.num_cut, features.pieces_cut
        share = left_out / (left_out + features.sequences.lengths.sum())
        return (
            f"{cut:,} of {examples:,} examples ({cut / examples:.1%}) are longer than {flags} allows and are cut; "
            f"{share:.1%} of all pieces are left out"
        )

    def read(self) -> None:
        """Reads every split that the run needs, so that what is missing or at fault is noticed before the first step.

        Raises:
            InputError: see `split`; or there is no such split.
        """
        for name in self._needed:
            self.split(name)

    @functools.cached_property
    def _needed(self) -> list[str]:
        """The splits that the settings ask for."""
        settings = self.settings
        needed = self._names_or_error("train", "do_train")[:1] if settings.do_train else []
        if settings.do_eval:
            needed += self._names_or_error("dev", "do_eval")
        elif settings.do_predict and self.task.threshold_score is not None:
            # A threshold for the test split is found on the first one.
            needed += self.names("dev")[:1]
        if settings.do_predict:
            needed += self._names_or_error("test", "do_predict")
        return needed

    def _names_or_error(self, kind: str, flag: str) -> list[str]:
        names = self.names(kind)
        if names:
            return names
        try:
            self.task.input_files(kind)
            reason = ""
        except InputError as error:
            reason = f" ({error})"
        raise InputError(f"--task_name={self.task.name} has no {kind} split; leave --{flag} out{reason}")

    def training_split(self) -> Split:
        """The split to train on.

        Raises:
            InputError: there is none.
        """
        return self.split(self._names_or_error("train", "do_train")[0])

    def dev_splits(self) -> list[Split]:
        """The splits to evaluate on; checkpoints are compared by the first.

        Raises:
            InputError: there is none.
        """
        return [self.split(name) for name in self._names_or_error("dev", "do_eval")]

    @functools.cached_property
    def dev_digest(self) -> str:
        """A digest of the split that checkpoints are compared by: of its files, and of the examples that are taken."""
        return self._digest_of(self._names_or_error("dev", "do_eval")[0])

    def _digest_of(self, name: str, **more: Any) -> str:
        most = self._most_examples("dev")
        known = {"features": self._key_of(name), "most": most} | key_of_cap(self.task.unit, most) | more
        return hashlib.sha256(to_json(known).encode()).hexdigest()

    def _key_of(self, name: str) -> dict[str, Any]:
        return feature_key(self.task, name, self.tokenizer, self.settings.task_settings)

    @functools.cached_property
    def digest(self) -> str:
        """A digest of the files of all splits that the settings ask for, and of all that makes features of them."""
        settings = self.settings
        asked = {"train": settings.do_train, "dev": settings.do_eval, "test": settings.do_predict}
        names = [name for kind, is_asked in asked.items() if is_asked for name in self.names(kind)]
        return hashlib.sha256(to_json({name: self._key_of(name) for name in names}).encode()).hexdigest()

    @functools.cached_property
    def _buckets(self) -> tuple[int, ...]:
        settings = self.settings
        if settings.pad_to_max_length:
            return (settings.max_seq_length,)
        lengths = np.concatenate([self.split(name).features.lengths for name in self._needed])
        buckets = tuple(choose_buckets(lengths, settings.max_seq_length))
        positions = np.asarray(buckets)[np.searchsorted(buckets, lengths)].mean()
        logging.info(
            "batches of %s positions: %.1f positions a row, in place of %d",
            *(", ".join(map(str, buckets)), positions, settings.max_seq_length),
        )
        return buckets

    def batch_shape(self, batch_size: int) -> BatchShape:
        """The shape of the batches of so many rows that features become."""
        return BatchShape(batch_size, self._buckets)

    def finetuned_task(self) -> FinetunedTask:
        """The task that a checkpoint of these runs is for."""
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
    """The number of outputs of the task's head."""
    if task.head in ("classification", "multi_label", "token_classification", SPAN_CATEGORIES):
        return len(task.labels)
    return 2 if task.head.startswith("span") else 1
