"""Buckets of lengths against all other choices; plans of batches against what an epoch must hold."""

import itertools

import numpy as np
import pytest

from albert_tf.inputs.length_buckets import choose_buckets, plan_evaluation, plan_training

LENGTHS = np.random.default_rng(0).integers(3, 60, 103)
BUCKETS = [16, 32, 64]


def padded(lengths, buckets):
    """Positions of all rows in these buckets."""
    return sum(min(bucket for bucket in buckets if bucket >= length) for length in lengths)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_other_buckets_leave_less_padding(seed, count):
    lengths = np.random.default_rng(seed).geometric(0.05, 50).clip(3, 64)
    longest = -(-int(lengths.max()) // 8) * 8
    others = itertools.combinations(range(8, longest, 8), count - 1)
    fewest = min(padded(lengths, [*other, longest]) for other in others)
    found = choose_buckets(lengths, 64, count)
    assert len(found) <= count
    assert fewest <= padded(lengths, found) <= 1.02 * fewest


def test_buckets_are_multiples_of_8_up_to_the_longest_row():
    found = choose_buckets([5, 9, 21, 21, 30], 512)
    assert all(bucket % 8 == 0 for bucket in found)
    assert found == sorted(found)
    assert found[-1] == 32
    assert choose_buckets([25, 25], 25) == [25]
    assert choose_buckets([], 512) == [8]


def test_rows_of_one_length_need_one_bucket():
    assert choose_buckets([40] * 10, 512) == [40]


def test_an_epoch_has_every_row_once_with_weight_one():
    plan = plan_training(LENGTHS, BUCKETS, 8, seed=1, num_steps=13)
    assert len(plan) == 13 == -(-103 // 8)
    assert sorted(plan.rows[plan.weights > 0]) == list(range(103))
    assert plan.weights.sum() == 103


def test_a_batch_is_as_long_as_the_bucket_of_its_longest_row():
    plan = plan_training(LENGTHS, BUCKETS, 8, seed=1, num_steps=26)
    for rows, length in zip(plan.rows, plan.lengths):
        assert length == min(bucket for bucket in BUCKETS if bucket >= LENGTHS[rows].max())
    mixed = sum(len(set(np.searchsorted(BUCKETS, LENGTHS[rows]))) > 1 for rows in plan.rows)
    assert mixed <= 2 * len(BUCKETS)


def test_epochs_have_other_orders_and_other_batches():
    plan = plan_training(LENGTHS, BUCKETS, 8, seed=1, num_steps=26)
    batches = [{tuple(sorted(rows)) for rows in part} for part in (plan.rows[:13], plan.rows[13:])]
    assert not batches[0] & batches[1]
    other = plan_training(LENGTHS, BUCKETS, 8, seed=2, num_steps=13)
    assert not np.array_equal(other.rows, plan.rows[:13])


@pytest.mark.parametrize("step", [0, 5, 13, 14, 30])
def test_a_plan_from_the_middle_is_the_rest_of_the_plan(step):
    whole = plan_training(LENGTHS, BUCKETS, 8, seed=3, num_steps=30)
    rest = plan_training(LENGTHS, BUCKETS, 8, seed=3, num_steps=30, start_step=step)
    for name in ("rows", "weights", "lengths"):
        assert np.array_equal(getattr(whole, name)[step:], getattr(rest, name))


def test_a_longer_run_begins_like_a_shorter_one():
    short, long = (plan_training(LENGTHS, BUCKETS, 8, seed=3, num_steps=steps) for steps in (9, 40))
    assert np.array_equal(short.rows, long.rows[:9])


def test_evaluation_has_every_row_once_short_ones_first():
    plan = plan_evaluation(LENGTHS, BUCKETS, 10)
    assert sorted(plan.rows[plan.weights > 0]) == list(range(103))
    assert plan.lengths.tolist() == sorted(plan.lengths)
    assert plan.weights.sum() == 103
    assert plan.rows.shape == (11, 10)


def test_fewer_rows_than_a_batch_fill_one():
    plan = plan_evaluation(np.array([5, 20]), BUCKETS, 4)
    assert plan.rows.tolist() == [[0, 1, 0, 0]]
    assert plan.weights.tolist() == [[1, 1, 0, 0]]
    assert plan.lengths.tolist() == [32]


def test_no_rows_are_no_batches():
    assert len(plan_evaluation(np.zeros(0, int), BUCKETS, 4)) == 0


def test_a_row_longer_than_every_bucket_is_refused():
    with pytest.raises(ValueError, match="70 pieces"):
        plan_evaluation(np.array([70]), BUCKETS, 4)
