"""Orders that are drawn: the same text in order or swapped, each as often, by an example's number."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.batch_parsing import EVALUATION, TRAINING, batch_parser
from albert_tf.inputs.example_draws import OrderDrawer
from albert_tf.records.instance_batch import to_unmasked_examples
from albert_tf.records.masking_rules import MaskingRules, PieceIds, masking_to_json
from albert_tf.records.names import LABEL
from albert_tf.records.pretraining_records import read_manifest
from albert_tf.records.unmasked_records import UnmaskedBatch, parse_unmasked_batch

ROWS, S = 300, 40


def as_arrays(batch):
    return UnmaskedBatch(*(np.asarray(value) for value in batch))


def redraw(batch, first_example=0, seed=0, stream=TRAINING):
    return as_arrays(OrderDrawer(seed, stream).redraw(batch, tf.constant(first_example, tf.int64)))


def segments(batch, row):
    """The pieces of both segments of an example, and whether a word starts at each."""
    first, length = int(batch.first_lengths[row]), int(batch.lengths[row])
    return [
        (batch.input_ids[row, stretch].tolist(), batch.boundary[row, stretch].tolist())
        for stretch in (slice(1, first - 1), slice(first, length - 1))
    ]


@pytest.fixture
def parsed(random_batch):
    """Examples of two segments, or of one, of up to S tokens."""
    return parse_unmasked_batch(to_unmasked_examples(random_batch(np.random.default_rng(0), ROWS, S), S), S)


def test_an_example_stays_or_has_its_segments_swapped_and_the_other_label(parsed):
    before, after = as_arrays(parsed), redraw(parsed)
    np.testing.assert_array_equal(after.lengths, before.lengths)
    has_second = before.lengths > before.first_lengths
    other = after.labels != before.labels
    assert 0.4 * has_second.sum() < other.sum() < 0.6 * has_second.sum()
    assert not other[~has_second].any()
    assert not has_second.all()
    for row in range(ROWS):
        if not other[row]:
            for name in ("input_ids", "boundary", "first_lengths"):
                np.testing.assert_array_equal(getattr(after, name)[row], getattr(before, name)[row])
            continue
        assert segments(after, row) == segments(before, row)[::-1]
        first, length = int(after.first_lengths[row]), int(after.lengths[row])
        separator = before.input_ids[row, before.first_lengths[row] - 1]
        assert after.input_ids[row, 0] == before.input_ids[row, 0]
        assert after.input_ids[row, first - 1] == after.input_ids[row, length - 1] == separator
        assert not after.input_ids[row, length:].any()
        assert after.labels[row] == 1 - before.labels[row]


def test_a_segment_that_starts_no_word_in_the_record_starts_none_after_the_swap():
    """Checked token by token, on an example small enough to be written down."""
    batch = UnmaskedBatch(
        tf.constant([[2, 10, 11, 3, 20, 21, 22, 3, 0]] * 64, tf.int32),
        tf.fill([64], 8),
        tf.fill([64], 4),
        tf.constant([[False, True, False, False, True, True, False, False, False]] * 64),
        tf.zeros([64], tf.int32),
    )
    after = redraw(batch)
    swapped = int(np.argmax(after.labels))
    assert after.labels[swapped] == 1
    assert after.input_ids[swapped].tolist() == [2, 20, 21, 22, 3, 10, 11, 3, 0]
    assert np.flatnonzero(after.boundary[swapped]).tolist() == [1, 2, 5]
    assert after.first_lengths[swapped] == 5


def test_an_order_depends_on_the_number_of_an_example_the_seed_and_the_stream_alone(parsed):
    whole = redraw(parsed, 1000)
    later = redraw(UnmaskedBatch(*(value[150:] for value in parsed)), 1150)
    np.testing.assert_array_equal(later.input_ids, whole.input_ids[150:])
    np.testing.assert_array_equal(later.labels, whole.labels[150:])
    for other in (redraw(parsed, 1300), redraw(parsed, 1000, seed=1), redraw(parsed, 1000, stream=EVALUATION)):
        assert (other.labels != whole.labels).any()


@pytest.mark.parametrize(
    ("stream", "task", "quirks", "is_drawn"),
    [
        (TRAINING, "sop", False, True),
        (EVALUATION, "sop", False, False),
        (TRAINING, "nsp", False, False),
        (TRAINING, "sop", True, False),
    ],
)
def test_the_order_is_drawn_in_training_where_the_label_is_that_of_the_order(
    write_unmasked_records, stream, task, quirks, is_drawn
):
    rules = MaskingRules(0.2, 5, reference_quirks=quirks)
    paths = write_unmasked_records(
        "r", 60, sentence_task=task, max_predictions_per_seq=5, masking_parameters=masking_to_json(rules, PieceIds(60))
    )
    manifest = read_manifest(paths)
    serialized = next(iter(tf.data.TFRecordDataset(paths).batch(60)))
    parse = batch_parser(manifest, manifest.max_seq_length, 5, 0, stream)
    found = parse(tf.range(60, dtype=tf.int64), serialized)[LABEL]
    stored = parse_unmasked_batch(serialized, manifest.max_seq_length).labels
    assert (np.asarray(found) != np.asarray(stored)).any() == is_drawn
