"""The keys of config files of other projects: what ALBERT's are, and which are misspelt."""

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import stored_groups
from albert_tf.runtime.errors import InputError


def refuse_misspelt(path: str, values: Mapping[str, Any], shape_keys: Collection[str]) -> None:
    """Refuses a key that resembles one that is not there; every other unknown key is some other model's.

    Args:
        path: of the file, for the error.
        values: what stands in it.
        shape_keys: the keys that make the shape of the model.

    Raises:
        InputError: such a key.
    """
    missing = [key for key in shape_keys if key not in values]
    for key in values:
        close = difflib.get_close_matches(key, missing, n=1, cutoff=0.85) if key not in shape_keys else []
        if close:
            raise InputError(f"{path}: unknown key {key!r}; did you mean {close[0]!r}, which is not there?")


def albert_values(config: AlbertConfig, format_title: str) -> dict[str, Any]:
    """The entries of an ALBERT's config, where "none" for parameter_sharing is as many groups as layers.

    Raises:
        InputError: the format, called so, cannot share attention or feed-forward parameters alone.
    """
    values = config.to_dict() | {"num_hidden_groups": stored_groups(config, format_title)}
    values.pop("parameter_sharing", None)
    return values
