"""Checks that weights belong to a model of a config: some keys change what weights mean, though their shapes fit."""

import dataclasses

from absl import logging

from albert_tf.config import AlbertConfig
from albert_tf.runtime.errors import InputError

# Keys that may differ between two runs with the same weights.
_DROPOUT = ("hidden_dropout_prob", "attention_probs_dropout_prob")
_FREE = (*_DROPOUT, "initializer_range")
# Names of one function: the tanh form of gelu.
_SAME_ACTIVATION = {"gelu_new": "gelu"}


def different_keys(config: AlbertConfig, stored: AlbertConfig) -> list[str]:
    """The keys by which two models of the same weights compute different things."""

    def meaning(value):
        return _SAME_ACTIVATION.get(value, value)

    names = [field.name for field in dataclasses.fields(AlbertConfig) if field.name not in _FREE]
    return [name for name in names if meaning(getattr(config, name)) != meaning(getattr(stored, name))]


def check_same_model(config: AlbertConfig, stored: AlbertConfig, source: str, advice: str) -> None:
    """Refuses a model other than the one that weights were trained in.

    Args:
        config: of the model that is to have the weights.
        stored: of the model they were trained in.
        source: where the weights are, for the error.
        advice: what to do, for the error.

    Raises:
        InputError: they differ in more than dropout; the keys and both their values are named.
    """
    keys = different_keys(config, stored)
    if keys:
        before, now = (" and ".join(f"{key}={getattr(one, key)!r}" for key in keys) for one in (stored, config))
        raise InputError(f"{source} was trained with {before}, the config given has {now}; {advice}")


def tell_of_other_dropout(config: AlbertConfig, stored: AlbertConfig, source: str) -> None:
    """Warns if a run goes on with other rates of dropout."""
    for key in _DROPOUT:
        before, now = getattr(stored, key), getattr(config, key)
        if before != now:
            logging.warning("%s was trained with %s=%s, this run goes on with %s", source, key, before, now)
