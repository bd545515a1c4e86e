"""Checks of the values in an experiment's file; every error says where."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from albert_tf.runtime.errors import InputError


def as_object(values: Any, where: str) -> Mapping[str, Any]:
    """A JSON object, as it is."""
    if not isinstance(values, dict):
        raise InputError(f"{where}: a JSON object was expected. Received {values!r}.")
    return values


def as_text(value: Any, where: str) -> str:
    """A text, as it is."""
    if not isinstance(value, str):
        raise InputError(f"{where}: text was expected. Received {value!r}.")
    return value


def as_entries(
    values: Any, what: str, known: tuple[str, ...], needed: tuple[str, ...], where: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects in a list of them, each after where it stands."""
    if not isinstance(values, list):
        raise InputError(f"{where}: a list of {what} was expected. Received {values!r}.")
    for number, entry in enumerate(values):
        here = f"{where}[{number}]"
        check_keys(as_object(entry, here), known, here, needed)
        yield here, entry


def is_count(value: Any, least: int = 1) -> bool:
    """Tells whether a value is an integer of at least so much."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_figure(value: Any) -> bool:
    """Tells whether a value is a number or null."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def check_keys(values: Iterable[str], known: tuple[str, ...], where: str, needed: tuple[str, ...] = ()) -> None:
    """Sees that there is no key but the known ones, and none of the needed ones is missing."""
    for key in values:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            advice = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise InputError(f"{where}: unknown key {key!r}; {advice}")
    missing = [key for key in needed if key not in values]
    if missing:
        raise InputError(f"{where}: lacks {', '.join(missing)}")
