"""Distillation (Hinton et al., 2015, arXiv 1503.02531): the outputs of a larger model as further labels of a split.

The teacher is asked once, about every training example, before the first step; what it says is kept beside the
features.
"""

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.finetuning.data import FinetuningData, Split
from albert_tf.finetuning.evaluation import predict_features
from albert_tf.finetuning.recipe import RecipeSettings
from albert_tf.finetuning.selection import groups_of, key_of_cap
from albert_tf.finetuning.split_features import feature_key, load_split_features
from albert_tf.finetuning.steps import FinetuningSteps
from albert_tf.finetuning.stored_outputs import load_outputs, outputs_path, save_outputs
from albert_tf.inputs.finetuning_dataset import BatchShape
from albert_tf.inputs.finetuning_features import TEACHER_LOGITS, FeatureSet, Ragged
from albert_tf.inputs.length_buckets import choose_buckets
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.tasks.task import Task, TaskSettings
from albert_tf.tasks.text_windows import CUT
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING
from albert_tf.tokenization.vocabularies import make_tokenizer

HEADS = ("classification", "multi_label", "regression", "multiple_choice")
_FILE_SUFFIX = ".jsonl"
# The file of the teacher's outputs, and in it what they are of.
_OUTPUTS, _KEY = "teacher", "key"
# The smallest probability whose logarithm is taken.
_LEAST = 1e-7


def check_teacher(settings: RecipeSettings, task: Task) -> None:
    """Refuses a teacher of a task whose outputs are none for whole examples, and numbers without a teacher.

    Raises:
        FlagError: it is one of these.
    """
    if settings.teacher is not None and task.head not in HEADS:
        raise FlagError(f"--teacher means nothing to {task.name}, a task of {task.head}")
    if settings.teacher is not None and not settings.do_train:
        raise FlagError("--teacher goes with --do_train")
    if settings.teacher is not None and getattr(task, "long_texts", CUT) != CUT:
        raise FlagError("--teacher speaks of whole texts; it goes with --long_texts=cut")
    if settings.teacher is None:
        for name in ("distillation_temperature", "distillation_weight"):
            if getattr(settings, name) != getattr(RecipeSettings, name):
                raise FlagError(f"--{name} goes with --teacher")


def ask_teacher(data: FinetuningData, strategy: Any, is_chief: bool) -> None:
    """Adds the teacher's outputs to the features of the training split.

    Args:
        data: of the run, its settings with a teacher.
        strategy: the devices.
        is_chief: whether this worker writes.

    Raises:
        InputError: no such teacher, or one of a different task.
    """
    teacher, split = os.fspath(data.settings.teacher), data.training_split()
    if teacher.endswith(_FILE_SUFFIX):
        logits = _read_probabilities(teacher, data, split)
    else:
        logits = _outputs_of_model(teacher, data, split, strategy, is_chief)
    features = split.features
    width = len(logits[0])
    rows = np.concatenate([np.asarray(row, np.float32) for row in logits])
    column = Ragged.of_lengths(rows, np.full(len(logits), width, np.int64))
    split.features = FeatureSet(features.head, {**features.columns, TEACHER_LOGITS: column})


def _outputs_of_model(
    teacher: str, data: FinetuningData, split: Split, strategy: Any, is_chief: bool
) -> Sequence[np.ndarray]:
    """The logits of a fine-tuned model, computed or as they were computed before."""
    settings = data.settings
    folder = os.path.join(settings.cache_dir or os.path.join(settings.output_dir, "features"), "teacher")
    with strategy.scope():
        try:
            pretrained = load_pretrained(teacher)
        except InputError as error:
            raise InputError(f"--teacher: {error}") from None
    known, wanted = pretrained.task, data.finetuned_task()
    if known is None or not _is_for(known, wanted):
        what = "was only pre-trained" if known is None else f"was fine-tuned for {known}"
        raise InputError(f"--teacher={teacher} {what}, not for {wanted}")
    if known.options.get("long_texts", CUT) != CUT:
        raise InputError(
            f"--teacher={teacher} reads long texts in windows; give what it says of whole texts, "
            "a file of predict --format=jsonl, instead"
        )
    if pretrained.vocabulary_file is None:
        raise InputError(f"--teacher={teacher} has no vocabulary; name a run or a checkpoint with one")
    tokenizer = make_tokenizer(pretrained.vocabulary_file, pretrained.cleaning or OFFICIAL_CLEANING)
    task_settings = TaskSettings(**{**dataclasses.asdict(settings.task_settings), **known.settings})
    features = load_split_features(
        *(data.task, split.name, tokenizer, task_settings, folder, settings.num_workers),
        examples=lambda: split.examples,
        most=settings.max_train_examples,
    )
    key = {"teacher": pretrained.source, "digest": _digest(pretrained.model), "most": settings.max_train_examples}
    key |= key_of_cap(data.task.unit, settings.max_train_examples)
    key |= {"features": feature_key(data.task, split.name, tokenizer, task_settings)}
    rows = _kept_outputs(folder, key)
    if rows is not None:
        logging.info("the teacher's outputs are there already: %s", folder)
    else:
        logging.info("asking the teacher, %s, about %s examples", pretrained.source, f"{len(features):,}")
        steps = FinetuningSteps(strategy, pretrained.model, data.task.head)
        buckets = tuple(choose_buckets(features.lengths, task_settings.max_seq_length))
        rows = predict_features(steps, features, BatchShape(settings.eval_batch_size, buckets))["logits"]
        if is_chief:
            files.make_folder(folder)
            # In one file, which no other run that shares the folder can put beside the outputs of its own teacher.
            save_outputs(folder, _OUTPUTS, {"logits": rows, _KEY: [_to_array(key)]})
    order = [known.labels.index(label) for label in wanted.labels]
    return [np.asarray(row)[order] for row in rows] if order else rows


def _kept_outputs(folder: str, key: Mapping[str, Any]) -> Sequence[np.ndarray] | None:
    """The outputs that lie there; None where there are none, or of something else."""
    if not files.exists(outputs_path(folder, _OUTPUTS)):
        return None
    kept = load_outputs(folder, _OUTPUTS)
    return kept["logits"] if _KEY in kept and np.array_equal(kept[_KEY][0], _to_array(key)) else None


def _to_array(key: Mapping[str, Any]) -> np.ndarray:
    """A key as bytes, uint8, which a file of outputs can hold."""
    return np.frombuffer(to_json(key).encode(), np.uint8)


def _is_for(known: FinetunedTask, wanted: FinetunedTask) -> bool:
    """Tells whether outputs for one task mean the same for the other, but for the order of the classes.

    Names of classes are not enough: CoLA, SST-2 and MRPC all call theirs 0 and 1.
    """
    names = {task.name for task in (known, wanted) if task.name}
    return known.has_head_like(wanted) and set(known.labels) == set(wanted.labels) and len(names) < 2


def _digest(model: Any) -> str:
    """A number that other weights are unlikely to have: the sums of all of them."""
    return ",".join(f"{float(np.sum(np.asarray(one), dtype=np.float64)):.9g}" for one in model.weights)


def _read_probabilities(path: str, data: FinetuningData, split: Split) -> list[np.ndarray]:
    """The logits of the probabilities in a file of `predict`, a line for each example of the training split."""
    if not files.exists(path):
        raise InputError(f"--teacher={path}: no such file; predict --format=jsonl writes one of the training split")
    with files.open_binary(path) as file:
        lines = file.read().splitlines()
    task = data.task
    logits = [_logits_of_line(task, line, f"{path}, line {number}") for number, line in enumerate(lines, start=1)]
    examples = task.examples(split.name)
    whole = len(examples)
    if len(logits) != whole:
        raise InputError(f"--teacher={path} has {len(logits)} lines, and the training split {whole} examples")
    chosen = data.choose(split.name, whole, groups_of(task.unit, lambda: examples))
    return logits if chosen is None else [logits[index] for index in chosen]


def _logits_of_line(task: Task, line: bytes, where: str) -> np.ndarray:
    try:
        row = json.loads(line)
        if task.head == "regression":
            return _finite([row["score"] if "score" in row else row["prediction"]])
        found = row["probabilities"]
        shares = _finite([found[label] for label in task.labels] if task.labels else list(found))
        if not task.labels and len(shares) != task.num_options:
            raise ValueError("not a share of each option")
        probabilities = np.clip(shares, _LEAST, 1 - _LEAST)
    except (ValueError, KeyError, TypeError):
        wanted = "score" if task.head == "regression" else f"probabilities of {', '.join(task.labels) or 'the options'}"
        raise InputError(f"{where}: no {wanted}") from None
    if task.head == "multi_label":
        return np.log(probabilities) - np.log1p(-probabilities)
    return np.log(probabilities)


def _finite(values: Sequence[Any]) -> np.ndarray:
    """The values as float64; raises ValueError if one is no finite number."""
    found = np.array(values, np.float64)
    if not np.isfinite(found).all():
        raise ValueError("not finite")
    return found
