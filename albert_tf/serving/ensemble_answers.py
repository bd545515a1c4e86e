"""Several fine-tuned models as one: the mean of their probabilities, or of their numbers."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.thresholds import USUAL_THRESHOLD

_HEADS = ("classification", "multi_label", "regression", "multiple_choice")
_PROBABILITIES, _THRESHOLDS, _LABELS, _SCORE = "probabilities", "thresholds", "labels", "score"


class Answers(Protocol):
    """A model that Predictor asks: GraphAnswers, or PortableAnswers."""

    task: FinetunedTask
    fields: tuple[str, ...]

    def answer(self, examples: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The outputs of its signature, for each example."""


class EnsembleAnswers:
    """Models of one task, asked with the fields of examples.

    Args:
        models: of them.
        paths: their places, for errors.

    Attributes:
        task: what the first was fine-tuned for.
        tasks: the same of each, with its thresholds.
        fields: names of the fields of an example; one with a question mark may be left out.

    Raises:
        InputError: their answers have no mean, or they are not of one task.
    """

    def __init__(self, models: Sequence[Answers], paths: Sequence[str]) -> None:
        self._models = models
        self.task, self.fields = models[0].task, models[0].fields
        self.tasks = [model.task for model in models]
        for model, path in zip(models, paths, strict=True):
            task = model.task
            if task.head not in _HEADS:
                raise InputError(f"{path} was fine-tuned for {task}, whose answers have no mean; give one --model")
            same = task.has_head_like(self.task) and set(task.labels) == set(self.task.labels)
            # Names of classes are not enough: many tasks call theirs 0 and 1.
            others = len({one.name for one in (task, self.task) if one.name}) > 1
            if not same or others or model.fields != self.fields:
                raise InputError(
                    f"{path} was fine-tuned for {task}, {paths[0]} for {self.task}; give models of one task"
                )

    def answer(self, examples: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Answers about examples as each of the models gives them, with the means."""
        found = [model.answer(examples) for model in self._models]
        return [_mean(rows) for rows in zip(*found, strict=True)]


def _mean(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One answer of several about one example."""
    first = rows[0]
    if _SCORE in first:
        return {_SCORE: np.mean([row[_SCORE] for row in rows])}
    if _LABELS not in first:
        probabilities = np.mean([row[_PROBABILITIES] for row in rows], axis=0)
        return {"choice": int(np.argmax(probabilities)), _PROBABILITIES: probabilities}
    labels = list(first[_LABELS])
    orders = [[list(row[_LABELS]).index(label) for label in labels] for row in rows]
    usual = np.full(len(labels), USUAL_THRESHOLD)
    ordered = [
        {name: np.asarray(row.get(name, usual))[order] for name in (_PROBABILITIES, _THRESHOLDS)}
        for row, order in zip(rows, orders, strict=True)
    ]
    means = {
        name: np.mean([row[name] for row in ordered], axis=0)
        for name in (_PROBABILITIES, _THRESHOLDS)
        if any(name in row for row in rows)
    }
    label = {"label": labels[int(np.argmax(means[_PROBABILITIES]))]} if "label" in first else {}
    return {**label, _LABELS: labels, **means}
