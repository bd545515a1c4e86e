"""Position embeddings that start as waves: one rotation leads from each to the next; a run begins with them once."""

import dataclasses

import numpy as np
import pytest

from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.pretraining.initial_values import initialise_positions, make_waves
from albert_tf.pretraining.pretrain import run
from albert_tf.runtime.errors import InputError


def test_one_map_leads_from_every_position_to_the_next():
    waves, half = make_waves(64, 16, 0.02).astype(np.float64), 8
    # Sine and cosine are turned by one step of their frequency, which the first step shows.
    turn = np.arctan2(waves[1, :half], waves[1, half:])
    step = np.block(
        [[np.diag(np.cos(turn)), -np.diag(np.sin(turn))], [np.diag(np.sin(turn)), np.diag(np.cos(turn))]],
    )
    np.testing.assert_allclose(waves[:-1] @ step, waves[1:], atol=1e-7)
    assert turn.min() > 0


def test_waves_are_as_large_as_random_numbers_would_be(small_config):
    model = AlbertForPretraining(small_config)
    initialise_positions(model)
    values = np.array(model.albert.embeddings.position_embeddings)
    np.testing.assert_allclose(np.sqrt(np.mean(values**2)), small_config.initializer_range, rtol=1e-3)
    assert len(np.unique(values.round(6), axis=0)) == len(values)


def test_an_odd_number_of_columns_has_a_last_one_of_zeros():
    waves = make_waves(10, 5, 1.0)
    assert not waves[:, 4].any()
    np.testing.assert_allclose(waves[:, 0], np.sqrt(2) * np.sin(np.arange(10)), rtol=1e-6)
    np.testing.assert_allclose(waves[:, 2], np.sqrt(2) * np.cos(np.arange(10)), rtol=1e-6)


@pytest.mark.slow
def test_a_run_begins_with_them_and_does_not_come_back_to_them(settings, small_config, read_weights):
    settings = dataclasses.replace(settings, init_position_waves=True, num_train_steps=4, optimizer="adamw")
    run(settings)
    name, before = "albert/embeddings/position_embeddings", read_weights(settings.output_dir, 4)
    waves = make_waves(*before[name].shape, small_config.initializer_range)
    assert 0 < np.abs(before[name] - waves).max() < 0.1
    run(dataclasses.replace(settings, num_train_steps=8))
    assert np.abs(read_weights(settings.output_dir, 8)[name] - waves).max() > np.abs(before[name] - waves).max()


def test_a_checkpoint_has_positions_of_its_own(settings):
    with pytest.raises(InputError, match="^give --init_checkpoint, .* or --init_position_waves, not both"):
        dataclasses.replace(settings, init_checkpoint="somewhere", init_position_waves=True)
