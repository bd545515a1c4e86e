"""tf.train.Example messages as bytes, written and read without tensorflow.

Importing tensorflow costs seconds and hundreds of megabytes a process, too much for every worker of the data
scripts. The message is small: Example{1: Features{1: map<string, Feature>}}, where a Feature is a bytes_list (1),
a float_list (2) or an int64_list (3), each with its values in field 1, numbers packed
(tensorflow/core/example/feature.proto). What is written here equals, byte for byte,
`tf.train.Example.SerializeToString(deterministic=True)`; writing is ours, for whole batches of examples at once, and
reading is protobuf's.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

_LENGTH_DELIMITED = 2
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
    try:
        features = _example_class().FromString(bytes(message)).features.feature
    except DecodeError as error:
        raise ValueError(f"not a tf.train.Example: {error}") from error
    return {name: _values_of(feature) for name, feature in features.items()}


def _values_of(feature) -> np.ndarray | list[bytes]:
    kind = feature.WhichOneof("kind")
    if kind == "bytes_list":
        return list(feature.bytes_list.value)
    if kind == "float_list":
        return np.array(feature.float_list.value, np.float32)
    return np.array(feature.int64_list.value, np.int64)


@functools.cache
def _example_class():
    """The class of tf.train.Example messages, for protobuf's own decoder."""
    types = FieldDescriptorProto
    proto = FileDescriptorProto(name="albert_tf/example.proto", package="albert_tf", syntax="proto3")

    def define(place, name, fields):
        message = place.add(name=name)
        for number, (field, kind, is_repeated) in enumerate(fields, 1):
            type_of = {"type": types.TYPE_MESSAGE, "type_name": f".albert_tf.{kind}"}
            type_of = type_of if isinstance(kind, str) else {"type": kind}
            message.field.add(name=field, number=number, label=3 if is_repeated else 1, **type_of)
        return message

    define(proto.message_type, "BytesList", [("value", types.TYPE_BYTES, True)])
    define(proto.message_type, "FloatList", [("value", types.TYPE_FLOAT, True)])
    define(proto.message_type, "Int64List", [("value", types.TYPE_INT64, True)])
    lists = [("bytes_list", "BytesList", False), ("float_list", "FloatList", False), ("int64_list", "Int64List", False)]
    feature = define(proto.message_type, "Feature", lists)
    feature.oneof_decl.add(name="kind")
    for one in feature.field:
        one.oneof_index = 0
    features = define(proto.message_type, "Features", [("feature", "Features.FeatureEntry", True)])
    entry = define(
        features.nested_type, "FeatureEntry", [("key", types.TYPE_STRING, False), ("value", "Feature", False)]
    )
    entry.options.map_entry = True
    define(proto.message_type, "Example", [("features", "Features", False)])
    pool = DescriptorPool()
    pool.Add(proto)
    return GetMessageClass(pool.FindMessageTypeByName("albert_tf.Example"))


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
