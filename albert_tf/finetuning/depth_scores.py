"""Scores of a model by the layers that are computed: its first ones, or, with exits, as many as each text needs.

Shapes: N examples, L layers, C classes.
"""

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from absl import logging

from albert_tf.checkpoints.depth_scores import CHOSEN, CURVE, DIFFERENCE, LAYERS, METRIC
from albert_tf.finetuning.evaluation import predict_features, predict_split
from albert_tf.finetuning.exit_plot import draw_exits
from albert_tf.finetuning.steps import FinetuningSteps
from albert_tf.heads.exit_names import EXIT_LOGITS
from albert_tf.heads.exits import ExitRule
from albert_tf.heads.pooling import POOLED
from albert_tf.models.first_layers import ends_of_groups, first_layers
from albert_tf.runtime.errors import InputError

PICTURE_NAME = "early_exit.png"
_KINDS = ("patience", "confidence")
_RULE = (*_KINDS, "min_layers")
# Confidences on the curve: closer to one another where most texts are.
_CONFIDENCES = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
# Of a regression, numbers agree that differ by less than this share of the standard deviation of all.
_SHARE = 0.05


def score_depths(run: Any, split: Any) -> dict[str, Any]:
    """Scores the run's model on a dev split by depth.

    Args:
        run: run.FinetuningRun, with the weights to score in its model.
        split: finetuning.data.Split.

    Returns:
        what checkpoints.depth_scores writes.
    """
    settings, score = run.settings, _Score(run.task, split.examples)
    facts = {METRIC: run.task.metric, "split": split.name, "num_examples": len(split.examples)}
    shape = run.data.batch_shape(settings.eval_batch_size)
    if not settings.early_exit:
        layers = {}
        for count in reversed(ends_of_groups(run.config)):
            steps = _steps(run, first_layers(run.model, count))
            layers[count] = score(
                lambda task, steps=steps: predict_split(
                    steps, task, split, shape, settings.task_settings, run.stop_if_asked
                )
            )
        return {**facts, LAYERS: {str(count): layers[count] for count in sorted(layers)}}
    outputs = predict_features(_steps(run, run.model, all_exits=True), split.features, shape, run.stop_if_asked)
    logits = np.concatenate([np.stack(outputs[EXIT_LOGITS]), np.stack(outputs["logits"])[:, None]], axis=1)

    def score_of(chosen: np.ndarray) -> float:
        found = {"logits": list(chosen)}
        return score(lambda task: task.predictions(split.examples, split.features, found, settings.task_settings))

    return facts | exit_scores(
        logits, run.task.head, score_of, settings.exit_tolerance, run.finetuned_task.exit_pooling
    )


class _Score:
    """A task's metric on a split, first of all layers: thresholds are chosen by these, as for the model that answers.

    Args:
        task: of the run.
        examples: of the split.
    """

    def __init__(self, task: Any, examples: Any):
        self._task, self._examples, self._metric = task, examples, task.metric

    def __call__(self, predict: Callable[[Any], list[Any]]) -> float:
        """The metric of what a function of the task predicts."""
        scores = self._task.scores(self._examples, predict(self._task))
        if self._task.threshold_score is not None:
            value = float(scores[self._metric])
            self._task = self._task.with_threshold(self._task.threshold_in(scores))
            # Of SQuAD v2 "best_f1" is that of a threshold which is now chosen.
            self._metric = self._metric.removeprefix("best_")
            return value
        return float(scores[self._metric])


def _steps(run: Any, model: Any, **kwargs: Any) -> FinetuningSteps:
    settings = {"objective": run.steps.objective, "static_shapes": run.steps.static_shapes}
    return FinetuningSteps(run.strategy, model, run.task.head, **settings, **kwargs)


def exit_scores(
    logits: np.ndarray,
    head: str,
    score: Callable[[np.ndarray], float],
    tolerance: float,
    pooling: str = POOLED,
) -> dict[str, Any]:
    """Scores every exit and every rule, and chooses the rule of least work whose score is near that of the last.

    Args:
        logits: float32 [N, L, C], of all exits.
        head: one of heads.exits.EXIT_HEADS.
        score: of the logits [N, C] that are answered with; asked about those of all layers first.
        tolerance: how much less than the last layer's a score may be.
        pooling: of ExitRule.

    Returns:
        {"layers": {number: score}, "curve": [{"patience" or "confidence", perhaps "min_layers", "score", "layers",
        "work": ExitRule.work_of}], "chosen": one of these without its figures, or None, "difference": of ExitRule}.
    """
    depth = logits.shape[1]
    layers = {str(layer): score(logits[:, layer - 1]) for layer in range(depth, 0, -1)}
    layers = {layer: layers[layer] for layer in sorted(layers, key=int)}
    difference = _SHARE * float(np.std(logits[:, -1])) if head == "regression" else 0.0
    # The first exit has none before it to agree with.
    make = functools.partial(ExitRule, head, pooling=pooling)
    rules = [make(patience=patience, difference=difference) for patience in range(1, depth - 1)]
    passing = []
    if head != "regression":
        rules += [make(confidence=confidence) for confidence in _CONFIDENCES]
        passing = _passing_over(make, logits)

    def point_of(rule: ExitRule) -> dict[str, Any]:
        used = rule.layers_of(logits)
        found = {"score": score(logits[np.arange(len(logits)), used - 1]), "layers": float(np.mean(used))}
        rule_only = {name: value for name, value in rule.to_dict().items() if name in _RULE}
        return rule_only | found | {"work": rule.work_of(used, depth)}

    curve = [point_of(rule) for rule in rules]
    curve += _not_beaten([point_of(rule) for rule in passing], curve)
    good = [point for point in curve if point["score"] >= layers[str(depth)] - tolerance and point["layers"] < depth]
    best = min(good, key=lambda point: (point["work"], -point["score"]), default=None)
    return {LAYERS: layers, CURVE: curve, CHOSEN: best and _rule_of(best), DIFFERENCE: difference}


def _rule_of(point: Mapping[str, Any]) -> dict[str, Any]:
    """A point of the curve without its figures."""
    return {name: point[name] for name in _RULE if name in point}


def _passing_over(make: Callable[..., ExitRule], logits: np.ndarray) -> list[ExitRule]:
    """The rules by confidence that pass over the first exits. Those that compute [CLS] first only if at least half of
    the texts leave there, as else it is not worth it."""
    rules = [
        make(confidence=confidence, min_layers=layer)
        for layer in range(2, logits.shape[1])
        for confidence in _CONFIDENCES
    ]
    return [rule for rule in rules if not rule.asks_first or np.mean(rule.layers_of(logits) == rule.min_layers) >= 0.5]


def _not_beaten(points: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points that have a higher score than all, these and others, of as little work; of equal ones the first."""
    kept: list[dict[str, Any]] = []
    for point in sorted(points, key=lambda point: (point["work"], -point["score"])):
        if all(one["score"] < point["score"] for one in [*others, *kept] if one["work"] <= point["work"]):
            kept.append(point)
    return kept


def format_depth_scores(scores: Mapping[str, Any]) -> str:
    """The scores as a table for people."""
    lines = [f"{scores[METRIC]} on {scores['split']} by layers"]
    lines += [f"  first {layers:>3}                          {score:.4f}" for layers, score in scores[LAYERS].items()]
    for point in scores.get(CURVE, ()):
        name, value = next((name, point[name]) for name in _KINDS if name in point)
        passed = f"from layer {point['min_layers']}" if "min_layers" in point else ""
        is_chosen = "  chosen" if scores[CHOSEN] == _rule_of(point) else ""
        work = f", {point['work']:4.0%} of the work" if "work" in point else ""
        told = f"{point['score']:.4f}  {point['layers']:.2f} layers{work}{is_chosen}"
        lines.append(f"  {name:<10} {value:<6g} {passed:<13}  {told}")
    return "\n".join(lines)


def tell_of_depth_scores(scores: Mapping[str, Any], output_dir: str) -> None:
    """Logs the scores as a table, and leaves a picture of the curve in the run's folder, where there is matplotlib."""
    logging.info("%s", format_depth_scores(scores))
    if CURVE not in scores:
        return
    if scores[CHOSEN] is None:
        logging.warning("no rule of early exit is within --exit_tolerance of all layers on %s", scores["split"])
    try:
        draw_exits(scores, os.path.join(output_dir, PICTURE_NAME))
    except InputError as error:
        logging.info("no picture of early exit: %s", error)
