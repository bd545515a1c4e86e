"""The chains in training, their gradients written out by hand, against TensorFlow's own of plain formulas."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.kernels import chains
from albert_tf.kernels.activations import get_activation
from albert_tf.layers.dropout import StatelessDropout

B, S, P, N, D, INNER = 2, 6, 4, 2, 4, 10
H = N * D
SEED = np.array([3, 4], "int32")
# Of the largest number: a few roundings of each precision.
TOLERANCES = {"float32": 2e-6, "bfloat16": 4e-2, "float16": 5e-3}


def _numbers(*shapes, dtype="float32"):
    rng = np.random.default_rng(0)
    return [tf.constant(rng.normal(size=shape), dtype) for shape in shapes]


def _with_gradients(function, arguments):
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        results = tf.nest.flatten(function(*arguments))
        # Of numbers of many sizes, so that every element has a gradient of its own.
        weights = [np.linspace(-1.0, 1.0, x.shape.num_elements()).reshape(x.shape) for x in results]
        total = tf.add_n([tf.reduce_sum(tf.cast(x, "float32") * w) for x, w in zip(results, weights, strict=True)])
    return [*results, *tape.gradient(total, arguments)]


def _assert_equal(chain, plain, arguments):
    """The chain in the arguments' precision against the plain formula of the same numbers in float32."""
    precision = arguments[0].dtype.name
    expected = _with_gradients(plain, [tf.cast(argument, "float32") for argument in arguments])
    for got, want in zip(_with_gradients(chain, arguments), expected, strict=True):
        scale = np.abs(want).max()
        np.testing.assert_allclose(tf.cast(got, "float32") / scale, want / scale, atol=TOLERANCES[precision])


def _drop(dropout, x):
    return tf.where(dropout.keep_masks(x.shape, SEED, True)[0], x / (1 - dropout.rate), 0) if dropout.rate else x


@pytest.mark.parametrize("precision", TOLERANCES)
def test_heads_taken_apart(precision):
    (x,), (bias,) = _numbers((B, S, 3 * H), dtype=precision), _numbers((3 * H,))

    def plain(x, bias):
        parts = tf.split(x + bias, 3, axis=-1)
        return [tf.transpose(tf.reshape(part, [B, S, N, D]), [0, 2, 1, 3]) for part in parts]

    _assert_equal(lambda x, bias: chains.split_heads(x, bias, N, 3, training=True), plain, [x, bias])


@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize("rate", [0.0, 0.5])
@pytest.mark.parametrize("positions", [S, P])
def test_attention(precision, rate, positions):
    arguments = _numbers((B, N, positions, D), (B, N, S, D), (B, N, S, D), dtype=precision)
    attention_bias = tf.constant([[0.0] * S, [0.0] * 4 + [-10000.0] * 2])[:, None, None, :]
    dropout = StatelessDropout(rate, site=0)

    def plain(query, key, value):
        scores = tf.einsum("bnpd,bnsd->bnps", query, key) / np.sqrt(D) + attention_bias
        context = tf.einsum("bnps,bnsd->bpnd", _drop(dropout, tf.nn.softmax(scores)), value)
        return tf.reshape(context, [B, positions, H])

    def chain(query, key, value):
        return chains.attend(query, key, value, attention_bias, dropout, SEED, training=True)

    _assert_equal(chain, plain, arguments)


@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_the_norm_of_a_sum(precision, rate):
    arguments = _numbers((B, S, H), (B, S, H), dtype=precision) + _numbers((H,), (H,), (H,))
    dropout = StatelessDropout(rate, site=0)

    def plain(x, residual, bias, gamma, beta):
        total = tf.reshape(residual, [-1, H]) + _drop(dropout, tf.reshape(x + bias, [-1, H]))
        centred = total - tf.reduce_mean(total, axis=-1, keepdims=True)
        variance = tf.reduce_mean(centred**2, axis=-1, keepdims=True)
        return tf.reshape(centred / tf.sqrt(variance + 1e-3) * gamma + beta, [B, S, H])

    def chain(x, residual, bias, gamma, beta):
        return chains.residual_norm(x, bias, residual, (gamma, beta, 1e-3), dropout, SEED, training=True)

    _assert_equal(chain, plain, arguments)


@pytest.mark.parametrize("precision", TOLERANCES)
def test_the_product_of_an_activation(precision):
    arguments = _numbers((B, S, H), (H, INNER), (INNER, H), dtype=precision) + _numbers((INNER,))
    activation = get_activation("gelu")

    def plain(x, kernel, outer, bias):
        return activation(x @ kernel + bias) @ outer

    def chain(x, kernel, outer, bias):
        return chains.activated_projection(x, (kernel, bias), (outer, None), activation, training=True)

    _assert_equal(chain, plain, arguments)


def test_the_left_side_of_a_product_is_made_anew_when_its_gradient_is_there():
    arguments = _numbers((B, S, H), (H, INNER), (INNER, H), (INNER,))

    @tf.function
    def gradients(x, kernel, outer, bias):
        return _with_gradients(
            lambda *given: chains.activated_projection(
                given[0], (given[1], given[3]), (given[2], None), get_activation("gelu"), training=True
            ),
            [x, kernel, outer, bias],
        )

    graph = gradients.get_concrete_function(*arguments).graph
    calls = [operation for operation in graph.get_operations() if "PartitionedCall" in operation.type]
    waiting = [call for call in calls if call.control_inputs]
    assert len(calls) == 3
    assert len(waiting) == 1
