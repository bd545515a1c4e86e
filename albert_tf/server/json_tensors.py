"""JSON to tensors and back, as TensorFlow Serving's REST interface has it.

A request has `instances`, a list of rows, or `inputs`, a whole column for each input; its response has `predictions`
or `outputs`. What stands in them is read by the signature: its types, its axes.
"""

import base64
import binascii
import dataclasses
import itertools
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from albert_tf.portable.interface import TensorForm
from albert_tf.server.request_error import FAULT, RequestError
from albert_tf.server.served_model import BOOL, SERVING_DEFAULT, STRING, Signature

_BASE64 = "b64"
# An output whose name ends so is bytes, which go in base64.
_BYTES_SUFFIX = "_bytes"
# Numbers of one response: of JSON some 160 MB.
MOST_VALUES = 2**24
_JSON_TYPES = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
_KINDS = {STRING: "strings", BOOL: "true or false", "int32": "integers", "int64": "integers", "float32": "numbers"}


@dataclasses.dataclass(frozen=True)
class Question:
    """A request, read.

    Attributes:
        signature: the name of the signature that it asks.
        by_row: whether it came in rows, and its response is to go in rows.
        inputs: an array for each input; texts are bytes, in arrays of dtype object.
    """

    signature: str
    by_row: bool
    inputs: dict[str, np.ndarray]


def read_question(body: bytes, signatures: Mapping[str, Signature], max_text_chars: int) -> Question:
    """Reads the body of a request.

    Args:
        body: its JSON.
        signatures: of the model that is asked.
        max_text_chars: the most characters of a text, and of a list of texts together.

    Raises:
        RequestError: it is no JSON, names no signature of the model, or does not fit it.
    """
    document = read_object(body)
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise RequestError("'signature_name' must be a string")
    signature = signatures.get(name or SERVING_DEFAULT)
    if signature is None:
        raise RequestError(
            f'Serving signature name: "{shorten(name or SERVING_DEFAULT)}" not found in signature def; there are '
            f"{', '.join(sorted(signatures))}"
        )
    by_row = "instances" in document
    if by_row == ("inputs" in document):
        raise RequestError("one of 'instances' and 'inputs' is expected, and not both")
    read = _columns_of_rows if by_row else _columns
    values = read(document["instances" if by_row else "inputs"], signature.inputs)
    inputs = {name: _read_tensor(values[name], form, max_text_chars) for name, form in signature.inputs.items()}
    sizes = {name: array.shape[0] for name, array in inputs.items() if array.ndim}
    if len(set(sizes.values())) > 1:
        raise RequestError(f"the inputs differ in their number of rows: {sizes}")
    return Question(name or SERVING_DEFAULT, by_row, inputs)


def read_object(body: bytes) -> dict[str, Any]:
    """The object that a body holds; RequestError where it holds none."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(f"JSON Parse error: {error}") from None
    if not isinstance(document, dict):
        raise RequestError(f"a JSON object was expected, {_kind(document)} received")
    return document


def shorten(value: Any) -> str:
    """A value of a client's as part of one short line."""
    return reprlib.repr(value) if not isinstance(value, str) else reprlib.repr(value)[1:-1]


def _columns(given: Any, forms: Mapping[str, TensorForm]) -> Mapping[str, Any]:
    """The value of each input, of `inputs`: an object, or the value of the only one."""
    if not isinstance(given, dict) or (_is_base64(given) and _BASE64 not in forms):
        if len(forms) != 1:
            raise RequestError(f"'inputs' must be an object with {_names(forms)}; {_kind(given)} received")
        return {next(iter(forms)): given}
    _check_names(given, forms, "'inputs'")
    return given


def _columns_of_rows(rows: Any, forms: Mapping[str, TensorForm]) -> dict[str, Any]:
    """The value of each input, of `instances`; one without axes must be the same in every row."""
    if not isinstance(rows, list) or not rows:
        raise RequestError("'instances' must be a list with at least one row")
    if not forms:
        raise RequestError("the signature has no inputs, and so no rows; ask it with 'inputs': {}")
    if isinstance(rows[0], dict) and not _is_base64(rows[0]):
        for number, row in enumerate(rows):
            if not isinstance(row, dict):
                raise RequestError(f"instances[{number}] must be an object as instances[0] is; {_kind(row)} received")
            _check_names(row, forms, f"instances[{number}]")
        columns = {name: [row[name] for row in rows] for name in forms}
    elif len(forms) != 1:
        raise RequestError(f"'instances' must be a list of objects with {_names(forms)}; {_kind(rows[0])} received")
    else:
        columns = {next(iter(forms)): rows}
    for name, form in forms.items():
        if not form.axes:
            first, *others = columns[name]
            if any(other != first for other in others):
                raise RequestError(f"{name!r} must be the same in all instances")
            columns[name] = first
    return columns


def _check_names(given: Mapping[str, Any], forms: Mapping[str, TensorForm], where: str) -> None:
    missing = [name for name in forms if name not in given]
    unexpected = [name for name in given if name not in forms]
    if missing or unexpected:
        parts = [f"{_names(missing)} missing"] if missing else []
        parts += [f"{shorten(unexpected)} unexpected"] if unexpected else []
        raise RequestError(f"{where}: {', '.join(parts)}; the signature takes {_names(forms) or 'nothing'}")


def _read_tensor(value: Any, form: TensorForm, max_text_chars: int) -> np.ndarray:
    """The array of an input's nested lists, which may not be ragged."""
    level, shape = [value], []
    for depth, axis in enumerate(form.axes):
        for item in level:
            if not isinstance(item, list):
                raise RequestError(
                    f"input {form.name!r}: lists {len(form.axes)} deep were expected (the first over the rows), "
                    f"{_kind(item)} at depth {depth + 1} received"
                )
        lengths = sorted({len(item) for item in level}) or [0]
        if len(lengths) > 1:
            raise RequestError(
                f"input {form.name!r}: its lists differ in length ({lengths[0]} and {lengths[-1]}); pad them"
            )
        if isinstance(axis, int) and lengths != [axis]:
            raise RequestError(f"input {form.name!r}: lists of {axis} were expected, one of {lengths[0]} received")
        shape.append(lengths[0])
        level = list(itertools.chain.from_iterable(level))
    if form.dtype == STRING:
        leaves = _read_texts(level, form, max_text_chars, shape[1] if len(shape) > 1 else 1)
        array = np.empty(len(leaves), object)
        array[:] = leaves
        return array.reshape(shape)
    return _read_numbers(level, form).reshape(shape)


def _read_texts(leaves: list[Any], form: TensorForm, max_text_chars: int, in_row: int) -> list[bytes]:
    """The texts of an input as UTF-8, none too long, nor those of a row together."""
    texts = []
    for leaf in leaves:
        if isinstance(leaf, str):
            texts.append(leaf)
        elif _is_base64(leaf):
            texts.append(_decode_base64(leaf[_BASE64], form))
        else:
            raise RequestError(f"input {form.name!r}: {_KINDS[STRING]} were expected, {_kind(leaf)} received")
    for start in range(0, len(texts), max(1, in_row)):
        row = texts[start : start + in_row]
        # An empty text costs something too.
        size = sum(map(len, row)) + len(row) - 1
        if size > max_text_chars:
            raise RequestError(
                f"input {form.name!r}: a text of {size:,} characters; the server takes {max_text_chars:,} at most"
            )
    return [text.encode() for text in texts]


def _decode_base64(value: str, form: TensorForm) -> str:
    try:
        return base64.b64decode(value.encode(), validate=True).decode()
    except binascii.Error:
        raise RequestError(f"input {form.name!r}: unable to base64 decode {shorten(value)!r}") from None
    except UnicodeDecodeError:
        raise RequestError(f"input {form.name!r}: a text is not UTF-8") from None


def _read_numbers(leaves: list[Any], form: TensorForm) -> np.ndarray:
    allowed = {BOOL: (bool,), "float32": (int, float)}.get(form.dtype, (int,))
    if any(type(leaf) not in allowed for leaf in leaves):
        wrong = next(leaf for leaf in leaves if type(leaf) not in allowed)
        raise RequestError(f"input {form.name!r}: {_KINDS[form.dtype]} were expected, {_kind(wrong)} received")
    dtype = np.dtype(form.dtype)
    if leaves and dtype.kind != "b":
        limits: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        # As Python's numbers, of which none overflows.
        kind = float if dtype.kind == "f" else int
        least, most = kind(limits.min), kind(limits.max)
        for leaf in (min(leaves), max(leaves)):
            if not least <= leaf <= most:
                raise RequestError(f"input {form.name!r}: {shorten(leaf)} is no {form.dtype}")
    return np.array(leaves, dtype)


def write_answer(outputs: Mapping[str, np.ndarray], by_row: bool) -> bytes:
    """The JSON of a response.

    Args:
        outputs: of the model, by their names.
        by_row: see Question.

    Raises:
        RequestError: outputs without rows, or more numbers than a response holds, or numbers that JSON has no word for.
    """
    count = sum(array.size for array in outputs.values())
    if count > MOST_VALUES:
        raise RequestError(f"the answer has {count:,} values, more than {MOST_VALUES:,}; ask for fewer rows at once")
    for name, array in outputs.items():
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            raise RequestError(f"the model's {name} are not finite numbers; its weights are damaged", FAULT)
    values = {name: _plain(name, array) for name, array in outputs.items()}
    if not by_row:
        return _dump({"outputs": values if len(values) > 1 else next(iter(values.values()))})
    if any(array.ndim == 0 for array in outputs.values()):
        raise RequestError("the signature's outputs have no rows; ask it with 'inputs'")
    rows: Sequence[Any] = list(zip(*values.values(), strict=True))
    predictions = [dict(zip(values, row)) for row in rows] if len(values) > 1 else [row[0] for row in rows]
    return _dump({"predictions": predictions})


def _plain(name: str, array: np.ndarray) -> Any:
    """An output as what orjson writes: an array of numbers as it is, texts as nested lists."""
    if array.dtype != object:
        return np.ascontiguousarray(array) if array.ndim else array[()]
    if name.endswith(_BYTES_SUFFIX):
        leaves: list[Any] = [{_BASE64: base64.b64encode(value).decode()} for value in array.ravel()]
    else:
        leaves = [value.decode(errors="replace") for value in array.ravel()]
    plain = np.empty(len(leaves), object)
    plain[:] = leaves
    return plain.reshape(array.shape).tolist()


def _dump(content: Any) -> bytes:
    return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get(_BASE64), str)


def _names(names: Any) -> str:
    return ", ".join(map(repr, names))


def _kind(value: Any) -> str:
    return _JSON_TYPES.get(type(value)) or f"{type(value).__name__} {shorten(value)}"
