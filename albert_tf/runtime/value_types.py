"""Types of settings that are made in Python: a value of another type is a user's mistake, as it is for a flag."""

import dataclasses
import numbers
import os
import types
import typing
from typing import Any

from albert_tf.runtime.errors import InputError

_WORDS = {bool: "True or False", int: "an integer", float: "a number", str: "text", tuple: "a tuple of texts"}


def check_types(settings: Any) -> None:
    """Checks that the fields of a settings dataclass have the types that it declares.

    Integers and numbers may be NumPy's, and a list is as good as a tuple. The fields named in CHOICES are left to
    check_choices, which names the words.

    Args:
        settings: an instance; its fields are declared as bool, int, float, str, a path, tuple[str, ...] or a class,
            each with or without None.

    Raises:
        InputError: a value of another type.
    """
    hints = typing.get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        if field.name in getattr(settings, "CHOICES", {}):
            continue
        hint, value = hints[field.name], getattr(settings, field.name)
        kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        kinds = tuple(typing.get_origin(kind) or kind for kind in kinds)
        if not any(_is_of(value, kind) for kind in kinds):
            raise InputError(f"--{field.name} must be {_describe(kinds)}. Received {value!r}.")


def _is_of(value: Any, kind: type) -> bool:
    if kind is tuple:
        return isinstance(value, tuple | list) and all(isinstance(part, str) for part in value)
    if kind in (int, float):
        number = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, number) and not isinstance(value, bool)
    return isinstance(value, kind)


def _describe(kinds: tuple[type, ...]) -> str:
    if os.PathLike in kinds:
        return "a path: text, or an object such as pathlib.Path"
    kind = kinds[0]
    return _WORDS.get(kind, f"of type {kind.__name__}")
