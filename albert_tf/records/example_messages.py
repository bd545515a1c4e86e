"""tf.train.Example messages as bytes, written and read without tensorflow.

Importing tensorflow costs seconds and hundreds of megabytes a process, too much for every worker of the data
scripts. The message is small: Example{1: Features{1: map<string, Feature>}}, where a Feature is a bytes_list (1),
a float_list (2) or an int64_list (3), each with its values in field 1, numbers packed
(tensorflow/core/example/feature.proto). What is written here equals, byte for byte,
`tf.train.Example.SerializeToString(deterministic=True)`.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

_VARINT, _FIXED64, _LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5
BYTES_LIST, FLOAT_LIST, INT64_LIST = 1, 2, 3

# The wire form of small numbers, filled as far as it was needed; ids and positions are all small.
_MOST_SMALL_VARINTS = 1 << 18
_small_varints: list[bytes] = []


def encode_example(features: Mapping[str, bytes | Sequence[int] | np.ndarray]) -> bytes:
    """The serialized tf.train.Example of these features, in the order of their names.

    Args:
        features: name -> non-negative integers (an int64_list), as numbers or as pack_integers gave them, or a
            float32 array (a float_list); never empty.

    Returns:
        The message, the same bytes for the same features.
    """
    entries = []
    for name in sorted(features):
        values = features[name]
        if isinstance(values, np.ndarray) and values.dtype == np.float32:
            kind, packed = FLOAT_LIST, values.astype("<f4", copy=False).tobytes()
        else:
            kind, packed = INT64_LIST, values if isinstance(values, bytes) else pack_integers(values)
        feature = _field(kind, _field(1, packed))
        entries.append(_field(1, _field(1, name.encode()) + _field(2, feature)))
    return _field(1, b"".join(entries))


def decode_example(message: bytes) -> dict[str, np.ndarray | list[bytes]]:
    """The features of a serialized tf.train.Example.

    Args:
        message: any valid encoding: features in any order, numbers packed or not.

    Returns:
        Feature name -> int64 array, float32 array, or list of bytes.

    Raises:
        ValueError: the bytes are not such a message.
    """
    features: dict[str, np.ndarray | list[bytes]] = {}
    for number, body in _fields(message):
        if number != 1:
            continue
        for entry_number, entry in _fields(body):
            if entry_number == 1:
                parts = dict(_fields(entry))
                features[bytes(parts.get(1, b"")).decode()] = _decode_feature(parts.get(2, b""))
    return features


def pack_integers(values: Sequence[int] | np.ndarray) -> bytes:
    """The wire form of non-negative integers: varints, one after the other. A zero is one zero byte."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if min(values, default=0) < 0:
        raise ValueError(f"only non-negative integers are written; received {min(values)}")
    try:
        return b"".join(map(_small_varints.__getitem__, values))
    except IndexError:
        while len(_small_varints) <= min(max(values), _MOST_SMALL_VARINTS):
            _small_varints.append(_varint(len(_small_varints)))
        return b"".join(map(_varint, values))


def pack_spans(values: np.ndarray, offsets: np.ndarray) -> list[bytes]:
    """pack_integers of many spans of one array, without a Python object for each number.

    Args:
        values: non-negative integers, all spans one after the other.
        offsets: where each span starts, and at last the end.

    Returns:
        The wire form of each span.
    """
    values = np.asarray(values).astype(np.uint64 if values.dtype.itemsize > 4 else np.uint32, copy=False)
    most = int(values.max()) if len(values) else 0
    digits = max(1, -(-most.bit_length() // 7))
    wire = np.empty((len(values), digits), np.uint8)
    written = np.empty((len(values), digits), bool)
    for place in range(digits):
        shifted = values >> np.asarray(7 * place, values.dtype)
        more = shifted > 0x7F
        wire[:, place] = (shifted & np.asarray(0x7F, values.dtype)).astype(np.uint8) | (more.astype(np.uint8) << 7)
        written[:, place] = shifted > 0
    written[:, 0] = True
    packed = wire[written].tobytes()
    ends = np.concatenate([[0], np.cumsum(written.sum(axis=1))])[offsets].tolist()
    return [packed[start:end] for start, end in itertools.pairwise(ends)]


def feature_head(name: str, size: int, kind: int = INT64_LIST) -> bytes:
    """The bytes before the values of a feature in a serialized tf.train.Example.

    Args:
        name: of the feature.
        size: bytes of its values in their wire form.
        kind: INT64_LIST, FLOAT_LIST, or BYTES_LIST, of one value.
    """
    # Each message inside another needs the size of what follows, so the heads are made from the inside out.
    head = b""
    for number in (1, kind, 2):
        inner = size + len(head)
        head = bytes((number << 3 | _LENGTH_DELIMITED,)) + _varint(inner) + head
    head = _field(1, name.encode()) + head
    return bytes((1 << 3 | _LENGTH_DELIMITED,)) + _varint(size + len(head)) + head


def example_head(size: int) -> bytes:
    """The bytes before the features of a serialized tf.train.Example, which take `size` bytes."""
    return bytes((1 << 3 | _LENGTH_DELIMITED,)) + _varint(size)


def _varint(value: int) -> bytes:
    """Base 128, low digits first, the high bit set on all but the last byte."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def _field(number: int, body: bytes) -> bytes:
    size = len(body)
    length = bytes((size,)) if size < 0x80 else _varint(size)
    return bytes((number << 3 | _LENGTH_DELIMITED,)) + length + body


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("not a tf.train.Example: a number has no end")
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(message: bytes | memoryview):
    """Yields (field number, body) of a message; the body is bytes, or an int for a lone number."""
    message = memoryview(message)
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            body, at = _read_varint(message, at)
        else:
            if kind == _LENGTH_DELIMITED:
                size, at = _read_varint(message, at)
            elif kind in (_FIXED32, _FIXED64):
                size = 4 if kind == _FIXED32 else 8
            else:
                raise ValueError(f"not a tf.train.Example: wire type {kind}")
            body = message[at : at + size]
            at += size
            if at > len(message):
                raise ValueError("not a tf.train.Example: a field runs past the end")
        yield tag >> 3, body


def _decode_feature(feature: bytes | memoryview) -> np.ndarray | list[bytes]:
    for kind, values in _fields(feature):
        if kind == BYTES_LIST:
            return [bytes(value) for number, value in _fields(values) if number == 1]
        bodies = [value for number, value in _fields(values) if number == 1]
        if kind == FLOAT_LIST:
            return np.frombuffer(b"".join(bodies), "<f4").astype(np.float32)
        if kind == INT64_LIST:
            return _concatenate([_decode_varints(body) for body in bodies])
    return np.zeros(0, np.int64)


def _concatenate(arrays: list[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.zeros(0, np.int64), *arrays])


def _decode_varints(packed: memoryview | int) -> np.ndarray:
    """The numbers of a packed int64 field; a lone number is one that was not packed."""
    if isinstance(packed, int):
        return np.array([packed], np.uint64).astype(np.int64)
    digits = np.frombuffer(packed, np.uint8)
    last = digits < 0x80
    if digits.size == 0 or last.all():
        return digits.astype(np.int64)
    if not last[-1]:
        raise ValueError("not a tf.train.Example: a number has no end")
    ends = np.flatnonzero(last)
    starts = np.concatenate([[0], ends[:-1] + 1])
    place = np.arange(digits.size) - np.repeat(starts, ends - starts + 1)
    shifted = (digits & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.add.reduceat(shifted, starts).astype(np.int64)
