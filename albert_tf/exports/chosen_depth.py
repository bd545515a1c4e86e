"""The layers of a checkpoint that are computed: its first ones, or as many as each text needs."""

import dataclasses
from typing import Any

from absl import logging

from albert_tf.checkpoints.depth_scores import CHOSEN, DIFFERENCE, read_depth_scores, score_of_layers
from albert_tf.conversion.pretrained import Pretrained
from albert_tf.exports.depth import DepthSettings
from albert_tf.heads.exits import ExitRule
from albert_tf.heads.pooling import POOLED
from albert_tf.models.first_layers import first_layers
from albert_tf.runtime.errors import InputError


def with_first_layers(pretrained: Pretrained, num_layers: int | None) -> Pretrained:
    """The same with so many of the model's first layers; says what that scores. None: all layers.

    Raises:
        InputError: the model has fewer, or they end inside a group.
    """
    if num_layers is None:
        return pretrained
    model, task = first_layers(pretrained.model, num_layers), pretrained.task
    if model is pretrained.model:
        return pretrained
    told = f"; {score_of_layers(pretrained.source, num_layers)}" if task is not None else ""
    logging.info("the first %d of %d layers%s", num_layers, pretrained.model.config.num_hidden_layers, told)
    task = None if task is None else dataclasses.replace(task, early_exit=False, exit_pooling=POOLED)
    return dataclasses.replace(pretrained, model=model, task=task)


def exit_rule(settings: DepthSettings, pretrained: Pretrained) -> ExitRule | None:
    """The rule by which texts leave before the last layer; None where the settings ask for all layers.

    Raises:
        InputError: the model has no exits, its run chose no rule, or the rule means nothing to it.
    """
    if not settings.has_exits:
        return None
    source, task = pretrained.source, pretrained.task
    if task is None or not task.early_exit:
        raise InputError(f"{source} has no exits; run_finetuning --early_exit trains a model with them")
    if pretrained.model.exits.is_untrained:
        raise InputError(
            f"{source}: its exits are not fitted yet: the run was stopped before its first checkpoint by "
            "--save_checkpoints_steps; go on with run_finetuning, or leave early exit out"
        )
    scores = read_depth_scores(source)
    rule: dict[str, Any] = {"patience": settings.patience, "confidence": settings.exit_confidence}
    rule["min_layers"] = settings.min_layers or 1
    if settings.early_exit:
        if not scores.get(CHOSEN):
            why = "no rule is near enough to all layers on dev" if scores else "no rule was chosen on a dev split yet"
            raise InputError(
                f"--early_exit: of {source} {why}; give --patience or --exit_confidence, or, of a run's own folder, "
                "run_finetuning --do_eval --early_exit, with a higher --exit_tolerance"
            )
        rule = scores[CHOSEN]
        logging.info("early exit by %s, chosen on dev", " ".join(f"{name} {value}" for name, value in rule.items()))
    if task.head == "regression":
        if rule.get("confidence") is not None:
            raise InputError(f"--exit_confidence is for probabilities; {source} gives a number: give --patience")
        if DIFFERENCE not in scores:
            raise InputError(
                f"--patience: {source} was not scored; run_finetuning --do_eval --early_exit scores a run's checkpoint"
            )
    most = pretrained.model.config.num_hidden_layers - 2
    if rule.get("min_layers", 1) > most + 1:
        raise InputError(
            f"--min_layers must be at most {most + 1}, one less than the model's layers, for a text to leave at all. "
            f"Received {rule['min_layers']}."
        )
    if rule.get("patience") is not None and rule["patience"] > most:
        raise InputError(
            f"--patience must be at most {most}, two less than the model's layers: the first exit has none before it "
            f"to agree with. Received {rule['patience']}."
        )
    return ExitRule(task.head, difference=scores.get(DIFFERENCE, 0.0), pooling=task.exit_pooling, **rule)
