"""Queries, keys and values from the factors of the hidden states: against those from the hidden states themselves."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.kernels.block_runner import BlockApplications, Factors
from albert_tf.kernels.chains import make_attention_bias
from albert_tf.layers.attention import SelfAttention
from albert_tf.layers.feed_forward import FeedForward
from albert_tf.layers.transformer_block import TransformerBlock

BATCH, LENGTH, EMBEDDING, HIDDEN = 2, 5, 4, 8
MASK = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]


def _block():
    keras.utils.set_random_seed(1)
    block = TransformerBlock(SelfAttention(HIDDEN, 2, initializer_range=0.5), FeedForward(HIDDEN, 16))
    block.build()
    for number, bias in enumerate(block.attention.biases):
        bias.assign(0.1 * np.arange(HIDDEN) - number)
    return block


@pytest.mark.parametrize("remat", [False, True])
def test_factors_give_the_same_outputs_and_gradients(remat):
    block = _block()
    x = tf.Variable(tf.random.normal([BATCH, LENGTH, EMBEDDING]))
    kernel = tf.Variable(tf.random.normal([EMBEDDING, HIDDEN]))
    bias = tf.Variable(tf.random.normal([HIDDEN]))
    mask = make_attention_bias(tf.constant(MASK), "float32")
    variables = [x, kernel, bias, *(weight.value for weight in block.trainable_weights)]

    def run(use_factors):
        with tf.GradientTape() as tape:
            # Twice the same block, so that the gradients of both uses are added up.
            applications = BlockApplications(mask, "float32", training=True, remat=remat)
            hidden = tf.matmul(tf.reshape(x, [-1, EMBEDDING]), kernel) + bias
            hidden = tf.reshape(hidden, [BATCH, LENGTH, HIDDEN])
            factors = Factors(*map(tf.convert_to_tensor, (x, kernel, bias)))
            hidden = applications.apply([block], hidden, 0, factors=factors if use_factors else None)
            hidden = applications.apply([block], hidden, 1)
            loss = tf.reduce_sum(hidden * tf.cos(hidden))
        return [hidden, *tape.gradient(loss, variables)]

    for given, expected in zip(run(True), run(False), strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-5)


def test_a_run_time_condition_says_whether_factors_are_used():
    block = _block()
    bias = make_attention_bias(tf.constant(MASK), "float32")
    factors = Factors(*map(tf.random.normal, ([BATCH, LENGTH, EMBEDDING], [EMBEDDING, HIDDEN], [HIDDEN])))
    # Not their product, so that it shows which of the two was read.
    hidden = tf.random.normal([BATCH, LENGTH, HIDDEN])

    def apply(factors):
        return BlockApplications(bias, "float32").apply([block], hidden, 0, factors=factors)

    @tf.function(input_signature=[tf.TensorSpec([], tf.bool)])
    def decide(are_used):
        return apply(factors._replace(are_used=are_used))

    from_factors, from_hidden = apply(factors), apply(None)
    assert np.abs(from_factors - from_hidden).max() > 0.1
    np.testing.assert_allclose(decide(True), from_factors, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(decide(False), from_hidden, rtol=1e-4, atol=1e-5)
