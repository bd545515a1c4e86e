"""Rows in batches of like lengths: each row's own outputs in its own place, little padding, sizes that are fixed."""

import numpy as np
import pytest

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime.errors import InputError
from albert_tf.serving.like_lengths import run_rows, to_row

PAD = 7


class Summing:
    """A stand-in for a model: the sum of the ids that are no padding, and a record of the batches it was given."""

    path = "somewhere"
    input_names = ("input_ids", "input_mask", "segment_ids")

    def __init__(self, batch_size=None, length=None, rows_share_a_range=False):
        self.batch_size, self.length, self.rows_share_a_range = batch_size, length, rows_share_a_range
        self.batches = []

    def run(self, inputs):
        assert {array.dtype for array in inputs.values()} == {np.dtype("int32")}
        assert (inputs["input_ids"][inputs["input_mask"] == 0] == PAD).all()
        self.batches.append(inputs["input_ids"].shape)
        return {"sum": (inputs["input_ids"] * inputs["input_mask"]).sum(axis=-1).astype("float32")}


def _rows(lengths):
    rng = np.random.default_rng(0)
    features = [Feature(0, rng.integers(100, 200, size=length).tolist(), [0] * length) for length in lengths]
    return [to_row(feature, PAD) for feature in features]


def _check(model, rows):
    found = dict(run_rows(model, rows, PAD))
    assert sorted(found) == list(range(len(rows)))
    for number, row in enumerate(rows):
        assert found[number]["sum"] == row["input_ids"].sum()


def test_every_row_has_its_own_outputs_and_little_padding_is_computed():
    model, lengths = Summing(), np.random.default_rng(1).integers(1, 129, size=300)
    _check(model, _rows(lengths))
    computed = sum(rows * length for rows, length in model.batches)
    assert lengths.sum() <= computed < 1.06 * lengths.sum()
    assert max(rows * length for rows, length in model.batches) <= 4096
    assert len(model.batches) < 60


def test_rows_whose_batch_would_change_their_numbers_are_run_alone():
    model = Summing(rows_share_a_range=True)
    _check(model, _rows([5, 5, 9]))
    assert sorted(model.batches) == [(1, 5), (1, 5), (1, 9)]


def test_a_batch_of_a_fixed_size_is_filled_up():
    model = Summing(batch_size=4, length=12)
    _check(model, _rows([5, 1, 12, 5, 5, 3]))
    assert model.batches == [(4, 12), (4, 12)]


def test_options_are_padded_to_the_longest_of_their_example():
    model = Summing()
    feature = Feature(0, ([9, 8, 3], [9]), ([0, 1, 1], [0]))
    row = to_row(feature, PAD)
    assert row["input_ids"].tolist() == [[9, 8, 3], [9, PAD, PAD]]
    assert row["input_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert row["segment_ids"].tolist() == [[0, 1, 1], [0, 0, 0]]
    ((_, outputs),) = run_rows(model, [row], PAD)
    assert outputs["sum"].tolist() == [20, 9]


def test_numbers_that_are_not_finite_are_one_line():
    model = Summing()
    model.run = lambda inputs: {"sum": np.full(len(inputs["input_ids"]), np.nan, "float32")}
    with pytest.raises(InputError, match="somewhere: its output 'sum' has numbers that are not finite"):
        list(run_rows(model, _rows([3]), PAD))
