"""A masked-LM bias from frequencies: what is counted, and that a run begins with it once."""

import dataclasses
import os

import numpy as np
import pytest

from albert_tf.inputs.pretraining_dataset import make_dataset, open_records
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.pretraining.constant_answers import count_masked_pieces
from albert_tf.pretraining.initial_values import initialise_output_bias
from albert_tf.pretraining.pretrain import run
from albert_tf.records.pretraining_records import from_example
from albert_tf.records.record_files import read_records
from albert_tf.runtime.errors import InputError


def masked_pieces(path):
    return [piece for _, record in read_records(path) for piece in from_example(record).masked_lm_ids]


def test_every_masked_piece_is_counted_once(write_records):
    path = write_records("records", 300)
    # Of 256 examples at a time, the second of which holds 212 of the next epoch.
    counts = count_masked_pieces(make_dataset([path], 256, 16, 4), 300, 60, enough=10_000)
    np.testing.assert_array_equal(counts, np.bincount(masked_pieces(path), minlength=60))


def test_counting_ends_when_enough_is_known(write_records):
    batches = make_dataset([write_records("records", 300)], 16, 16, 4)
    most = 16 * 4
    assert 50 <= count_masked_pieces(batches, 300, 60, enough=50).sum() < 50 + most


def test_the_bias_answers_by_frequency(write_records, small_config):
    path = write_records("records", 50)
    model = AlbertForPretraining(small_config)
    initialise_output_bias(model, open_records(path, 16, 4, 60), seed=0)
    seen = np.maximum(np.bincount(masked_pieces(path), minlength=60), 1)
    np.testing.assert_allclose(np.exp(model.masked_lm.output_bias), seen / seen.sum(), rtol=1e-6)


@pytest.mark.slow
def test_a_run_begins_with_it_and_does_not_come_back_to_it(settings, read_weights, read_log):
    settings = dataclasses.replace(settings, init_output_bias=True, num_train_steps=4, optimizer="adamw")
    run(settings)
    bias = read_weights(settings.output_dir, 4)["masked_lm/output_bias"]
    assert bias.std() > 0.1
    run(dataclasses.replace(settings, num_train_steps=5))
    later = read_weights(settings.output_dir, 5)["masked_lm/output_bias"]
    assert 0 < np.abs(later - bias).max() < 0.1
    assert os.path.exists(os.path.join(settings.output_dir, "checkpoint-00000005"))


def test_a_checkpoint_has_a_bias_of_its_own(settings):
    with pytest.raises(InputError, match="^give --init_checkpoint, which has all weights, or --init_output_bias, not"):
        dataclasses.replace(settings, init_checkpoint="somewhere", init_output_bias=True)
