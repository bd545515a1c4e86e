"""Records without masks: what a training run that draws its own masks reads.

A record is a tf.train.Example with an example's pieces, unpadded and with nothing hidden, and where its words start, a
bit for each token: 2.2 bytes a token, less than half of what a masked and padded one takes. Nothing here imports
tensorflow except parse_unmasked_batch.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from albert_tf.records.names import (
    BOUNDARY_BITS_FEATURE,
    BOUNDARY_FEATURE,
    FIRST_LENGTH_FEATURE,
    LABEL_ON_DISK,
    PREDICTION_FEATURES,
    WEIGHTS_FEATURE,
)
from albert_tf.runtime.errors import InputError


class UnmaskedBatch(NamedTuple):
    """Examples with nothing hidden, as tensors; B examples, S max_seq_length.

    Attributes:
        input_ids: int32 [B, S], [CLS] A [SEP] B [SEP] (or [CLS] A [SEP]), then zeros.
        lengths: int32 [B], tokens of each.
        first_lengths: int32 [B], tokens of its first segment, [CLS] and [SEP] included.
        boundary: bool [B, S], whether a word starts, as token_boundary of a masked record says it.
        labels: int32 [B].
    """

    input_ids: Any
    lengths: Any
    first_lengths: Any
    boundary: Any
    labels: Any


def is_unmasked(features: Mapping) -> bool:
    """Tells whether the features of a record are those of a record without masks."""
    return BOUNDARY_BITS_FEATURE in features


def decode_unmasked(features: Mapping[str, Any], where: str) -> dict[str, np.ndarray]:
    """The arrays of a record without masks.

    Args:
        features: as example_messages.decode_example gives them.
        where: file and offset, for errors.

    Returns:
        The features of a record with masks that is as long as its example and predicts nothing.

    Raises:
        InputError: a feature is missing or of a different kind or length.
    """
    for name in ("input_ids", FIRST_LENGTH_FEATURE, LABEL_ON_DISK):
        values = features.get(name)
        if not isinstance(values, np.ndarray) or values.dtype != np.int64 or len(values) == 0:
            raise InputError(f"{where}: not a pre-training record, {name} holds no integers; make the records again")
    length, bits = len(features["input_ids"]), features[BOUNDARY_BITS_FEATURE]
    if not isinstance(bits, list) or len(bits) != 1 or len(bits[0]) != -(-length // 8):
        raise InputError(
            f"{where}: not a pre-training record, {BOUNDARY_BITS_FEATURE} is not a bit for each of {length} tokens; "
            "make the records again"
        )
    boundary = np.unpackbits(np.frombuffer(bits[0], np.uint8), count=length, bitorder="little")
    return {
        "input_ids": features["input_ids"],
        "input_mask": np.ones(length, np.int64),
        "segment_ids": (np.arange(length) >= features[FIRST_LENGTH_FEATURE][0]).astype(np.int64),
        BOUNDARY_FEATURE: boundary.astype(np.int64),
        **{name: np.zeros(0, np.int64) for name in PREDICTION_FEATURES},
        WEIGHTS_FEATURE: np.zeros(0, np.float32),
        LABEL_ON_DISK: features[LABEL_ON_DISK],
    }


def parse_unmasked_batch(serialized, max_seq_length: int) -> UnmaskedBatch:
    """Serialized records without masks to tensors, in a tf.data graph or eagerly.

    Args:
        serialized: string tensor [B].
        max_seq_length: S; a longer example is an error when it is read.
    """
    import tensorflow as tf

    serialized = tf.convert_to_tensor(serialized)
    single = tf.io.FixedLenFeature([1], tf.int64)
    wanted = {
        "input_ids": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int32),
        BOUNDARY_BITS_FEATURE: tf.io.FixedLenFeature([], tf.string),
        FIRST_LENGTH_FEATURE: single,
        LABEL_ON_DISK: single,
    }
    parsed = tf.io.parse_example(serialized, wanted)
    rows = serialized.shape[0]
    ids, lengths = parsed["input_ids"], parsed["input_ids"].row_lengths()
    problem = f"Could not parse example: it has more than the {max_seq_length} tokens that its manifest tells."
    with tf.control_dependencies([tf.debugging.assert_less_equal(lengths, max_seq_length, problem)]):
        lengths = tf.identity(lengths)
    ids = ids.to_tensor(shape=[rows, max_seq_length])
    packed = tf.io.decode_raw(parsed[BOUNDARY_BITS_FEATURE], tf.uint8, fixed_length=-(-max_seq_length // 8))
    bits = tf.bitwise.bitwise_and(packed[:, :, None], tf.constant([1 << bit for bit in range(8)], tf.uint8))
    boundary = tf.reshape(bits > 0, [-1, 8 * packed.shape[1]])[:, :max_seq_length]
    first_lengths, labels = (tf.cast(parsed[name][:, 0], tf.int32) for name in (FIRST_LENGTH_FEATURE, LABEL_ON_DISK))
    return UnmaskedBatch(tf.cast(ids, tf.int32), lengths, first_lengths, boundary, labels)
