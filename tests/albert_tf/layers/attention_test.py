"""SelfAttention against a plain numpy computation, and its masking of padding."""

import keras
import numpy as np

from albert_tf.kernels.chains import MASKED_SCORE, make_attention_bias
from albert_tf.layers.attention import SelfAttention

H, N, S = 6, 2, 4


def _layer():
    layer = SelfAttention(H, N, name="attention")
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
    np.testing.assert_allclose(layer(x, make_attention_bias(np.ones((1, S)), "float32"))[0], expected, atol=1e-5)


def test_weights_read_beforehand_change_nothing():
    layer = _layer()
    x = np.random.default_rng(1).normal(size=(2, S, H)).astype("float32")
    bias = make_attention_bias(np.ones((2, S)), "float32")
    np.testing.assert_array_equal(layer(x, bias), layer(x, bias, weights=layer.step_weights()))


def test_the_bias_hides_padding_only():
    bias = keras.ops.convert_to_numpy(make_attention_bias(np.array([[1, 1, 0]]), "float32"))
    assert bias.shape == (1, 1, 1, 3)
    assert bias.ravel().tolist() == [0, 0, MASKED_SCORE]


def test_a_config_makes_the_same_layer():
    layer = SelfAttention(H, N, initializer_range=0.3, hidden_dropout_rate=0.1, attention_dropout_rate=0.2)
    assert SelfAttention.from_config(layer.get_config()).get_config() == layer.get_config()
