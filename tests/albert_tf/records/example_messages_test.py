"""The protobuf encoder and decoder against tensorflow's own tf.train.Example, byte for byte and value for value."""

import numpy as np
import pytest

from albert_tf.records.example_messages import decode_example, encode_example, pack_integers


def _with_tensorflow(features) -> bytes:
    import tensorflow as tf

    message = tf.train.Example()
    for name, values in features.items():
        if isinstance(values, np.ndarray) and values.dtype == np.float32:
            message.features.feature[name].float_list.value.extend(values.tolist())
        else:
            message.features.feature[name].int64_list.value.extend(int(value) for value in values)
    return message.SerializeToString(deterministic=True)


def test_bytes_equal_those_of_tensorflow():
    rng = np.random.default_rng(0)
    for length in (1, 15, 16, 127, 128, 300, 20_000):
        features = {
            "zeta": rng.integers(0, 30_000, length),
            "alpha": [0] * length,
            "middle_name_that_is_long": rng.random(length).astype(np.float32),
            "edges": [0, 127, 128, 16_383, 16_384, 2**21 - 1, 2**21, 2**35, 2**62],
            "bounds": [1],
        }
        assert encode_example(features) == _with_tensorflow(features)


def test_decoding_gives_back_what_was_encoded():
    features = {"a": [5, 300, 70_000, 2**40, 0], "b": np.array([0.5, -1, 3e20], np.float32)}
    decoded = decode_example(encode_example(features))
    assert decoded["a"].tolist() == features["a"]
    assert decoded["b"].tolist() == features["b"].tolist()


def test_decoding_reads_what_tensorflow_may_write():
    import tensorflow as tf

    message = tf.train.Example()
    message.features.feature["text"].bytes_list.value.extend([b"one", b""])
    message.features.feature["negative"].int64_list.value.extend([-1, 7])
    message.features.feature["empty"].int64_list.value.extend([])
    decoded = decode_example(message.SerializeToString())
    assert decoded["text"] == [b"one", b""]
    assert decoded["negative"].tolist() == [-1, 7]
    assert len(decoded["empty"]) == 0


def test_decoding_reads_numbers_that_are_not_packed():
    numbers = b"\x08\x05\x08\xac\x02"  # field 1, varint 5; field 1, varint 300
    feature = b"\x1a" + bytes([len(numbers)]) + numbers
    entry = b"\x0a\x01n\x12" + bytes([len(feature)]) + feature
    features = b"\x0a" + bytes([len(entry)]) + entry
    assert decode_example(b"\x0a" + bytes([len(features)]) + features)["n"].tolist() == [5, 300]


def test_one_varint_worked_out_by_hand():
    # 300 = 0b10_0101100: low seven bits 0101100 with the high bit set, then 10.
    assert pack_integers([300, 1, 0]) == bytes([0b1010_1100, 0b10, 1, 0])


def test_negative_numbers_are_refused():
    with pytest.raises(ValueError, match="non-negative"):
        pack_integers([3, -1])


def test_every_cut_of_a_message_is_an_error_or_a_shorter_message():
    whole = encode_example({"a": [5, 300], "b": np.array([0.5], np.float32)})
    for end in range(1, len(whole)):
        with pytest.raises(ValueError, match="not a tf.train.Example"):
            decode_example(whole[:end])
