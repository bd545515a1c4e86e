"""Signs of a fine-tuning that learns nothing: its loss stays where a constant answer would have it.

Large models do so on small tasks with some seeds, and with rates that are too high (Mosbach et al., 2020, arXiv
2006.04884, section 4).
"""

import json
import os

import numpy as np
from absl import logging

from albert_tf.finetuning.objectives import Objective
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.inputs.finetuning_features import (
    LABEL_IDS,
    PIECE_LABELS,
    SPAN_CATEGORIES,
    SPAN_HEADS,
    SPAN_LABELS,
    FeatureSet,
)
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError
from albert_tf.tasks.task import Task
from albert_tf.training.log_file import LOG_NAME

# A loss above this share of a constant answer's is that of a constant answer, but for noise.
_AT_CHANCE = 0.98
# So many reports in a row must say so after the warm-up.
_FEWEST_REPORTS = 3
_ADVICE = "lower --learning_rate, lengthen the warm-up, or take another --random_seed"


def check_restarts(settings: FinetuningSettings, task: Task) -> None:
    """Refuses --restart_failed_seeds where no run is ever found to have learned nothing.

    Raises:
        FlagError: the loss of a constant answer is not known.
    """
    unknown = {"with --teacher": settings.teacher is not None, f"of {task.name}": task.head == SPAN_CATEGORIES}
    where = next((where for where, holds in unknown.items() if holds), None)
    if settings.restart_failed_seeds and where is not None:
        raise FlagError(
            f"--restart_failed_seeds goes by the loss of always the same answer, which is not known "
            f"{where}; leave it out"
        )


def chance_loss(objective: Objective, features: FeatureSet, num_labels: int) -> float:
    """The loss of the best answer that is the same for every example, in the units of the objective.

    0, below any loss, of categories of spans: features do not say how many spans were possible.

    Args:
        objective: the loss.
        features: of the training split.
        num_labels: classes, of the heads that have such.
    """
    head = objective.head
    if head == SPAN_CATEGORIES:
        return 0.0
    if head in SPAN_HEADS:
        # Start and end count half each, and so does answerability.
        names = SPAN_LABELS if head == "span_beam" else SPAN_LABELS[:2]
        return 0.5 * sum(_entropy(np.bincount(features.columns[name].values)) for name in names)
    labels = features.columns[PIECE_LABELS if head == "token_classification" else LABEL_IDS].values
    if head == "regression":
        return float(np.var(labels))
    if head == "multi_label":
        return _chance_of_labels(objective, labels.reshape(len(features), -1))
    size = features.num_options if head == "multiple_choice" else num_labels
    counts = np.bincount(labels[labels >= 0], minlength=size).astype(float)
    weights = np.asarray(objective.class_weights or np.ones(len(counts)))
    smoothing = objective.label_smoothing
    targets = weights * ((1 - smoothing) * counts + smoothing * counts.sum() / len(counts))
    return _entropy(targets) * targets.sum() / max((weights * counts).sum(), 1e-30)


def _chance_of_labels(objective: Objective, labels: np.ndarray) -> float:
    """The same of several labels, 0 or 1 [examples, labels]."""
    smoothing = objective.label_smoothing
    share = labels.mean(axis=0) * (1 - smoothing) + 0.5 * smoothing
    there = share * np.asarray(objective.pos_weight or 1.0)
    pairs = np.stack([there, 1 - share], axis=-1)
    return float(np.mean([_entropy(pair) * pair.sum() for pair in pairs]))


def _entropy(counts: np.ndarray) -> float:
    """Entropy in nats of what occurs so often."""
    shares = counts[counts > 0] / max(counts.sum(), 1e-30)
    return float(-(shares * np.log(shares)).sum())


class Diagnosis:
    """A warning when the loss of a run does not leave that of a constant answer.

    Args:
        chance: what chance_loss returns.
        warmup_end: the step at which the warm-up is over; what is reported before counts for nothing.
    """

    def __init__(self, chance: float, warmup_end: int):
        self._chance, self._warmup_end = chance, warmup_end
        self._at_chance, self._has_warned = 0, False

    def report(self, step: int, metrics: dict[str, float]) -> dict[str, float]:
        """Warns once of a loss that stays there.

        Args:
            step: steps taken by now.
            metrics: means since the last report.

        Returns:
            {}, no figures for the report.
        """
        if step > self._warmup_end:
            self._at_chance = self._at_chance + 1 if _is_at_chance(metrics["loss"], self._chance) else 0
        if self._at_chance >= _FEWEST_REPORTS and not self._has_warned:
            self._has_warned = True
            logging.warning(
                "step %d: the loss, %.3f, is still no better than that of always the same answer, %.3f: nothing is "
                "learned; if it stays there, %s",
                *(step, metrics["loss"], self._chance, _ADVICE),
            )
        return {}


def _is_at_chance(loss: float, chance: float) -> bool:
    return chance > 0 and not loss < _AT_CHANCE * chance


def is_stuck(output_dir: str, num_steps: int, chance: float) -> bool:
    """Tells whether a run that is over learned nothing, and says so: by the second half of its log.

    Args:
        output_dir: of the run.
        num_steps: steps it took.
        chance: what chance_loss returns.
    """
    path = os.path.join(output_dir, LOG_NAME)
    if not files.exists(path):
        return False
    with files.open_binary(path) as file:
        lines = [json.loads(line) for line in file.read().splitlines()]
    lines = [line for line in lines if line.get("kind") == "train" and line.get("loss") is not None]
    # A line is the mean of the steps since the one before: of fewer, where the run was stopped.
    steps = np.diff([line["step"] for line in lines], prepend=0)
    late = [(line["loss"], count) for line, count in zip(lines, steps, strict=True) if line["step"] > num_steps / 2]
    losses, counts = zip(*late, strict=True) if late else ((), ())
    mean = float(np.average(losses, weights=counts)) if sum(counts) else 0.0
    if not sum(counts) or not _is_at_chance(mean, chance):
        return False
    logging.warning(
        "%s: the loss of the second half, %.3f, is no better than that of always the same answer, %.3f: nothing was "
        "learned; %s, or give --restart_failed_seeds=3, which goes on to the next seeds",
        *(output_dir, mean, chance, _ADVICE),
    )
    return True
