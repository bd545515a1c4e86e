"""Values as the text of JSON, which has no word for a number that is not finite."""

import json
import math
from typing import Any


def to_json(values: Any, **options: Any) -> str:
    """The values as JSON; a float that is not finite is null.

    >>> to_json({"loss": float("nan"), "accuracy": 0.5})
    '{"loss": null, "accuracy": 0.5}'

    Args:
        values: what json.dumps takes.
        **options: of json.dumps.
    """
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
