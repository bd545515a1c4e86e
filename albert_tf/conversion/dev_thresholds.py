"""Thresholds that an evaluation beside a checkpoint found on the dev split, for a task that leaves them to be found."""

from collections.abc import Mapping
from typing import Any

from albert_tf.checkpoints.checkpoint_evaluation import read_evaluation
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.tasks.thresholds import EACH, ONE, thresholds_of_scores

# Odds of no answer above which none is given.
NULL_THRESHOLD = "null_score_diff_threshold"
# Of a task of several labels, the probabilities from which on they are given.
LABEL_THRESHOLD = "label_threshold"


def open_threshold(task: FinetunedTask) -> str | None:
    """The option of a task that is to be found on the dev split; None where there is none."""
    if task.options.get(LABEL_THRESHOLD) in (ONE, EACH):
        return LABEL_THRESHOLD
    return NULL_THRESHOLD if task.name == "squad_v2" and task.options.get(NULL_THRESHOLD) is None else None


def dev_thresholds(task: FinetunedTask, checkpoint: str) -> Mapping[str, Any]:
    """The option of a task that was found on the dev split; empty where there is none, or nothing was found.

    Args:
        task: of the checkpoint.
        checkpoint: its folder, with the evaluation beside it.
    """
    option = open_threshold(task)
    scores = None if option is None else read_evaluation(checkpoint)
    if scores is None:
        return {}
    if option == LABEL_THRESHOLD:
        found = thresholds_of_scores(task.options[LABEL_THRESHOLD], task.labels, scores)
        return {} if found is None else {LABEL_THRESHOLD: ",".join(map(repr, found))}
    threshold = scores.get("best_f1_thresh")
    return {NULL_THRESHOLD: float(threshold)} if isinstance(threshold, int | float) else {}
