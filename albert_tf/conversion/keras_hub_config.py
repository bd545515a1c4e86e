"""The config.json of a KerasHub preset, and what an AlbertBackbone of KerasHub cannot be."""

from typing import Any

from absl import logging

from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import stored_groups
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

TITLE = "a KerasHub preset"

_REQUIRED_KEYS = {
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "embedding_dim": "embedding_size",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
}
# Keys that older presets may lack; their defaults are the same as ours.
_KEYS = _REQUIRED_KEYS | {
    "num_groups": "num_hidden_groups",
    "num_inner_repetitions": "inner_group_num",
    "max_sequence_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
    "dropout": "hidden_dropout_prob",
}
_KERAS_KEYS = ("name", "trainable", "dtype")
# Its fresh weights are drawn with this standard deviation, whatever the config.
_INITIALIZER_RANGE = 0.02
# Its one activation is the tanh form of gelu.
_ACTIVATIONS = ("gelu", "gelu_new")


def check_activation(config: AlbertConfig) -> None:
    """Raises InputError if the model's activation differs from KerasHub's."""
    if config.hidden_act not in _ACTIVATIONS:
        raise InputError(
            f"{TITLE} cannot have hidden_act={config.hidden_act!r}; KerasHub always takes the tanh form of gelu, "
            f"here {' or '.join(map(repr, _ACTIVATIONS))}"
        )


def read_config(path: str) -> AlbertConfig:
    """The AlbertConfig of a preset's config.json.

    Raises:
        InputError: a different backbone's config, keys missing or unknown, or values that a rule forbids.
    """
    values = files.read_json(path)
    name, theirs = values.get("registered_name"), values.get("config")
    if str(name).rpartition(">")[2] != "AlbertBackbone" or not isinstance(theirs, dict):
        raise InputError(f"{path}: describes {name!r}; only KerasHub's AlbertBackbone has a place here")
    missing = [key for key in _REQUIRED_KEYS if key not in theirs]
    unknown = [key for key in theirs if key not in _KEYS and key not in _KERAS_KEYS]
    if missing or unknown:
        faults = [f"{what} {', '.join(keys)}" for what, keys in (("missing", missing), ("unknown", unknown)) if keys]
        raise InputError(f"{path}: not the keys of an AlbertBackbone: {'; '.join(faults)}")
    ours = {_KEYS[key]: value for key, value in theirs.items() if key in _KEYS}
    if "dropout" in theirs:
        ours["attention_probs_dropout_prob"] = theirs["dropout"]
    config = AlbertConfig.from_dict(ours, where=path)
    _check_grouping(config, path)
    return config


def backbone_config(config: AlbertConfig) -> dict[str, Any]:
    """The arguments of the AlbertBackbone that such a model is, as its get_config gives them, without the name.

    Raises:
        InputError: KerasHub has no such model.
    """
    if config.hidden_dropout_prob != config.attention_probs_dropout_prob:
        raise InputError(
            f"{TITLE} has one dropout for all; this model has hidden_dropout_prob={config.hidden_dropout_prob} and "
            f"attention_probs_dropout_prob={config.attention_probs_dropout_prob}"
        )
    _check_grouping(config, TITLE)
    if config.initializer_range != _INITIALIZER_RANGE:
        logging.warning("%s has no place for initializer_range=%s", TITLE, config.initializer_range)
    values = config.to_dict() | {"num_hidden_groups": stored_groups(config, TITLE)}
    dtype = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
    return {"trainable": True, "dtype": dtype} | {theirs: values[ours] for theirs, ours in _KEYS.items()}


def _check_grouping(config: AlbertConfig, where: str) -> None:
    """Raises InputError unless the groups are of one size, as KerasHub has them."""
    layers, groups = config.num_hidden_layers, config.num_hidden_groups
    if layers % groups:
        raise InputError(
            f"{where}: KerasHub's groups are of one size; {layers} layers do not divide into {groups} groups"
        )
