"""Examples encoded many at once against the same encoded one by one by TensorFlow's tf.train.Example."""

import itertools

import numpy as np
import pytest

from albert_tf.records.example_messages import pack_integers, pack_spans
from albert_tf.records.instance_batch import InstanceBatch, to_examples
from albert_tf.records.pretraining_records import from_example, to_example

S, P = 200, 30


def _random_batch(count, rng, kind=np.uint16, largest=30_000) -> InstanceBatch:
    """Examples of all lengths, with ids that take one byte, two and three on the wire."""
    lengths = np.array([3, 4, S, *rng.integers(3, S + 1, count - 3)])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    predictions = np.minimum(rng.integers(0, P + 1, count), lengths)
    positions = [np.sort(rng.choice(length, size, replace=False)) for length, size in zip(lengths, predictions)]
    return InstanceBatch(
        input_ids=np.minimum(np.exp(rng.random(offsets[-1]) * np.log(largest)), largest).astype(kind),
        offsets=offsets,
        first_lengths=np.array([rng.integers(2, length + 1) for length in lengths]),
        token_boundary=rng.integers(0, 2, offsets[-1]).astype(np.uint8),
        masked_lm_positions=np.concatenate(positions),
        masked_lm_ids=rng.integers(0, largest, predictions.sum()).astype(kind),
        prediction_offsets=np.concatenate([[0], np.cumsum(predictions)]),
        labels=rng.integers(0, 2, count).astype(np.uint8),
    )


@pytest.mark.parametrize(("kind", "largest"), [(np.uint16, 30_000), (np.uint32, 2**31)])
def test_bytes_equal_those_of_tensorflow(kind, largest):
    import tensorflow as tf

    batch = _random_batch(60, np.random.default_rng(0), kind, largest)
    for number, ours in enumerate(to_examples(batch, S, P)):
        message = tf.train.Example()
        instance = batch.instance(number)
        assert from_example(ours) == instance
        pad, unused = S - len(instance.input_ids), P - len(instance.masked_lm_ids)
        for name, values in {
            "input_ids": [*instance.input_ids, *[0] * pad],
            "input_mask": [1] * (S - pad) + [0] * pad,
            "segment_ids": [*instance.segment_ids, *[0] * pad],
            "token_boundary": [*instance.token_boundary, *[0] * pad],
            "masked_lm_positions": [*instance.masked_lm_positions, *[0] * unused],
            "masked_lm_ids": [*instance.masked_lm_ids, *[0] * unused],
            "next_sentence_labels": [instance.label],
        }.items():
            message.features.feature[name].int64_list.value.extend(values)
        weights = [1.0] * (P - unused) + [0.0] * unused
        message.features.feature["masked_lm_weights"].float_list.value.extend(weights)
        assert ours == message.SerializeToString(deterministic=True)


def test_many_are_encoded_as_each_by_itself():
    batch = _random_batch(2000, np.random.default_rng(1))
    assert to_examples(batch, S, P) == [to_example(batch.instance(number), S, P) for number in range(2000)]


def test_spans_are_packed_as_each_by_itself():
    values = np.array([0, 127, 128, 16_383, 16_384, 2**31, 2**63 - 1], np.uint64)
    for bounds in ([0, 0, 3, 7], [0, 7], [0, 1, 2, 3, 4, 5, 6, 7]):
        spans = [pack_integers(values[a:b].tolist()) for a, b in itertools.pairwise(bounds)]
        assert pack_spans(values, np.array(bounds)) == spans
    assert pack_spans(np.zeros(0, np.uint16), np.array([0, 0])) == [b""]


def test_an_example_too_long_is_refused():
    batch = _random_batch(5, np.random.default_rng(2))
    with pytest.raises(ValueError, match=f"does not fit max_seq_length={S - 1}"):
        to_examples(batch, S - 1, P)
