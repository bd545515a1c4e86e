"""The loss of fine-tuning by the kind of head, with weights of classes and smoothed labels."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from absl import logging
from keras import ops

from albert_tf import losses
from albert_tf.finetuning.recipe import RecipeSettings
from albert_tf.heads.exit_names import EXIT_HEADS, EXIT_LOGITS
from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT, INPUT_MASK, LABEL
from albert_tf.inputs.finetuning_features import (
    LABEL_IDS,
    P_MASK,
    PIECE_LABELS,
    SPAN_CATEGORIES,
    TEACHER_LOGITS,
    FeatureSet,
)
from albert_tf.runtime.errors import FlagError
from albert_tf.tasks.task import Task

BALANCED = "balanced"
_ONE_CLASS = ("classification", "token_classification")
_SMOOTHED = (*_ONE_CLASS, "multiple_choice", "multi_label")


@dataclasses.dataclass(frozen=True)
class Objective:
    """The loss of a kind of head.

    Attributes:
        head: one of inputs.finetuning_features.HEADS.
        class_weights: of each class; () where all count the same. Of classification and token_classification.
        pos_weight: of each label that is there, or one for all; () for 1. Of multi_label.
        label_smoothing: share of a label that all classes divide among them.
        distillation: (temperature, weight) of a teacher's part; None without a teacher.
    """

    head: str
    class_weights: tuple[float, ...] = ()
    pos_weight: tuple[float, ...] = ()
    label_smoothing: float = 0.0
    distillation: tuple[float, float] | None = None

    def loss(self, outputs, batch, counts: Sequence[Any]) -> tuple[Any, Any]:
        """Contributions of a share of a batch to the loss, and to the share of right answers, or None.

        Of a model with exits the loss is the mean of those of all of them, each weighted by its depth (PABEE, equation
        3); right answers are those of the last.

        Args:
            outputs: of the model.
            batch: the share.
            counts: what `counts` gives, summed over the whole batch.
        """
        loss, correct = self._loss(outputs, batch, counts)
        if EXIT_LOGITS not in outputs:
            return loss, correct
        exits = ops.unstack(outputs[EXIT_LOGITS], axis=1)
        depth = len(exits) + 1
        loss = loss * depth
        for layer, logits in enumerate(exits, start=1):
            loss = loss + layer * self._loss({"logits": logits}, batch, counts)[0]
        return loss / (depth * (depth + 1) / 2), correct

    def _loss(self, outputs, batch, counts: Sequence[Any]) -> tuple[Any, Any]:
        """The same of one exit."""
        loss, correct = self._sums(outputs, batch)
        # A batch of token classification may hold no piece that is scored, or only classes that count for nothing.
        count = ops.maximum(counts[0], 1.0)
        loss = loss / (count if len(counts) == 1 else ops.where(counts[1] > 0, counts[1], 1.0))
        if self.distillation is not None:
            temperature, weight = self.distillation
            scored = (outputs["logits"], batch[TEACHER_LOGITS], batch[EXAMPLE_WEIGHT], self.head, temperature)
            loss = (1.0 - weight) * loss + weight * losses.distillation_loss(*scored)[0] / count
        return loss, None if correct is None else correct / count

    def counts(self, batch) -> list[Any]:
        """The number of examples of a share of a batch (of pieces that count, where pieces do); then their weights."""
        weights = _weights(self.head, batch)
        counts = [ops.sum(weights)]
        if self.class_weights:
            of_labels = ops.take(ops.convert_to_tensor(self.class_weights, "float32"), ops.maximum(batch[LABEL], 0))
            counts.append(ops.sum(weights * of_labels))
        return counts

    def _sums(self, outputs, batch) -> tuple[Any, Any]:
        """(sum of the losses of a share of a batch, number of right answers or None)."""
        if self.head in (*_ONE_CLASS, "multiple_choice") and (self.class_weights or self.label_smoothing):
            scored = (outputs["logits"], ops.maximum(batch[LABEL], 0), _weights(self.head, batch))
            loss, _ = losses.weighted_classification_loss(*scored, self.class_weights or None, self.label_smoothing)
            return loss, losses.classification_correct(*scored)
        if self.head == "multi_label":
            scored = (outputs["logits"], batch[LABEL], batch[EXAMPLE_WEIGHT])
            loss, _ = losses.multi_label_loss(*scored, self.pos_weight or None, self.label_smoothing)
            return loss, losses.multi_label_correct(*scored)
        return _SUMS[self.head](outputs, batch)


def _weights(head: str, batch):
    """The weight of each example, float32 [B]; of token_classification and span_categories each piece, [B, S]."""
    if head == "token_classification":
        return ops.cast(batch[LABEL] >= 0, "float32") * batch[EXAMPLE_WEIGHT][:, None]
    if head == SPAN_CATEGORIES:
        return _span_starts(batch) * batch[EXAMPLE_WEIGHT][:, None]
    return batch[EXAMPLE_WEIGHT]


def _span_starts(batch):
    """1 where spans can start, else 0, float32 [B, S]."""
    return 1.0 - ops.cast(batch[P_MASK], "float32")


def _classification(outputs, batch):
    scored = (outputs["logits"], batch[LABEL], batch[EXAMPLE_WEIGHT])
    return losses.classification_loss(*scored)[0], losses.classification_correct(*scored)


def _regression(outputs, batch):
    return losses.regression_loss(outputs["logits"], batch[LABEL], batch[EXAMPLE_WEIGHT])[0], None


def _pieces(outputs, batch):
    scored = (outputs["logits"], ops.maximum(batch[LABEL], 0), _weights("token_classification", batch))
    return losses.masked_lm_sums(*scored)[:2]


def _span(outputs, batch):
    scored = (outputs["start_logits"], outputs["end_logits"], batch["start_positions"], batch["end_positions"])
    weights = batch[EXAMPLE_WEIGHT]
    return losses.span_loss(*scored, weights)[0], losses.span_correct(*scored, weights)


def _span_beam(outputs, batch):
    loss, correct = _span(outputs, batch)
    answerable = (outputs["answerability_logits"], batch["is_impossible"], batch[EXAMPLE_WEIGHT])
    return loss + losses.answerability_loss(*answerable)[0], correct


def _span_categories(outputs, batch):
    lengths = ops.sum(ops.cast(batch[INPUT_MASK], "int32"), axis=1)
    scored = (outputs["logits"], batch[LABEL], _span_starts(batch), lengths, batch[EXAMPLE_WEIGHT])
    return losses.span_categories_loss(*scored)[0], None


# kind of head -> function of (outputs, batch) to (sum of losses, number of right answers or None).
_SUMS: dict[str, Callable[[Any, Any], tuple]] = {
    "classification": _classification,
    "regression": _regression,
    "multiple_choice": _classification,
    "token_classification": _pieces,
    "span": _span,
    "span_beam": _span_beam,
    SPAN_CATEGORIES: _span_categories,
}


def check_objective(settings: RecipeSettings, task: Task) -> None:
    """Refuses weights and smoothing that the task's head has no place for, and numbers that are none.

    Raises:
        FlagError: the head has no such loss.
        InputError: not numbers, or not as many as there are labels.
    """
    for name, heads, instead in (
        ("class_weights", _ONE_CLASS, "; a task of several labels has --pos_weight" if _is_multi_label(task) else ""),
        ("pos_weight", ("multi_label",), "; a task of one label has --class_weights" if task.labels else ""),
        ("label_smoothing", _SMOOTHED, ""),
    ):
        if getattr(settings, name) and task.head not in heads:
            raise FlagError(f"--{name} means nothing to {task.name}, a task of {task.head}{instead}")
    if settings.early_exit and task.head not in EXIT_HEADS:
        raise FlagError(
            f"--early_exit is for classes, labels and numbers of whole texts; {task.name} is a task of {task.head}"
        )
    _parse_weights("class_weights", settings.class_weights, task.labels)
    _parse_weights("pos_weight", settings.pos_weight, task.labels, or_one=True)


def _is_multi_label(task: Task) -> bool:
    return task.head == "multi_label"


def _parse_weights(name: str, text: str | None, labels: tuple[str, ...], or_one: bool = False) -> tuple[float, ...]:
    """The numbers of a flag; () where it is left out or says "balanced"."""
    if text is None or text == BALANCED:
        return ()
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 <= value < math.inf for value in found) or not any(found):
        raise FlagError(
            f"--{name} must be {BALANCED} or numbers with commas between, none below 0 and one above. "
            f"Received {text!r}."
        )
    if len(found) != len(labels) and not (or_one and len(found) == 1):
        one = "one number, or " if or_one else ""
        raise FlagError(
            f"--{name} must have {one}a number for each of the {len(labels)} labels, {', '.join(labels)}, in this "
            f"order. Received {len(found)}."
        )
    return found


def make_objective(settings: RecipeSettings, task: Task, features: FeatureSet | None) -> Objective:
    """The loss that the settings ask for.

    Args:
        settings: which check_objective found good.
        task: what is trained for.
        features: of the training split, whose labels "balanced" is counted from; None: nothing is trained.
    """
    if features is None:
        return Objective(task.head)
    class_weights = _parse_weights("class_weights", settings.class_weights, task.labels)
    pos_weight = _parse_weights("pos_weight", settings.pos_weight, task.labels, or_one=True)
    if settings.class_weights == BALANCED:
        class_weights = balanced_class_weights(features, len(task.labels))
    if settings.pos_weight == BALANCED:
        pos_weight = balanced_pos_weight(features)
    for name, weights in (("class_weights", class_weights), ("pos_weight", pos_weight)):
        if weights:
            names = task.labels if len(weights) > 1 else ("every label",)
            told = ", ".join(f"{label} {weight:.4g}" for label, weight in zip(names, weights, strict=True))
            logging.info("%s: %s", name, told)
    distillation = None
    if settings.teacher is not None:
        distillation = settings.distillation_temperature, settings.distillation_weight
    return Objective(task.head, class_weights, pos_weight, settings.label_smoothing, distillation)


def balanced_class_weights(features: FeatureSet, num_labels: int) -> tuple[float, ...]:
    """Weights by which all classes count the same in all: n / (classes * n of the class), as in scikit-learn.

    A class that does not occur has the weight 1, and no effect.
    """
    column = PIECE_LABELS if features.head == "token_classification" else LABEL_IDS
    labels = features.columns[column].values
    counts = np.bincount(labels[labels >= 0], minlength=num_labels)
    present = counts > 0
    weights = np.where(present, counts.sum() / (present.sum() * np.maximum(counts, 1)), 1.0)
    return tuple(weights.tolist())


def balanced_pos_weight(features: FeatureSet) -> tuple[float, ...]:
    """Weights by which a label counts as much where it is there as where it is not: absent / present.

    A label that is never there has the weight 1.
    """
    labels = features.columns[LABEL_IDS].values.reshape(len(features), -1)
    present = labels.sum(axis=0)
    weights = np.where(present > 0, (len(labels) - present) / np.maximum(present, 1), 1.0)
    # One that is always there would count for nothing at all.
    return tuple(np.where(weights > 0, weights, 1.0).tolist())
