"""Packed rows hold the examples of a batch, whole and apart; their size follows from the records' lengths."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.dynamic_masking import DynamicMasker
from albert_tf.inputs.pretraining_dataset import make_dataset
from albert_tf.inputs.reading import Reading
from albert_tf.inputs.row_packing import Packing, RowPacker, place, plan_packing, sample_lengths
from albert_tf.records.instance_batch import to_unmasked_examples
from albert_tf.records.masking_rules import MaskingRules, PieceIds
from albert_tf.records.unmasked_records import parse_unmasked_batch
from albert_tf.runtime.errors import InputError

S, B, STEPS = 40, 30, 2
RULES = MaskingRules(0.2, 8)


@pytest.fixture
def batch(random_batch):
    """Masked batches of STEPS steps, B examples of up to S tokens in each."""
    parsed = parse_unmasked_batch(to_unmasked_examples(random_batch(np.random.default_rng(0), STEPS * B, S), S), S)
    masked = DynamicMasker(RULES, PieceIds(60), S, 0).mask(parsed, tf.constant(0, tf.int64))
    return {name: tf.reshape(value, (STEPS, B, *value.shape[1:])) for name, value in masked.items()}


def examples_of(packed):
    """The examples of a packed batch: pieces, segments, predictions and label of each."""
    found = []
    for row in range(len(packed["input_ids"])):
        slots = packed["masked_lm_weights"][row] > 0
        for number, weight in enumerate(packed["sequence_weights"][row]):
            tokens = packed["sequence_ids"][row] == number + 1
            assert tokens.any() == bool(weight)
            if not weight:
                continue
            start = int(packed["sequence_starts"][row, number])
            assert tokens[start : start + tokens.sum()].all()
            assert packed["position_ids"][row][tokens].tolist() == list(range(tokens.sum()))
            mine = slots & tokens[packed["masked_lm_positions"][row]]
            found.append(
                (
                    *(tuple(packed[name][row][tokens].tolist()) for name in ("input_ids", "segment_ids")),
                    tuple((packed["masked_lm_positions"][row][mine] - start).tolist()),
                    tuple(packed["masked_lm_ids"][row][mine].tolist()),
                    int(packed["sentence_order_labels"][row, number]),
                )
            )
    return found


def unpacked_examples_of(batch):
    found = []
    for row in range(len(batch["input_ids"])):
        tokens, slots = batch["input_mask"][row] > 0, batch["masked_lm_weights"][row] > 0
        found.append(
            (
                *(tuple(batch[name][row][tokens].tolist()) for name in ("input_ids", "segment_ids")),
                *(tuple(batch[name][row][slots].tolist()) for name in ("masked_lm_positions", "masked_lm_ids")),
                int(batch["sentence_order_labels"][row]),
            )
        )
    return found


def as_arrays(batch):
    return {name: np.asarray(value) for name, value in batch.items()}


def joined(batches):
    """The rows of all steps together, as arrays."""
    return {name: value.reshape(-1, *value.shape[2:]) for name, value in as_arrays(batches).items()}


def test_every_example_lies_in_a_row_as_it_was(batch):
    packed = RowPacker(Packing(20, B, STEPS, sequences=6, predictions=12), S).pack(batch)
    assert {name: tuple(value.shape) for name, value in packed.items()} == {
        **dict.fromkeys(("input_ids", "input_mask", "segment_ids", "position_ids", "sequence_ids"), (STEPS, 20, S)),
        **dict.fromkeys(("masked_lm_positions", "masked_lm_ids", "masked_lm_weights"), (STEPS, 20, 12)),
        **dict.fromkeys(("sentence_order_labels", "sequence_starts", "sequence_weights"), (STEPS, 20, 6)),
    }
    rows = joined(packed)
    assert sorted(examples_of(rows)) == sorted(unpacked_examples_of(joined(batch)))
    np.testing.assert_array_equal(rows["input_mask"], rows["sequence_ids"] > 0)
    assert not rows["input_ids"][rows["input_mask"] == 0].any()
    assert rows["sequence_weights"].sum() == STEPS * B


def test_both_steps_have_long_examples_and_short_ones(batch):
    packed = as_arrays(RowPacker(Packing(20, B, STEPS, sequences=6, predictions=12), S).pack(batch))
    first = (packed["sequence_ids"] == 1).sum(axis=2)
    # The longest of a row comes first in it. As they were packed, no row of the second step would have a longer one.
    assert first[0].min() < first[1].max()


def test_what_finds_no_room_is_left_out_and_the_rest_is_whole(batch):
    packed = joined(RowPacker(Packing(5, B, STEPS, sequences=2, predictions=9), S).pack(batch))
    found, given = examples_of(packed), unpacked_examples_of(joined(batch))
    assert 10 <= len(found) <= 20
    assert set(found) <= set(given)
    assert packed["masked_lm_weights"].sum() == sum(len(example[2]) for example in found)


def test_the_longest_come_first_each_where_there_is_room():
    lengths, none = np.array([3, 9, 5, 4, 2]), np.zeros(5, int)
    rows, starts, numbers, slots = place(lengths, none + 1, Packing(3, 5, 1, 2, 10), 10).T
    assert rows.tolist() == [2, 0, 1, 1, 2]
    assert starts.tolist() == [0, 0, 0, 5, 3]
    assert numbers.tolist() == [0, 0, 0, 1, 1]
    assert slots.tolist() == [0, 0, 0, 1, 1]
    # Two rows hold the three longest alone, and a row no more than its predictions.
    assert place(lengths, none, Packing(2, 5, 1, 2, 10), 10)[:, 0].tolist() == [2, 0, 1, 1, 2]
    assert place(lengths, none + 4, Packing(9, 5, 1, 2, 7), 10)[:, 0].tolist() == [3, 0, 1, 2, 4]


@pytest.mark.parametrize("rows", [8, 64, pytest.param(600, marks=pytest.mark.slow)])
def test_a_thousandth_of_the_examples_finds_no_room_in_the_planned_rows(rows):
    draws = np.random.default_rng(7)
    lengths = np.minimum(draws.gamma(2.0, 20.0, 5000).astype(int) + 6, 64)
    size = plan_packing(lengths, rows, 64, RULES)
    assert size.steps == -(-1024 // rows)
    # Padding is 38 % with one in a row.
    padding = 1 - size.examples * lengths.mean() / (rows * 64)
    assert 0 < padding < 0.07

    def left_out(examples):
        tried = dataclasses.replace(size, examples=examples)
        windows = [draws.choice(lengths, size.steps * examples) for _ in range(8)]
        placed = np.concatenate([place(window, RULES.budgets(window), tried, 64) for window in windows])
        return (placed[:, 0] == size.steps * rows).mean()

    # Of other draws than those it was planned by.
    assert left_out(size.examples) < 0.01
    assert left_out(size.examples + max(1, rows // 8)) > 0.02


def test_full_examples_have_a_row_each():
    assert plan_packing(np.full(10, 50), 16, 40, RULES) == Packing(16, 16, 64, 1, 8)


def test_a_few_records_of_every_file_tell_the_lengths(write_unmasked_records):
    paths = write_unmasked_records("records", 30, num_files=2)
    lengths = sample_lengths(paths, 16)
    assert lengths.shape == (60,)
    assert (lengths >= 5).all()
    assert (lengths <= 16).all()


@pytest.mark.slow
def test_a_stream_of_packed_batches_goes_on_anywhere(write_unmasked_records):
    (path,) = write_unmasked_records("records", 40)
    arguments = {"batch_size": 12, "max_seq_length": 16, "max_predictions_per_seq": 4, "masking": "dynamic"}
    arguments |= {"packing": Packing(9, 12, 3, 3, 6), "reading": Reading(masked_lm_prob=0.3)}
    whole = [as_arrays(batch) for batch in make_dataset(path, **arguments).take(8)]
    assert {batch["input_ids"].shape for batch in whole} == {(9, 16)}
    for step in (3, 4, 5):
        rest = make_dataset(path, **arguments, start_example=12 * step, steps_into_window=step % 3).take(3)
        for expected, found in zip(whole[step:], map(as_arrays, rest), strict=False):
            for name, value in expected.items():
                np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_records_with_masks_are_not_packed(write_records):
    with pytest.raises(InputError, match="records with masks are read as they are"):
        make_dataset(write_records("records", 5), 2, 16, 4, packing=Packing(2, 2, 1, 2, 4))
