"""The first layers of a model as a model of its own."""

import dataclasses
from typing import Any

import keras

from albert_tf.config import AlbertConfig
from albert_tf.heads.exit_names import exit_name
from albert_tf.models.named_weights import named_weights
from albert_tf.runtime.errors import InputError


def first_layers(model: Any, num_layers: int) -> Any:
    """The same model with the first of its layers alone: of a shared block, with fewer applications.

    Args:
        model: of models.albert, models.pretraining or models.finetuning. Of one with exits the last layer that is left
            has its own classifier, which reads what it has read, and the exits before it are left out. One that reads
            the mean has no place in a checkpoint, but in every export.
        num_layers: how many are left, of L.

    Returns:
        a model of the same class, with the same `load_report`, on the CPU; the model itself where all layers are left.

    Raises:
        InputError: the model has fewer layers, or groups of which the last would be cut apart.
    """
    config: AlbertConfig = model.config
    if num_layers == config.num_hidden_layers:
        return model
    shortened = _shortened(config, num_layers)
    settings = {**model.get_config(), "config": shortened.to_dict()}
    has_exits = settings.pop("early_exit", False)
    if has_exits:
        settings["classifier_pooling"] = settings.pop("exit_pooling")
    weights = named_weights(model)
    with keras.device("cpu"):
        copy = type(model).from_config(settings)
        for name, variable in named_weights(copy).items():
            theirs = name
            if has_exits and name.startswith("classifier/"):
                theirs = exit_name(num_layers, name.removeprefix("classifier/"))
            variable.assign(weights[theirs])
    if hasattr(model, "load_report"):
        copy.load_report = model.load_report
    return copy


def ends_of_groups(config: AlbertConfig) -> list[int]:
    """After how many layers a model can end without cutting a group of shared layers apart."""
    return [end for end in range(1, config.num_hidden_layers + 1) if _groups_left(config, end) is not None]


def _groups_left(config: AlbertConfig, num_layers: int) -> int | None:
    """The groups of so many first layers, each of which keeps its own; None where the last would be cut apart."""
    layers, groups = config.num_hidden_layers, config.num_hidden_groups
    left = (num_layers - 1) * groups // layers + 1
    kept = all(layer * groups // layers == layer * left // num_layers for layer in range(num_layers))
    return left if kept else None


def _shortened(config: AlbertConfig, num_layers: int) -> AlbertConfig:
    """The config with fewer layers, each of which has the group that it has in the whole model."""
    layers, groups = config.num_hidden_layers, config.num_hidden_groups
    if not 1 <= num_layers <= layers:
        raise InputError(f"--num_layers must lie between 1 and the model's {layers} layers. Received {num_layers}.")
    left = _groups_left(config, num_layers)
    if left is None:
        raise InputError(
            f"--num_layers={num_layers} cuts a group of layers that share their weights in two; with the model's "
            f"{groups} groups it can end after {', '.join(map(str, ends_of_groups(config)))} layers"
        )
    return dataclasses.replace(config, num_hidden_layers=num_layers, num_hidden_groups=left)
