"""Values as the text of JSON, which has no word for a number that is not finite."""

import json
import math
from collections.abc import Sequence
from typing import Any


def to_json(values: Any, **options: Any) -> str:
    """The values as JSON; a float that is not finite is null.

    >>> to_json({"loss": float("nan"), "accuracy": 0.5})
    '{"loss": null, "accuracy": 0.5}'

    Args:
        values: what json.dumps takes.
        **options: of json.dumps.
    """
    try:
        return json.dumps(values, allow_nan=False, **options)
    except ValueError:
        return json.dumps(_without_nonfinite(values), allow_nan=False, **options)


def _without_nonfinite(values: Any) -> Any:
    if isinstance(values, float):
        return values if math.isfinite(values) else None
    if isinstance(values, dict):
        return {key: _without_nonfinite(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [_without_nonfinite(value) for value in values]
    return values


def to_json_bytes(values: Any, **options: Any) -> bytes:
    """The same with all characters as they are, in UTF-8; a lone surrogate, of a file's name, as JSON's escape.

    >>> to_json_bytes({"é": "\\udcff"}).decode()
    '{"é": "\\\\udcff"}'
    """
    return to_json(values, ensure_ascii=False, **options).encode("utf-8", "backslashreplace")


def refuse_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON in which no name stands twice; an `object_pairs_hook` of json.loads.

    >>> json.loads('{"a": 1, "b": 2}', object_pairs_hook=refuse_repeats)
    {'a': 1, 'b': 2}

    Raises:
        ValueError: a name stands twice, of which json.loads would keep the last value alone.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return values


def refuse_constant(name: str) -> None:
    """A `parse_constant` of json.loads: refuses NaN and Infinity, which Python reads though JSON has no such values.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{name} is not a value of JSON")
