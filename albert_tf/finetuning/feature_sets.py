"""The features of a task's split, made once: what a cache of them depends on, and who makes them."""

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from albert_tf.inputs.finetuning_cache import Converter, hash_files, load_features
from albert_tf.inputs.finetuning_features import FeatureSet
from albert_tf.inputs.finetuning_records import Feature
from albert_tf.runtime.json_text import to_json
from albert_tf.tasks.task import Task, TaskSettings
from albert_tf.tokenization.tokenizer import AlbertTokenizer


@dataclasses.dataclass(frozen=True)
class FeatureMaker:
    """Makes the features of an example; worker processes get a copy."""

    task: Task
    tokenizer: AlbertTokenizer
    settings: TaskSettings

    def __call__(self, index: int, example: Any) -> list[Feature]:
        """The features of the example with this index."""
        return self.task.features(index, example, self.tokenizer, self.settings)


def make_features(
    task: Task, examples: Sequence[Any], tokenizer: AlbertTokenizer, settings: TaskSettings
) -> FeatureSet:
    """The features of examples, without a cache and in this process."""
    maker = FeatureMaker(task, tokenizer, settings)
    made = [feature for index, example in enumerate(examples) for feature in maker(index, example)]
    return FeatureSet.from_features(made, task.head)


def load_split_features(
    task: Task,
    split: str,
    tokenizer: AlbertTokenizer,
    settings: TaskSettings,
    cache_folder: str,
    num_workers: int = 0,
    examples: Callable[[], Sequence[Any]] | None = None,
) -> FeatureSet:
    """The features of a split, from the cache if they were made of the same.

    Args:
        task: what to read.
        split: one of task.splits().
        tokenizer: the vocabulary.
        settings: lengths.
        cache_folder: where caches lie, one folder for each split.
        num_workers: processes that make features; 0 takes one for each core.
        examples: gives task.examples(split), where they are read already.

    Raises:
        InputError: the split's files are missing or at fault.
    """
    key = feature_key(task, split, tokenizer, settings)
    converter = Converter(FeatureMaker(task, tokenizer, settings), task.head)
    read = examples or (lambda: task.examples(split))
    return load_features(os.path.join(cache_folder, split), key, read, converter, num_workers)


def feature_key(task: Task, split: str, tokenizer: AlbertTokenizer, settings: TaskSettings) -> dict[str, Any]:
    """All that the features of a split depend on, as JSON has it."""
    key = {
        "task": {"task_name": task.name, "head": task.head, "labels": task.labels, "split": split, **task.options()},
        "settings": settings.of_features(),
        "vocabulary": {"vocabulary": tokenizer.sha256, **dataclasses.asdict(tokenizer.cleaning)},
        "data": hash_files(task.input_files(split)),
    }
    return json.loads(to_json(key))
