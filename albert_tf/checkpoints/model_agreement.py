"""Checks that weights belong to a model of a config: some keys change what weights mean, though their shapes fit.

Dropout does not; its rates may change in the middle of a run, as the paper removes it.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

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


def compare_configs(config: AlbertConfig, stored: AlbertConfig, source: str) -> None:
    """Refuses what changes the meaning of weights though their shapes fit, and warns of another number of layers.

    Args:
        config: of the model that is to have the weights.
        stored: of the model they were trained in.
        source: where the weights are.

    Raises:
        InputError: other heads, or another activation.
    """
    for key in different_keys(config, stored):
        if key in ("num_attention_heads", "hidden_act"):
            raise InputError(
                f"{source} was trained with {key}={getattr(stored, key)!r}, --albert_config_file has "
                f"{getattr(config, key)!r}: its weights would mean something else"
            )
    if config.num_hidden_layers != stored.num_hidden_layers:
        logging.warning(
            "%s was trained with %d layers, this model has %d",
            *(source, stored.num_hidden_layers, config.num_hidden_layers),
        )


def with_dropout(config: AlbertConfig, settings: Any, before: AlbertConfig | None = None) -> AlbertConfig:
    """The config with the rates of dropout that a run is asked for, else with those that it had before.

    Args:
        config: of the file.
        settings: with a field for each rate, None where nobody asks.
        before: of the run's newest checkpoint; None for a new run, or for one that goes by the file.
    """
    asked = {key: getattr(settings, key) for key in _DROPOUT if getattr(settings, key) is not None}
    kept = {} if before is None else {key: getattr(before, key) for key in _DROPOUT if key not in asked}
    unlike = [key for key, rate in kept.items() if rate != getattr(config, key)]
    if unlike:
        logging.warning(
            "the run goes on with %s, as it was trained, not with the config's %s; give --%s to change that",
            *(_listed(kept, unlike), " and ".join(str(getattr(config, key)) for key in unlike), " and --".join(unlike)),
        )
    return dataclasses.replace(config, **asked, **kept)


def tell_of_other_dropout(config: AlbertConfig, stored: AlbertConfig, source: str) -> None:
    """Warns, in one line, if a run goes on with other rates of dropout."""
    before, now = (dataclasses.asdict(one) for one in (stored, config))
    if changed := [key for key in _DROPOUT if before[key] != now[key]]:
        rates = " and ".join(str(now[key]) for key in changed)
        logging.warning("%s was trained with %s, this run goes on with %s", source, _listed(before, changed), rates)


def _listed(values: Mapping[str, Any], keys: Iterable[str]) -> str:
    return " and ".join(f"{key}={values[key]}" for key in keys)
