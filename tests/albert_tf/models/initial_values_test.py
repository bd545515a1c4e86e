"""The weights of a new model before training: the official initial values, by the config's range."""

import dataclasses

import keras
import numpy as np
import pytest

from albert_tf.models.finetuning import AlbertForSpan, make_finetuning_model
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining

# A normal distribution cut off at two standard deviations has this share of its deviation left.
CUT_OFF = 0.8796


def _models(config):
    keras.utils.set_random_seed(1)
    yield AlbertForPretraining(config)
    yield make_finetuning_model(config, "classification", 3)
    yield make_finetuning_model(config, "multiple_choice")
    yield from (AlbertForSpan(config, beam=beam) for beam in (False, True))


@pytest.mark.parametrize("spread", [0.02, 0.3])
def test_kernels_are_a_cut_off_normal_and_the_rest_zeros_and_ones(small_config, spread):
    for model in _models(dataclasses.replace(small_config, initializer_range=spread)):
        for name, variable in named_weights(model).items():
            values = variable.numpy()
            if name.endswith(("bias", "beta")):
                assert not values.any(), name
            elif name.endswith("gamma"):
                assert (values == 1).all(), name
            else:
                assert np.abs(values).max() <= 2 * spread, name
                # Six standard errors, and a little as the draws are not normal.
                assert abs(values.std() / spread - CUT_OFF) < 5 / np.sqrt(values.size), name
                assert abs(values.mean() / spread) < 5 / np.sqrt(values.size), name


def test_no_two_kernels_start_alike(three_layers):
    for model in _models(dataclasses.replace(three_layers, num_hidden_groups=3, inner_group_num=2)):
        kernels = [value.numpy() for name, value in named_weights(model).items() if name.endswith("_kernel")]
        assert len({kernel.tobytes() for kernel in kernels}) == len(kernels)
