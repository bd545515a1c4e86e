"""Values that a caller in Python gave: paths, lists, whole numbers; what is none of these is an InputError."""

import numbers
import os
import reprlib
from collections.abc import Iterable, Mapping, Set
from typing import Any

from albert_tf.runtime.errors import InputError


def path_of(path: Any) -> str:
    """A path as text, without a slash at its end; raises InputError for what is none."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InputError(f"a path was expected. Received {reprlib.repr(path)}.")
    return os.fspath(path).rstrip("/") or "/"


def items_of(given: Any, what: str) -> list[Any]:
    """The items of a list, or of whatever else gives them one by one in an order of their own.

    Raises:
        InputError: an object, a set, a table or an array of no axis, whose items are not what is in it; or nothing of
            the kind.
    """
    is_single = isinstance(given, Mapping | Set) or hasattr(given, "columns") or getattr(given, "ndim", 1) == 0
    if not isinstance(given, Iterable) or is_single:
        raise InputError(f"a list of {what} was expected; received {reprlib.repr(given)}")
    return list(given)


def count_of(given: Any, name: str) -> int:
    """A whole number of at least 1, NumPy's too; raises InputError, which calls it by its name, for anything else."""
    if isinstance(given, bool) or not isinstance(given, numbers.Integral) or given < 1:
        raise InputError(f"`{name}` must be a whole number of at least 1. Received {reprlib.repr(given)}.")
    return int(given)
