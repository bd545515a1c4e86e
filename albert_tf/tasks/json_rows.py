"""Objects of JSON files as rows: of JSONL, one a line, or of a .json file with a list of them, one alone, or lines."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import refuse_constant, refuse_repeats
from albert_tf.tasks.tables import Row, read_lines, read_rows

JSON_FORMATS = (".jsonl", ".json")


class Item(Row):
    """An object of a JSON list, which has a number from 0 in place of a line."""

    @property
    def where(self) -> str:
        """File and number, as in "a.json, [3]"."""
        return f"{self.path}, [{self.line}]"


def load_json(path: str, object_pairs_hook: Callable[[Sequence[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value that a .json file holds; None of one that holds several, one a line.

    Args:
        path: the file.
        object_pairs_hook: as json.loads has it.

    Raises:
        InputError: no such file, or not JSON.
    """
    try:
        text = "\n".join(line for _, line in read_lines(path))
        return json.loads(text, object_pairs_hook=object_pairs_hook, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
            return None
        raise InputError(f"{path}: not JSON: {error}") from None


def read_objects(path: str) -> Iterator[Row]:
    """Yields the objects of a file.

    Raises:
        InputError: no such file, not JSON, or something else in it.
    """
    extension = os.path.splitext(path)[1].lower()
    if extension not in JSON_FORMATS:
        raise InputError(f"{path}: the name must end in {' or '.join(JSON_FORMATS)}")
    listed = load_json(path, refuse_repeats) if extension == ".json" else None
    if listed is None:
        yield from read_rows(path, ".jsonl")
        return
    if isinstance(listed, dict):
        listed = [listed]
    if not isinstance(listed, list):
        raise InputError(f"{path}: a list of objects was expected; this is a {type(listed).__name__}")
    for number, values in enumerate(listed):
        if not isinstance(values, dict):
            raise InputError(f"{path}, [{number}]: an object was expected; this is a {type(values).__name__}")
        yield Item(path, number, values)
