"""The evaluation beside a checkpoint, evaluation.json: which checkpoint is the best goes by it."""

import math
import os
from collections.abc import Mapping
from typing import Any

from absl import logging

from albert_tf.checkpoints.sealed_json import read_sealed_json, write_sealed_json
from albert_tf.runtime import files
from albert_tf.runtime.errors import DamagedError

EVALUATION_NAME = "evaluation.json"
# The best checkpoint is the one with the highest of the metric that its evaluation names; of pre-training's this.
BEST_METRIC, _PRETRAINING_METRIC = "best_metric", "masked_lm_accuracy"
# A digest of the dev set that an evaluation is on; scores on others are no measure beside it.
DEV_SET = "dev_set"


def write_evaluation(folder: str, metrics: dict[str, Any]) -> None:
    """Notes beside a checkpoint what an evaluation of it found; BEST_METRIC in it names what checkpoints go by."""
    write_sealed_json(os.path.join(folder, EVALUATION_NAME), metrics)


def read_evaluation(folder: str) -> dict[str, Any] | None:
    """Reads what write_evaluation noted; None if it noted nothing, no finite score, or the file is damaged."""
    if not files.exists(os.path.join(folder, EVALUATION_NAME)):
        return None
    try:
        metrics = _read(folder)
    except DamagedError as error:
        logging.warning("%s; it is passed over", error)
        return None
    score = score_of(metrics)
    return metrics if score is not None and math.isfinite(score) else None


def is_evaluation_damaged(folder: str) -> bool:
    """Tells whether there is an evaluation of a checkpoint that cannot be read."""
    if not files.exists(os.path.join(folder, EVALUATION_NAME)):
        return False
    try:
        _read(folder)
    except DamagedError:
        return True
    return False


def score_of(metrics: Mapping[str, Any], metric: str | None = None) -> float:
    """The number by which checkpoints are compared, of an evaluation's metrics; higher is better.

    Args:
        metrics: of the evaluation.
        metric: the name to go by in place of that which the evaluation names, where it has that score.
    """
    if isinstance(metrics.get(metric), int | float):
        return metrics[metric]
    return metrics[metrics.get(BEST_METRIC, _PRETRAINING_METRIC)]


def _read(folder: str) -> dict[str, Any]:
    path = os.path.join(folder, EVALUATION_NAME)
    metrics, sealed = read_sealed_json(path)
    # Without a digest it is an earlier version's, which noted numbers and the name of one of them.
    if not sealed and any(type(value) is str for name, value in metrics.items() if name != BEST_METRIC):
        raise DamagedError(f"{path}: damaged, its SHA-256 is missing")
    try:
        score = score_of(metrics)
    except (KeyError, TypeError):
        raise DamagedError(f"{path}: damaged, it has no score") from None
    if type(score) not in (int, float, type(None)):
        raise DamagedError(f"{path}: damaged, its score is {score!r}")
    return metrics
