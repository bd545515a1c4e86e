"""The task that a checkpoint was fine-tuned for: its head, its classes, and how its texts become input."""

import dataclasses
import reprlib
from collections.abc import Callable, Mapping
from typing import Any

from albert_tf.heads.exit_names import EXIT_HEADS, EXIT_POOLINGS, EXITS
from albert_tf.heads.pooling import POOLED
from albert_tf.inputs.finetuning_features import HEADS
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning

# First parts of the names of a fine-tuning head's weights.
FINETUNING_HEADS = ("classifier/", "span/", "span_beam/", "span_categories/", EXITS)
# Tasks that a head of another task predicts: GLUE's diagnostic set is predicted by MNLI's head, those of SuperGLUE by
# RTE's, whose examples GLUE and SuperGLUE share.
_PREDICTED_BY = {"ax": "mnli", **dict.fromkeys(("ax-b", "ax-g", "superglue_rte"), "rte")}
_CLASSES_SHOWN = 5


@dataclasses.dataclass(frozen=True)
class FinetunedTask:
    """Part of a checkpoint's checkpoint.json. Of a checkpoint of other code only the first three are known.

    Attributes:
        head: one of inputs.finetuning_features.HEADS.
        num_labels: numbers that the head gives; 1 for regression and multiple choice, 2 for spans.
        labels: names of the classes by index; () where there are none, or they are unknown.
        name: --task_name.
        input_fields: as tasks.task.Task.input_fields.
        settings: the fields of tasks.task.TaskSettings.
        cleaning: the fields of tokenization.text_cleaning.TextCleaning.
        options: the fields of tasks.registry.TaskOptions.
        classifier_dropout_prob: rate of dropout in front of the head in training; None where it is not known.
        early_exit: whether there is a classifier after every layer.
        exit_pooling: what these read, one of heads.exit_names.EXIT_POOLINGS.
    """

    head: str
    num_labels: int
    labels: tuple[str, ...] = ()
    name: str | None = None
    input_fields: tuple[str, ...] = ()
    settings: Mapping[str, int] = dataclasses.field(default_factory=dict)
    cleaning: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    classifier_dropout_prob: float | None = None
    early_exit: bool = False
    exit_pooling: str = POOLED

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in _CHECKS}
        for name, is_right in _CHECKS.items():
            if not is_right(values[name]):
                raise InputError(f"the {name} of a task cannot be {reprlib.repr(values[name])}")
        if self.early_exit and self.head not in EXIT_HEADS:
            raise InputError(f"a task of {self.head} has no exits")
        if self.exit_pooling != POOLED and not self.early_exit:
            raise InputError(f"a task without exits has none that read the {self.exit_pooling}")
        if self.labels and len(self.labels) != self.num_labels:
            raise InputError(f"the task has {len(self.labels)} labels, and num_labels={self.num_labels}")
        if len(set(self.labels)) < len(self.labels):
            raise InputError(f"the labels of a task must be different. Received {reprlib.repr(self.labels)}.")

    def __str__(self) -> str:
        """The name and the head, as in "cola (classification: 0, 1)"."""
        named = ", ".join(self.labels[:_CLASSES_SHOWN]) + (", …" if len(self.labels) > _CLASSES_SHOWN else "")
        return f"{self.name or 'a task without a name'} ({self.head}{': ' + named if named else ''})"

    def has_head_like(self, other: "FinetunedTask") -> bool:
        """Tells whether the head of one fits the other: the same kind, and the same number of outputs."""
        return (self.head, self.num_labels) == (other.head, other.num_labels)

    def fits_class_of(self, other: "FinetunedTask") -> bool:
        """The same where `other` is all that a model's class tells, which calls several labels at once classes."""
        kind = {"multi_label": "classification" if self.num_labels > 1 else "regression"}.get(self.head, self.head)
        return (kind, self.num_labels) == (other.head, other.num_labels)

    def shares_head_with(self, other: "FinetunedTask") -> bool:
        """Tells whether the head of one means the same for the other: it fits, and classes and task are the same.

        Names of classes are not enough: CoLA, SST-2, MRPC, QQP and WNLI all call theirs 0 and 1. Names that are not
        known, as in a checkpoint of other code, count as the same.
        """
        names = [_PREDICTED_BY.get(name, name) for name in (self.name, other.name) if name]
        labels = [task.labels for task in (self, other) if task.labels]
        return self.has_head_like(other) and len(set(names)) < 2 and len(set(labels)) < 2

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict for JSON; early_exit and exit_pooling only where they are not usual."""
        values = dataclasses.asdict(self)
        usual = {"early_exit": False, "exit_pooling": POOLED}
        return {name: value for name, value in values.items() if name not in usual or value != usual[name]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str) -> "FinetunedTask":
        """The inverse of to_dict.

        Args:
            values: from JSON.
            where: the checkpoint, for the error.

        Raises:
            InputError: they are damaged, or were written by a different version.
        """
        if not isinstance(values, Mapping):
            raise InputError(f"{where}: its task must be an object; it is a {type(values).__name__}")
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        missing = sorted({"head", "num_labels"} - set(values))
        if unknown or missing:
            named = f"{unknown[0]!r} is not known" if unknown else f"{missing[0]!r} is missing"
            raise InputError(f"{where}: its task is of another version of albert_tf: {named}")
        lists = {name: values[name] for name in ("labels", "input_fields") if name in values}
        try:
            return cls(**{**values, **{name: tuple(found) for name, found in lists.items() if _are_texts(found)}})
        except InputError as error:
            raise InputError(f"{where}: {error}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _are_fields_of(kind: type, is_value: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A check that a value is an object with names of a dataclass's fields, and such values."""
    names = {field.name for field in dataclasses.fields(kind)}
    return lambda value: isinstance(value, Mapping) and set(value) <= names and all(map(is_value, value.values()))


def _is_rate(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "head": lambda value: isinstance(value, str) and value in HEADS,
    "num_labels": lambda value: _is_number(value) and value > 0,
    "labels": _are_texts,
    "name": lambda value: value is None or isinstance(value, str),
    "input_fields": _are_texts,
    "settings": _are_fields_of(TaskSettings, _is_number),
    "cleaning": _are_fields_of(TextCleaning, lambda value: isinstance(value, bool | str)),
    "options": _are_fields_of(
        TaskOptions, lambda value: value is None or isinstance(value, bool | int | float | str | list | tuple)
    ),
    "classifier_dropout_prob": _is_rate,
    "early_exit": lambda value: isinstance(value, bool),
    "exit_pooling": lambda value: isinstance(value, str) and value in EXIT_POOLINGS,
}


def is_finetuning_weight(name: str) -> bool:
    """Tells whether a weight's name is that of a fine-tuning head's weight."""
    return name.startswith(FINETUNING_HEADS)
