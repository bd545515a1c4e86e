"""Places of dropout in a model: each has a mask of its own, and each of the two rates works without the other."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import kernels
from albert_tf.models.albert import AlbertModel
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import assign_weights, named_weights

INPUTS = {"input_ids": np.arange(12, dtype="int32").reshape(2, 6)}
SEED = np.array([1, 2], "int32")


@pytest.fixture
def masks(monkeypatch):
    """The masks that were drawn: a list of (rate, shape, seed)."""
    drawn, keep_mask = [], kernels.keep_mask

    def note(shape, rate, seed):
        drawn.append((rate, tuple(map(int, shape)), tuple(np.asarray(seed).tolist())))
        return keep_mask(shape, rate, seed)

    monkeypatch.setattr(kernels, "keep_mask", note)
    return drawn


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"inner_group_num": 2},
        {"inner_group_num": 2, "num_hidden_groups": 2},
        {"parameter_sharing": "none"},
        {"parameter_sharing": "attention"},
    ],
)
def test_no_two_places_layers_or_inner_blocks_have_one_seed(small_config, masks, shape):
    config = dataclasses.replace(small_config, **shape)
    AlbertModel(config)(INPUTS, training=True, dropout_seed=SEED)
    # The embeddings; in every application of a block the probabilities and what both halves give.
    assert len(masks) == 1 + 3 * config.num_hidden_layers * config.inner_group_num
    assert len({seed for *_, seed in masks}) == len(masks)


def test_a_head_has_a_mask_of_its_own(small_config, masks):
    make_finetuning_model(small_config, "classification", 2)(INPUTS, training=True, dropout_seed=SEED)
    assert len(masks) == 1 + 3 * small_config.num_hidden_layers + 1
    assert len({seed for *_, seed in masks}) == len(masks)


def _rates(config, hidden, attention):
    changes = {"hidden_dropout_prob": hidden, "attention_probs_dropout_prob": attention, "initializer_range": 0.3}
    return AlbertModel(dataclasses.replace(config, **changes))


def test_each_rate_is_that_of_its_places(small_config, masks):
    _rates(small_config, 0.25, 0.5)(INPUTS, training=True, dropout_seed=SEED)
    heads, layers = small_config.num_attention_heads, small_config.num_hidden_layers
    of_probabilities = [rate for rate, shape, _ in masks if shape == (2, heads, 6, 6)]
    assert of_probabilities == [0.5] * layers
    assert sorted(rate for rate, *_ in masks) == [0.25] * (1 + 2 * layers) + [0.5] * layers


@pytest.mark.parametrize(("hidden", "attention", "places"), [(0.0, 0.5, 3), (0.5, 0.0, 7), (0.0, 0.0, 0)])
def test_either_rate_alone_still_drops(three_layers, masks, hidden, attention, places):
    model = _rates(three_layers, hidden, attention)
    outputs = [model(INPUTS, training=True, dropout_seed=SEED + more)["pooled_output"].numpy() for more in (0, 1)]
    assert len(masks) == 2 * places
    assert (np.abs(outputs[0] - outputs[1]).max() > 1e-3) == (places > 0)
    # Not outside training, whatever the seed.
    masks.clear()
    model(INPUTS, dropout_seed=SEED)
    assert masks == []


def test_a_model_without_dropout_wants_no_seed_in_training(small_config):
    model = _rates(small_config, 0.0, 0.0)
    step = tf.function(lambda: model(INPUTS, training=True)["pooled_output"])
    np.testing.assert_allclose(step(), model(INPUTS)["pooled_output"], atol=1e-5)


def test_layers_in_a_loop_draw_what_layers_one_after_the_other_do(small_config):
    changes = {"num_hidden_layers": 5, "num_hidden_groups": 2, "initializer_range": 0.3}
    config = dataclasses.replace(small_config, **changes)
    plain, loop = AlbertModel(config), AlbertModel(config, constant_graph=True)
    assign_weights(loop, {name: value.numpy() for name, value in named_weights(plain).items()}, "test")
    for training in (True, False):
        results = [model(INPUTS, training=training, dropout_seed=SEED)["pooled_output"] for model in (plain, loop)]
        np.testing.assert_allclose(*results, atol=1e-5)
