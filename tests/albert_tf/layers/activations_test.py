"""Every activation that a config can name, against its formula, in each place of a model that applies it."""

import math

import numpy as np
import pytest

from albert_tf.config import ACTIVATIONS, AlbertConfig
from albert_tf.heads.pretraining import MaskedLMHead
from albert_tf.kernels import View
from albert_tf.layers.base import get_activation
from albert_tf.layers.feed_forward import FeedForward

X = np.linspace(-9, 9, 181, dtype="float32")


def _tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FORMULAS = {
    "gelu": _tanh_gelu,
    "gelu_new": _tanh_gelu,
    "gelu_erf": lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "linear": lambda x: x,
}


def _norm(x, weights):
    centred = x - x.mean(-1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    return normed * weights["layer_norm/gamma"] + weights["layer_norm/beta"]


def _with_random_weights(layer):
    """The layer, and its weights as arrays by their paths without the layer's name."""
    layer.build()
    rng = np.random.default_rng(0)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape))
    return layer, {variable.path.partition("/")[2]: variable.numpy() for variable in layer.trainable_variables}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_name_is_its_formula(name):
    np.testing.assert_allclose(get_activation(name)(X), FORMULAS[name](X.astype("float64")), atol=2e-6)


def test_no_two_activations_but_the_two_names_of_one_are_alike():
    values = {name: tuple(np.asarray(get_activation(name)(X)).tolist()) for name in ACTIVATIONS}
    assert len(set(values.values())) == len(ACTIVATIONS) - 1


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_masked_lm_head_applies_it_before_its_norm(name):
    config = AlbertConfig(vocab_size=11, embedding_size=5, hidden_size=6, num_attention_heads=2, hidden_act=name)
    head, weights = _with_random_weights(MaskedLMHead(config, name="head"))
    rng = np.random.default_rng(1)
    hidden, table = rng.normal(size=(2, 4, 6)).astype("float32"), rng.normal(size=(11, 5)).astype("float32")
    positions = np.array([[0, 3], [2, 2]])
    gathered = np.stack([hidden[row, positions[row]] for row in range(2)])
    activated = FORMULAS[name](gathered @ weights["transform/kernel"] + weights["transform/bias"])
    expected = _norm(activated, weights) @ table.T
    for add_bias in (True, False):
        bias = weights["output_bias"] if add_bias else 0.0
        np.testing.assert_allclose(head(hidden, positions, table, add_bias=add_bias), expected + bias, atol=1e-4)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_feed_forward_half_applies_it_between_its_products(name, training):
    config = AlbertConfig(vocab_size=10, hidden_size=6, num_attention_heads=2, intermediate_size=9, hidden_act=name)
    layer, weights = _with_random_weights(FeedForward(config, name="half"))
    x = np.random.default_rng(1).normal(size=(2, 3, 6)).astype("float32")
    inner = FORMULAS[name](x @ weights["intermediate/kernel"] + weights["intermediate/bias"])
    expected = _norm(x + inner @ weights["output/kernel"] + weights["output/bias"], weights)
    np.testing.assert_allclose(layer(x, view=View.of(np.ones((2, 3)), training=training)), expected, atol=1e-4)
