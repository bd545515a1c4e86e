"""Many pre-training examples at once: the form in which they are made, and their way into records.

The layout of a record is that of pretraining_records.to_example; here it is written for whole arrays, without a
Python object for each number.
"""

import dataclasses
import functools
import itertools

import numpy as np

from albert_tf.records.example_messages import (
    BYTES_LIST,
    FLOAT_LIST,
    example_head,
    feature_head,
    pack_spans,
)
from albert_tf.records.names import (
    BOUNDARY_BITS_FEATURE,
    BOUNDARY_FEATURE,
    FIRST_LENGTH_FEATURE,
    LABEL_ON_DISK,
    WEIGHTS_FEATURE,
)
from albert_tf.records.pretraining_records import PretrainingInstance, describe_misfit


@dataclasses.dataclass(frozen=True)
class InstanceBatch:
    """Many examples before padding, one after the other in flat arrays; N examples of T tokens in all.

    Attributes:
        input_ids: [T], the ids of PretrainingInstance.input_ids, unsigned integers.
        offsets: int64 [N + 1], where each example starts, and at last T.
        first_lengths: [N], tokens of the first segment, [CLS] and [SEP] included.
        token_boundary: uint8 [T].
        masked_lm_positions, masked_lm_ids: [M], of all examples; positions count from the start of each example.
        prediction_offsets: int64 [N + 1], where the predictions of each example start, and at last M.
        labels: uint8 [N].
    """

    input_ids: np.ndarray
    offsets: np.ndarray
    first_lengths: np.ndarray
    token_boundary: np.ndarray
    masked_lm_positions: np.ndarray
    masked_lm_ids: np.ndarray
    prediction_offsets: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def instance(self, number: int) -> PretrainingInstance:
        """One of the examples, lists of int."""
        start, end = self.offsets[number : number + 2]
        first, last = self.prediction_offsets[number : number + 2]
        separator = int(self.first_lengths[number])
        return PretrainingInstance(
            input_ids=self.input_ids[start:end].tolist(),
            segment_ids=[0] * separator + [1] * int(end - start - separator),
            token_boundary=self.token_boundary[start:end].tolist(),
            masked_lm_positions=self.masked_lm_positions[first:last].tolist(),
            masked_lm_ids=self.masked_lm_ids[first:last].tolist(),
            label=int(self.labels[number]),
        )


def to_examples(batch: InstanceBatch, max_seq_length: int, max_predictions_per_seq: int) -> list[bytes]:
    """Each example of a batch as by to_example, some twenty times faster.

    Raises:
        ValueError: an example is longer than S or holds more than P predictions.
    """
    lengths, predictions = np.diff(batch.offsets), np.diff(batch.prediction_offsets)
    longest, most = lengths.max(initial=0), predictions.max(initial=0)
    if longest > max_seq_length or most > max_predictions_per_seq:
        raise ValueError(describe_misfit(longest, most, max_seq_length, max_predictions_per_seq))
    join = _ExampleLayout(max_seq_length, max_predictions_per_seq).join
    boundary, borders = batch.token_boundary.tobytes(), batch.offsets.tolist()
    columns = (
        pack_spans(batch.input_ids, batch.offsets),
        pack_spans(batch.masked_lm_ids, batch.prediction_offsets),
        pack_spans(batch.masked_lm_positions, batch.prediction_offsets),
        [boundary[start:end] for start, end in itertools.pairwise(borders)],
        *(lengths.tolist(), batch.first_lengths.tolist(), predictions.tolist(), batch.labels.tolist()),
    )
    return [*map(join, *columns)]


def to_unmasked_examples(batch: InstanceBatch, max_seq_length: int) -> list[bytes]:
    """Each example of a batch without predictions as a record without masks (unmasked_records.py).

    Raises:
        ValueError: an example is longer than S.
    """
    assert len(batch.masked_lm_ids) == 0, "something is hidden in this batch"
    lengths = np.diff(batch.offsets)
    if lengths.max(initial=0) > max_seq_length:
        raise ValueError(describe_misfit(lengths.max(), 0, max_seq_length, 0))
    head = functools.cache(feature_head)
    bits_head = functools.cache(functools.partial(feature_head, kind=BYTES_LIST))
    label_head = feature_head(LABEL_ON_DISK, 1)
    firsts = pack_spans(batch.first_lengths, np.arange(len(batch) + 1))
    ids_of, bits_of = pack_spans(batch.input_ids, batch.offsets), _pack_bits(batch.token_boundary, batch.offsets)
    examples = []
    for first, ids, bits, label in zip(firsts, ids_of, bits_of, batch.labels.tolist()):
        body = b"".join(
            (
                *(head(FIRST_LENGTH_FEATURE, len(first)), first, head("input_ids", len(ids)), ids),
                *(label_head, bytes((label,)), bits_head(BOUNDARY_BITS_FEATURE, len(bits)), bits),
            )
        )
        examples.append(example_head(len(body)) + body)
    return examples


def _pack_bits(values: np.ndarray, offsets: np.ndarray) -> list[bytes]:
    """Zeros and ones as bits, lowest first; each span of them starts a byte of its own."""
    lengths = np.diff(offsets)
    ends = np.cumsum((lengths + 7) // 8)
    starts = np.concatenate([[0], ends])[:-1]
    bits = np.zeros(8 * (ends[-1] if len(ends) else 0), np.uint8)
    bits[np.arange(len(values)) + np.repeat(8 * starts - offsets[:-1], lengths)] = values
    packed = np.packbits(bits, bitorder="little").tobytes()
    return [packed[start:end] for start, end in zip(starts.tolist(), ends.tolist())]


class _ExampleLayout:
    """The bytes of an example that depend on sizes alone, made once for each size."""

    def __init__(self, max_seq_length: int, max_predictions_per_seq: int):
        self._length, self._predictions = max_seq_length, max_predictions_per_seq
        self._zeros = bytes(max(max_seq_length, max_predictions_per_seq))
        self._zeros_and_ones = bytes(max_seq_length) + b"\1" * max_seq_length
        self._segment_head = feature_head("segment_ids", max_seq_length)
        self._boundary_head = feature_head(BOUNDARY_FEATURE, max_seq_length)
        self._head = functools.cache(feature_head)
        self._example_head = functools.cache(example_head)
        self._mask = functools.cache(self._make_mask)
        self._weights = functools.cache(self._make_weights)

    def join(self, ids, originals, positions, boundary, length, first_length, predictions, label) -> bytes:
        """One example from the wire forms of what is particular to it; features in the order of their names."""
        pad, pad_predictions = self._zeros[: self._length - length], self._zeros[: self._predictions - predictions]
        body = b"".join(
            (
                *(self._head("input_ids", len(ids) + len(pad)), ids, pad, self._mask(length)),
                *(self._head("masked_lm_ids", len(originals) + len(pad_predictions)), originals, pad_predictions),
                *(self._head("masked_lm_positions", len(positions) + len(pad_predictions)), positions),
                *(pad_predictions, self._weights(predictions, label), self._segment_head),
                self._zeros_and_ones[self._length - first_length : self._length - first_length + length],
                *(pad, self._boundary_head, boundary, pad),
            )
        )
        return self._example_head(len(body)) + body

    def _make_mask(self, length: int) -> bytes:
        return feature_head("input_mask", self._length) + b"\1" * length + self._zeros[: self._length - length]

    def _make_weights(self, predictions: int, label: int) -> bytes:
        weights = (np.arange(self._predictions) < predictions).astype("<f4").tobytes()
        heads = feature_head(WEIGHTS_FEATURE, len(weights), FLOAT_LIST), feature_head(LABEL_ON_DISK, 1)
        return b"".join((heads[0], weights, heads[1], bytes((label,))))
