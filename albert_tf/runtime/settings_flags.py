"""Flags of a command declared from the settings that they fill: type, default and allowed words stand there alone."""

import dataclasses
import os
import types
import typing
from collections.abc import Collection, Mapping
from typing import Any

from absl import flags

from albert_tf.runtime import flag_help

# The flags are those of the module that calls.
flags.disclaim_key_flags()

_DEFINE = {
    bool: flags.DEFINE_bool,
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
    str: flags.DEFINE_string,
    tuple: flags.DEFINE_list,
}


def define_flags_of(
    kind: type,
    title: str,
    texts: Mapping[str, str],
    flag_values: flags.FlagValues,
    but: Mapping[str, Any] = types.MappingProxyType({}),
) -> None:
    """Declares flags under a title of --help.

    Args:
        kind: a dataclass with an attribute for each flag; its CHOICES, if it has them, are the allowed words by name.
        title: of the group.
        texts: name -> help, in the order of --help.
        flag_values: where the flags go.
        but: defaults of a command that are not those of the settings.
    """
    flag_help.begin_group(title, flag_values)
    hints, choices = typing.get_type_hints(kind), getattr(kind, "CHOICES", {})
    defaults = {**{field.name: field.default for field in dataclasses.fields(kind)}, **but}
    for name, text in texts.items():
        default = None if defaults[name] in (dataclasses.MISSING, ()) else defaults[name]
        if name in choices:
            flags.DEFINE_enum(name, default, choices[name], text, flag_values=flag_values)
        else:
            _DEFINE[_plain_type(hints[name])](name, default, text, flag_values=flag_values)


def _plain_type(hint: Any) -> type:
    """The type of a value that is given: `str | None` is str, and so is a path; `tuple[str, ...]` is tuple."""
    if _is_tuple(hint):
        return tuple
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) or typing.get_origin(hint) else (hint,)
    (kind,) = {str if part is str or part in (os.PathLike, os.PathLike[str]) else part for part in kinds} - {type(None)}
    return kind


def values_of(kind: type, flag_values: flags.FlagValues, but: Collection[str] = ()) -> dict[str, Any]:
    """The values of the flags that are named like attributes of a dataclass."""
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    given = {name: flag_values[name].value for name in names if name in flag_values and name not in but}
    return {name: tuple(value or ()) if _is_tuple(hints[name]) else value for name, value in given.items()}


def _is_tuple(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple
