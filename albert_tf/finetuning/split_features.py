"""The features of a task's splits: made, kept in a cache, and known by all that they depend on."""

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from albert_tf.finetuning.selection import key_of_cap
from albert_tf.inputs.finetuning_cache import Converter, hash_files, load_features
from albert_tf.inputs.finetuning_features import Feature, FeatureSet
from albert_tf.runtime.json_text import to_json
from albert_tf.tasks.task import Task, TaskSettings
from albert_tf.tokenization.base import Tokenizer


@dataclasses.dataclass(frozen=True)
class FeatureMaker:
    """Makes the features of an example; worker processes get a copy."""

    task: Task
    tokenizer: Tokenizer
    settings: TaskSettings

    def __call__(self, index: int, example: Any) -> list[Feature]:
        """The features of the example with this index."""
        return self.task.features(index, example, self.tokenizer, self.settings)


def make_features(task: Task, examples: Sequence[Any], tokenizer: Tokenizer, settings: TaskSettings) -> FeatureSet:
    """The features of examples, without a cache and in this process."""
    maker = FeatureMaker(task, tokenizer, settings)
    made = [feature for index, example in enumerate(examples) for feature in maker(index, example)]
    return FeatureSet.from_features(made, task.head)


def load_split_features(
    task: Task,
    split: str,
    tokenizer: Tokenizer,
    settings: TaskSettings,
    cache_folder: str,
    num_workers: int = 0,
    examples: Callable[[], Sequence[Any]] | None = None,
    most: int | None = None,
) -> FeatureSet:
    """The features of a split, from the cache if they were made of the same.

    Args:
        task: what to read.
        split: one of task.splits().
        tokenizer: the vocabulary.
        settings: lengths.
        cache_folder: where caches lie, one folder for each split.
        num_workers: processes that make features; 0 takes one for each core.
        examples: gives the examples, where they are not to be read here.
        most: the cap by which they were chosen of all; None for none.

    Raises:
        InputError: the split's files are missing or at fault.
    """
    key = feature_key(task, split, tokenizer, settings) | key_of_cap(task.unit, most)
    converter = Converter(FeatureMaker(task, tokenizer, settings), task.head)
    read = examples or (lambda: task.examples(split))
    folder = split if most is None else f"{split}-{most}"
    return load_features(os.path.join(cache_folder, folder), key, read, converter, num_workers)


def feature_key(task: Task, split: str, tokenizer: Tokenizer, settings: TaskSettings) -> dict[str, Any]:
    """All that the features of a split depend on, as JSON has it."""
    key = {
        "task": {"task_name": task.name, "head": task.head, "labels": task.labels, "split": split, **task.options()},
        "settings": settings.of_features(),
        "vocabulary": {"vocabulary": tokenizer.sha256, **dataclasses.asdict(tokenizer.cleaning)},
        "data": hash_files(task.input_files(split)),
    }
    return json.loads(to_json(key))
