"""A model's outputs for all features of a split, in their order, and what the task makes of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.inputs.finetuning_dataset import (
    EXAMPLE_WEIGHT,
    FEATURE_INDEX,
    BatchShape,
    make_evaluation_dataset,
    restore_order,
)
from albert_tf.inputs.finetuning_features import FeatureSet
from albert_tf.tasks.task import Task, TaskSettings
from albert_tf.tasks.thresholds import THRESHOLD_SCORE
from albert_tf.training.strategy import share_out_batches


def predict_features(
    steps, features: FeatureSet, shape: BatchShape, before_batch: Callable[[], None] = lambda: None
) -> dict[str, list[np.ndarray]]:
    """Runs the model on every feature once.

    Args:
        steps: finetuning.steps.FinetuningSteps of the model.
        features: of a split.
        shape: batch size and lengths.
        before_batch: called before each batch; may raise to stop.

    Returns:
        the outputs by name, one row for each feature, in their order.
    """
    batches = share_out_batches(steps.strategy, lambda context: make_evaluation_dataset(features, shape, context))
    found: dict[str, list[np.ndarray]] = {}
    for batch in batches:
        before_batch()
        for name, values in steps.predict(batch).items():
            found.setdefault(name, []).extend(values)
    index, weights = (np.asarray(found.pop(name)) for name in (FEATURE_INDEX, EXAMPLE_WEIGHT))
    return {name: restore_order(rows, index, weights) for name, rows in found.items()}


def predict_split(
    steps,
    task: Task,
    split,
    shape: BatchShape,
    settings: TaskSettings,
    before_batch: Callable[[], None] = lambda: None,
    keep: Callable[[dict[str, list[np.ndarray]]], None] = lambda outputs: None,
) -> list[Any]:
    """The task's predictions for the examples of a split.

    Args:
        steps, shape, before_batch: as in predict_features.
        task: whose split it is.
        split: finetuning.data.Split.
        settings: the task's lengths.
        keep: called with the model's outputs.
    """
    outputs = predict_features(steps, split.features, shape, before_batch)
    keep(outputs)
    return task.predictions(split.examples, split.features, outputs, settings)


def format_scores(rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Scores as a table: a line for each of (name, {score: value}), a column for each score."""
    names = list(dict.fromkeys(name for _, scores in rows for name in scores))
    # Those of single labels may be many; results.json has them.
    names = [name for name in names if not name.startswith(f"{THRESHOLD_SCORE} ")]
    cells = [["", *names]]
    cells += [[title, *(_cell(scores.get(name)) for name in names)] for title, scores in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]).rstrip()
        for row in cells
    )


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
