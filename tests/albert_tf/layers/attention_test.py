"""SelfAttention against a plain numpy computation."""

import numpy as np

from albert_tf.config import AlbertConfig
from albert_tf.kernels import View
from albert_tf.layers.attention import SelfAttention

H, N, S = 6, 2, 4
CONFIG = AlbertConfig(vocab_size=10, hidden_size=H, num_attention_heads=N, attention_probs_dropout_prob=0.1)


def _layer():
    layer = SelfAttention(CONFIG, name="attention")
    layer.build()
    rng = np.random.default_rng(0)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape))
    return layer


def _softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_attention_equals_a_loop_over_heads():
    layer = _layer()
    x = np.random.default_rng(1).normal(size=(1, S, H)).astype("float32")
    weights = {variable.path.removeprefix("attention/"): variable.numpy() for variable in layer.trainable_variables}
    query, key, value = (x[0] @ weights[f"{p}_kernel"] + weights[f"{p}_bias"] for p in ("query", "key", "value"))
    heads = []
    for start in range(0, H, H // N):
        part = slice(start, start + H // N)
        heads.append(_softmax(query[:, part] @ key[:, part].T / np.sqrt(H // N)) @ value[:, part])
    output = np.concatenate(heads, -1) @ weights["output/kernel"] + weights["output/bias"] + x[0]
    centred = output - output.mean(-1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    expected = normed * weights["layer_norm/gamma"] + weights["layer_norm/beta"]
    np.testing.assert_allclose(layer(x, view=View.of(np.ones((1, S))))[0], expected, atol=1e-5)


def test_weights_read_beforehand_change_nothing():
    layer = _layer()
    x = np.random.default_rng(1).normal(size=(2, S, H)).astype("float32")
    view = View.of(np.ones((2, S)))
    np.testing.assert_array_equal(layer(x, view=view), layer(x, view=view, weights=layer.compute_weights()))


def test_a_config_makes_the_same_layer():
    layer = SelfAttention(CONFIG)
    assert SelfAttention.from_config(layer.get_config()).get_config() == layer.get_config()
