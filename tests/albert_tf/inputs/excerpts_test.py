"""Excerpts hold what stood in their examples, cut as the official code cuts, by draws of their own."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.excerpts import Cutter
from albert_tf.records.instance_batch import to_unmasked_examples
from albert_tf.records.unmasked_records import UnmaskedBatch, parse_unmasked_batch
from albert_tf.tokenization.packing import truncated_lengths

S, T = 40, 16
CLS, SEP = 2, 3


def as_arrays(batch):
    return UnmaskedBatch(*(np.asarray(value) for value in batch))


def segments(batch, row):
    """The pieces of both segments of an example, without [CLS] and [SEP]; None for a second one that is not there."""
    first, length = int(batch.first_lengths[row]), int(batch.lengths[row])
    ids = batch.input_ids[row]
    return ids[1 : first - 1].tolist(), ids[first : length - 1].tolist() if length > first else None


@pytest.fixture
def parsed(random_batch):
    """Examples of two segments, or of one, of up to S tokens."""
    batch = random_batch(np.random.default_rng(0), 200, S)
    return parse_unmasked_batch(to_unmasked_examples(batch, S), S)


def contains(whole, part):
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


def test_an_excerpt_is_a_stretch_of_either_segment_as_long_as_the_official_cut_leaves_it(parsed):
    before, after = as_arrays(parsed), as_arrays(Cutter(T, 0, "training").cut(parsed, tf.constant(7, tf.int64)))
    assert after.input_ids.shape == after.boundary.shape == (200, T)
    cut = 0
    for row in range(200):
        (first, second), (kept, also_kept) = segments(before, row), segments(after, row)
        assert (second is None) == (also_kept is None)
        room = T - 2 - (second is not None)
        assert (len(kept), len(also_kept or [])) == truncated_lengths(len(first), len(second or []), room)
        assert contains(first, kept)
        assert second is None or contains(second, also_kept)
        ids, length = after.input_ids[row], after.lengths[row]
        assert ids[0] == before.input_ids[row, 0]
        assert ids[after.first_lengths[row] - 1] == before.input_ids[row, before.first_lengths[row] - 1]
        assert ids[length - 1] == before.input_ids[row, before.lengths[row] - 1]
        assert not ids[length:].any()
        assert not after.boundary[row, length:].any()
        assert after.boundary[row, 1]
        cut += len(kept) < len(first)
    assert cut > 50
    np.testing.assert_array_equal(after.labels, before.labels)


def test_an_example_that_is_short_enough_stays_as_it_is(parsed):
    before, after = as_arrays(parsed), as_arrays(Cutter(S, 0, "training").cut(parsed, tf.constant(0, tf.int64)))
    for name in ("input_ids", "lengths", "first_lengths", "labels"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_what_is_cut_out_depends_on_the_number_of_an_example_and_the_seed_alone(parsed):
    cutter = Cutter(T, 3, "training")
    whole = as_arrays(cutter.cut(parsed, tf.constant(1000, tf.int64)))
    later = as_arrays(cutter.cut(UnmaskedBatch(*(value[150:] for value in parsed)), tf.constant(1150, tf.int64)))
    np.testing.assert_array_equal(later.input_ids, whole.input_ids[150:])
    for other in (Cutter(T, 4, "training"), Cutter(T, 3, "evaluation")):
        assert (as_arrays(other.cut(parsed, tf.constant(1000, tf.int64))).input_ids != whole.input_ids).any()


def test_every_stretch_of_a_segment_comes_as_often_as_every_other():
    rows = 6000
    ids = np.tile(np.array([[CLS, *range(10, 20), SEP, *range(30, 40), SEP]]), (rows, 1))
    batch = UnmaskedBatch(
        tf.constant(ids, tf.int32),
        tf.fill([rows], 23),
        tf.fill([rows], 12),
        tf.ones(ids.shape, tf.bool),
        tf.zeros([rows], tf.int32),
    )
    found = as_arrays(Cutter(13, 0, "training").cut(batch, tf.constant(0, tf.int64)))
    for column, first_piece in ((1, 10), (7, 30)):
        counts = np.bincount(found.input_ids[:, column] - first_piece, minlength=6)
        assert counts.sum() == rows
        np.testing.assert_allclose(counts / rows, 1 / 6, atol=0.025)
    # The two are drawn apart from each other.
    assert abs(np.corrcoef(found.input_ids[:, 1], found.input_ids[:, 7])[0, 1]) < 0.05


def test_words_do_not_reach_from_one_segment_into_the_other():
    ids = np.array([[CLS, *range(10, 20), SEP, *range(30, 40), SEP]])
    batch = UnmaskedBatch(
        *(tf.constant(ids, tf.int32), tf.constant([23]), tf.constant([12])),
        *(tf.zeros(ids.shape, tf.bool), tf.constant([1])),
    )
    found = as_arrays(Cutter(13, 0, "training").cut(batch, tf.constant(0, tf.int64)))
    assert np.flatnonzero(found.boundary[0]).tolist() == [1, 7]
