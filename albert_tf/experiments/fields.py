"""Checks of the values in an experiment's file; every error says where."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import refuse_repeats

# What no figure of a table comes to.
LARGEST_FIGURE = 1e30


def read_values(path: str) -> Any:
    """The contents of a JSON file.

    Raises:
        InputError: not JSON, or a key stands twice.
        OSError: no such file, or no right to read it.
    """
    try:
        return json.loads(files.read_small(path), object_pairs_hook=refuse_repeats)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from None


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


def as_path(value: Any, where: str) -> str:
    """A path, as it is."""
    if not as_text(value, where):
        raise InputError(f"{where}: a path was expected. Received ''.")
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


def as_seeds(values: Any, where: str) -> tuple[int, ...]:
    """Seeds of random numbers, each once."""

    def is_seed(value: Any) -> bool:
        return is_count(value, least=0) and value < 2**32

    if not isinstance(values, list) or not values or not all(map(is_seed, values)) or len(set(values)) < len(values):
        raise InputError(f"{where}: a list of different integers from 0 to 2^32 - 1 was expected. Received {values!r}.")
    return tuple(values)


def is_count(value: Any, least: int = 1) -> bool:
    """Tells whether a value is an integer of at least so much."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_figure(value: Any) -> bool:
    """Tells whether a value is null or a number that a page can draw."""
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST_FIGURE


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
