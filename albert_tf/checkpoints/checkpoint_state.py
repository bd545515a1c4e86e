"""The checkpoint.json of a checkpoint: read, compared with its digest, every value checked.

    format, format_version   what this file is
    step, ...                the fields of TrainingState
    files                    size and SHA-256 of the checkpoint's other files (checkpoint_files)
    sha256                   of this file (sealed_json)

Before format version 2 there were neither version nor files nor digest; such a checkpoint is read as it is. One that
has lost some of the three is damaged.
"""

import dataclasses
import os
import re
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from albert_tf.checkpoints.checkpoint_files import describe_files
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.sealed_json import read_sealed_json, write_sealed_json
from albert_tf.heads.pooling import Pooling
from albert_tf.models.dtype_policies import DTYPE_POLICIES
from albert_tf.records.names import SENTENCE_TASKS, SOP
from albert_tf.runtime import files
from albert_tf.runtime.errors import DamagedError, InputError
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING

STATE_NAME = "checkpoint.json"
# In place of an optimizer's name, where there is no optimizer state.
NO_OPTIMIZER = "none"
FOLDER_NAME = re.compile(r"checkpoint-(\d{8,})")
_FORMAT, _VERSION = "albert_tf checkpoint", 2


@dataclasses.dataclass(frozen=True)
class TrainingState:
    """The contents of a checkpoint beside weights and moments.

    Attributes:
        step: optimizer steps taken.
        examples_seen: records read so far, the position in the input.
        random_seed: of the input's order and of dropout.
        input_files: {"name", "bytes"} of each record file, in order; of a task's files "sha256" too.
        optimizer: name of the optimizer whose moments these are.
        vocabulary: {"file", "sha256", "size"} from the records' manifest, or None for records without one.
        sentence_task: "sop", "nsp" or "none".
        nonfinite_steps: steps that were left out because their loss or gradient was not finite.
        loss_scale: of float16, the fields of loss_scale.LossScale; None without.
        task: what the model is fine-tuned for, the fields of FinetunedTask; None in pre-training.
        planned_steps: steps of the whole run, where they were found from the minutes it was given; else None.
        precision: that the run computes in; None in checkpoints of earlier versions.
        batch_halves: whether it computes the halves of a batch side by side.
        pooling: how a text becomes one vector, the fields of heads.pooling.Pooling, of a model that is trained for
            that; else None.
        teacher_files: as input_files, of what is learned of the examples besides.
        init_sha256: of the weights that a fine-tuning started from; None where they were random numbers, and in
            checkpoints of earlier versions.
    """

    step: int
    examples_seen: int
    random_seed: int
    input_files: list[dict[str, Any]]
    optimizer: str
    vocabulary: dict[str, Any] | None = None
    sentence_task: str = SOP
    nonfinite_steps: int = 0
    loss_scale: dict[str, Any] | None = None
    task: dict[str, Any] | None = None
    planned_steps: int | None = None
    precision: str | None = None
    batch_halves: bool = False
    pooling: dict[str, Any] | None = None
    teacher_files: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    init_sha256: str | None = None

    def finetuned_task(self, where: str) -> FinetunedTask | None:
        """The task the model is fine-tuned for; None in pre-training. `where` names the checkpoint in an error."""
        return None if self.task is None else FinetunedTask.from_dict(self.task, where)

    def kept_pooling(self, where: str) -> Pooling | None:
        """The way from a text to one vector, of a model trained for that; `where` names the checkpoint in an error."""
        return None if self.pooling is None else Pooling.from_dict(self.pooling, where)


@dataclasses.dataclass(frozen=True)
class StoredState:
    """A checkpoint.json.

    Attributes:
        state: what it says of the training.
        files: what it says of the checkpoint's other files; empty for a checkpoint of format version 1.
    """

    state: TrainingState
    files: Mapping[str, Mapping[str, Any]]


def write_state(folder: str, state: TrainingState) -> None:
    """Writes checkpoint.json, which makes the checkpoint complete: its other files are there."""
    values = {"format": _FORMAT, "format_version": _VERSION, **dataclasses.asdict(state)}
    write_sealed_json(os.path.join(folder, STATE_NAME), {**values, "files": describe_files(folder)})


def read_stored_state(folder: str) -> StoredState:
    """Reads checkpoint.json.

    Raises:
        DamagedError: it is not what was written, or belongs to a folder of a different step.
        InputError: it is no checkpoint of ours, or a later version's.
    """
    path = os.path.join(folder, STATE_NAME)
    values, sealed = read_sealed_json(path)
    kind, version = values.pop("format", None), values.pop("format_version", None)
    described = values.pop("files", None)
    if kind != _FORMAT:
        raise DamagedError(f"{folder}: not a checkpoint of albert_tf")
    if sealed and version != _VERSION:
        raise InputError(f"{path}: format version {version!r}, this program reads {_VERSION}; use a later albert_tf")
    if not sealed and (version is not None or described is not None):
        raise DamagedError(f"{path}: damaged, its SHA-256 is missing")
    state = _make_state(values, path)
    found = FOLDER_NAME.fullmatch(os.path.basename(os.path.normpath(folder)))
    if found and state.optimizer != NO_OPTIMIZER and int(found[1]) != state.step:
        raise DamagedError(f"{path} is of step {state.step}, its folder's name says {int(found[1])}")
    return StoredState(state, described or {})


def _make_state(values: dict[str, Any], path: str) -> TrainingState:
    fields = {field.name: field for field in dataclasses.fields(TrainingState)}
    unknown = sorted(values.keys() - fields.keys())
    missing = sorted(
        name
        for name, field in fields.items()
        if name not in values and field.default is field.default_factory is dataclasses.MISSING
    )
    if unknown or missing:
        what = f"unknown entries: {', '.join(unknown)}" if unknown else f"lacks {', '.join(missing)}"
        raise DamagedError(f"{path}: damaged, or of another version of albert_tf; {what}")
    for name, value in values.items():
        if not _IS_SOUND[name](value):
            raise DamagedError(f"{path}: damaged, `{name}` cannot be {str(value)[:60]!r}")
    return TrainingState(**values)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_word(value: Any) -> bool:
    return type(value) is str


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _has(**checks: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Makes a check of whether a value is an object with these entries, each sound."""
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == checks.keys()
        and all(is_sound(value[name]) for name, is_sound in checks.items())
    )


def _is_vocabulary(value: Any) -> bool:
    """Tells whether a value describes a vocabulary, with or without the cleaning of texts."""
    if not isinstance(value, dict):
        return False
    described = {name: entry for name, entry in value.items() if name != "cleaning"}
    cleaning = value.get("cleaning", {})
    usual = dataclasses.asdict(OFFICIAL_CLEANING)
    is_cleaning = isinstance(cleaning, dict) and all(type(cleaning[name]) is type(usual.get(name)) for name in cleaning)
    return is_cleaning and _has(file=_is_word, sha256=_is_word, size=_is_count)(described)


def _is_file(value: Any) -> bool:
    return _has(**_OF_FILE)(value) or _has(**_OF_FILE, sha256=_is_word)(value)


def _are_files(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_file, value))


def _or_none(is_sound: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_sound(value)


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_word, value))


def _is_task(value: Any) -> bool:
    """Tells whether the entries are of the types of FinetunedTask; which there are is its own affair."""
    return isinstance(value, dict) and all(_IS_SOUND_IN_TASK.get(name, _is_anything)(it) for name, it in value.items())


def _is_anything(value: Any) -> bool:
    return True


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


_IS_SOUND_IN_TASK: dict[str, Callable[[Any], bool]] = {
    "head": _is_word,
    "num_labels": _is_count,
    "labels": _are_words,
    "name": _or_none(_is_word),
    "input_fields": _are_words,
    "settings": _is_object,
    "cleaning": _is_object,
    "options": _is_object,
    "classifier_dropout_prob": _or_none(_is_number),
}
_OF_FILE = {"name": _is_word, "bytes": _is_count}
_IS_SOUND: dict[str, Callable[[Any], bool]] = {
    "step": _is_count,
    "examples_seen": _is_count,
    "random_seed": lambda value: type(value) is int,
    "input_files": _are_files,
    "teacher_files": _are_files,
    "init_sha256": _or_none(_is_word),
    "optimizer": _is_word,
    "vocabulary": _or_none(_is_vocabulary),
    "sentence_task": lambda value: value in SENTENCE_TASKS,
    "nonfinite_steps": _is_count,
    "loss_scale": _or_none(_has(scale=_is_number, good_steps=_is_count, overflows=_is_count)),
    "task": _or_none(_is_task),
    "planned_steps": _or_none(_is_count),
    "precision": lambda value: value in (None, *DTYPE_POLICIES),
    "batch_halves": lambda value: isinstance(value, bool),
    "pooling": _or_none(_is_object),
}


def is_complete(folder: str) -> bool:
    """Tells whether a checkpoint was written to its end: it has a checkpoint.json."""
    return files.exists(os.path.join(folder, STATE_NAME))


def remove_checkpoint(path: str) -> None:
    """Removes a checkpoint, complete or not; of a link to one, the link alone.

    checkpoint.json goes first: a removal that is cut off leaves an incomplete checkpoint, not a gutted one.
    """
    state = os.path.join(path, STATE_NAME)
    if os.path.islink(path):
        os.remove(path)
    elif files.is_remote(path):
        import tensorflow as tf

        if tf.io.gfile.exists(state):
            tf.io.gfile.remove(state)
        if tf.io.gfile.exists(path):
            tf.io.gfile.rmtree(path)
    else:
        if os.path.exists(state):
            os.remove(state)
            # Before the rest: a power cut may keep any part of what was done since the last flush.
            files.flush_folder(path)
        shutil.rmtree(path, ignore_errors=True)
