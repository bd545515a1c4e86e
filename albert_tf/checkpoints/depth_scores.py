"""Scores of a fine-tuned checkpoint by the layers that are computed, beside it: depth_scores.json.

It has the metric, the dev split, its number of examples, the score of every number of first layers, and of a model with
exits the curve of score against layers, and the rule that was chosen.
"""

import os
from typing import Any

from absl import logging

from albert_tf.checkpoints.sealed_json import read_sealed_json, write_sealed_json
from albert_tf.runtime import files
from albert_tf.runtime.errors import DamagedError

DEPTH_SCORES_NAME = "depth_scores.json"
METRIC, LAYERS, CURVE, CHOSEN, DIFFERENCE = "metric", "layers", "curve", "chosen", "difference"


def write_depth_scores(checkpoint: str, scores: dict[str, Any]) -> None:
    """Notes the scores beside a checkpoint."""
    write_sealed_json(os.path.join(checkpoint, DEPTH_SCORES_NAME), scores)


def read_depth_scores(checkpoint: str) -> dict[str, Any]:
    """Reads what write_depth_scores noted; {} where it noted nothing, or the file is damaged."""
    path = os.path.join(checkpoint, DEPTH_SCORES_NAME)
    if not files.exists(path):
        return {}
    try:
        values, sealed = read_sealed_json(path)
    except DamagedError as error:
        logging.warning("%s; it is passed over", error)
        return {}
    return values if sealed else {}


def score_of_layers(checkpoint: str, num_layers: int) -> str:
    """The score of so many first layers in words, or how to have it."""
    scores = read_depth_scores(checkpoint)
    score = scores.get(LAYERS, {}).get(str(num_layers))
    if score is None:
        return "its score is not known: run_finetuning --do_eval --score_layers finds it"
    return f"{scores[METRIC]} {score:.4f} on the dev split, of all layers {max_layers_score(scores):.4f}"


def max_layers_score(scores: dict[str, Any]) -> float:
    """The score of all layers."""
    layers = scores[LAYERS]
    score: float = layers[max(layers, key=int)]
    return score
