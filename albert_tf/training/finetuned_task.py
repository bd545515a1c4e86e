"""What a fine-tuned checkpoint was trained for: its head, its classes, and how its texts become input."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from albert_tf.errors import InputError

# First parts of the names of a fine-tuning head's weights.
FINETUNING_HEADS = ("classifier/", "span/", "span_beam/")
# Tasks without training data, and the task whose head predicts them: GLUE's diagnostic set is predicted by MNLI's.
_PREDICTED_BY = {"ax": "mnli"}
_CLASSES_SHOWN = 5


@dataclasses.dataclass(frozen=True)
class FinetunedTask:
    """Part of a checkpoint's checkpoint.json. Of a checkpoint of other code only the first three are known.

    Attributes:
        head: one of inputs.finetuning_records.HEADS.
        num_labels: numbers that the head gives; 1 for regression and multiple choice, 2 for spans.
        labels: names of the classes by index; () where there are none, or they are unknown.
        name: --task_name.
        input_fields: as tasks.task.Task.input_fields.
        settings: the fields of tasks.task.TaskSettings.
        cleaning: the fields of tokenization.text_cleaning.TextCleaning.
        options: the fields of tasks.registry.TaskOptions.
        classifier_dropout_prob: rate of dropout in front of the head in training; None where it is not known.
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

    def __str__(self) -> str:
        """The name and the head, as in "cola (classification: 0, 1)"."""
        named = ", ".join(self.labels[:_CLASSES_SHOWN]) + (", …" if len(self.labels) > _CLASSES_SHOWN else "")
        return f"{self.name or 'a task without a name'} ({self.head}{': ' + named if named else ''})"

    def has_head_like(self, other: "FinetunedTask") -> bool:
        """Whether the head of one fits the other: the same kind, and the same number of outputs."""
        return (self.head, self.num_labels) == (other.head, other.num_labels)

    def shares_head_with(self, other: "FinetunedTask") -> bool:
        """Whether the head of one means the same for the other: it fits, and classes and task are the same.

        Names of classes are not enough: CoLA, SST-2, MRPC, QQP and WNLI all call theirs 0 and 1. Names that are not
        known, as in a checkpoint of other code, count as the same.
        """
        names = [_PREDICTED_BY.get(name, name) for name in (self.name, other.name) if name]
        labels = [task.labels for task in (self, other) if task.labels]
        return self.has_head_like(other) and len(set(names)) < 2 and len(set(labels)) < 2

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str) -> "FinetunedTask":
        """The inverse of to_dict.

        Args:
            values: from JSON.
            where: the checkpoint, for the error.

        Raises:
            InputError: they were written by another version.
        """
        lists = {name: tuple(values[name]) for name in ("labels", "input_fields") if name in values}
        try:
            return cls(**{**values, **lists})
        except TypeError as error:
            raise InputError(f"{where}: its task is of another version of albert_tf: {error}") from None


def is_finetuning_weight(name: str) -> bool:
    """Whether a weight's name is that of a fine-tuning head's."""
    return name.startswith(FINETUNING_HEADS)
