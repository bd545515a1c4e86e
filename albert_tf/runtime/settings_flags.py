"""Flags of a command declared from the settings that they fill: type, default, words and help stand there alone."""

import dataclasses
import os
import types
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from absl import flags

from albert_tf.runtime import flag_help
from albert_tf.runtime.settings import Described, fields_of

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
    flag_values: flags.FlagValues,
    names: Iterable[str] | None = None,
    but: Mapping[str, Any] = types.MappingProxyType({}),
) -> None:
    """Declares flags under a title of --help.

    Args:
        kind: a settings dataclass with a field for each flag.
        title: of the group.
        flag_values: where the flags go.
        names: of the flags, in the order of --help; None: all fields.
        but: defaults of a command that are not those of the settings.
    """
    flag_help.begin_group(title, flag_values)
    fields = fields_of(kind)
    for name in fields if names is None else names:
        field = fields[name]
        default = but.get(name, None if field.default in (dataclasses.MISSING, ()) else field.default)
        if field.words:
            flags.DEFINE_enum(name, default, field.words, field.text, flag_values=flag_values)
        else:
            _DEFINE[_flag_type(field)](name, default, field.text, flag_values=flag_values)


def _flag_type(field: Described) -> type:
    """The type of a value that is given: that of `str | None` is str, and so is a path's."""
    (kind,) = {str if kind is os.PathLike else kind for kind in field.kinds} - {types.NoneType}
    return kind


def values_of(kind: type, flag_values: flags.FlagValues, but: Collection[str] = ()) -> dict[str, Any]:
    """The values of the flags that are named like fields of a settings dataclass."""
    fields = fields_of(kind)
    given = {name: flag_values[name].value for name in fields if name in flag_values and name not in but}
    return {name: tuple(value or ()) if tuple in fields[name].kinds else value for name, value in given.items()}


def flag_lines(settings: Any, but: Collection[str] = ()) -> str:
    """The flags by which a command would have these settings, as a flag file has them; None and () are left out.

    Args:
        settings: of a dataclass that define_flags_of takes.
        but: names of fields that are left out. Those of types that no flag has are in any case.
    """
    lines = []
    for name, field in fields_of(type(settings)).items():
        kind, value = _flag_type(field), getattr(settings, name)
        if value is None or name in but or kind not in _DEFINE or (kind is tuple and not value):
            continue
        if kind is bool:
            lines.append(f"--{name}" if value else f"--no{name}")
        elif kind is tuple:
            lines.append(f"--{name}={flags.CsvListSerializer(',').serialize(list(value))}")
        else:
            # As the command has it, which writes 3 of a float as 3.0.
            lines.append(f"--{name}={kind(value)}")
    return "".join(f"{line}\n" for line in lines)
