"""Queries, keys and values from the factors of the hidden states: against those from the hidden states themselves."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.layers.attention import SelfAttention, make_attention_bias
from albert_tf.layers.block_applications import BlockApplications
from albert_tf.layers.feed_forward import FeedForward
from albert_tf.layers.transformer_block import TransformerBlock

BATCH, LENGTH, EMBEDDING, HIDDEN = 2, 5, 4, 8


@pytest.mark.parametrize("remat", [False, True])
def test_factors_give_the_same_outputs_and_gradients(remat):
    keras.utils.set_random_seed(1)
    block = TransformerBlock(SelfAttention(HIDDEN, 2, initializer_range=0.5), FeedForward(HIDDEN, 16))
    block.build()
    for number, bias in enumerate(block.attention.biases):
        bias.assign(0.1 * np.arange(HIDDEN) - number)
    x = tf.Variable(tf.random.normal([BATCH, LENGTH, EMBEDDING]))
    kernel = tf.Variable(tf.random.normal([EMBEDDING, HIDDEN]))
    bias = tf.Variable(tf.random.normal([HIDDEN]))
    mask = make_attention_bias(tf.constant([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]), "float32")
    variables = [x, kernel, bias, *(weight.value for weight in block.trainable_weights)]

    def run(use_factors):
        with tf.GradientTape() as tape:
            # Twice the same block, so that the gradients of both uses are added up.
            applications = BlockApplications(mask, "float32", training=True, remat=remat)
            hidden = tf.matmul(tf.reshape(x, [-1, EMBEDDING]), kernel) + bias
            hidden = tf.reshape(hidden, [BATCH, LENGTH, HIDDEN])
            factors = (tf.convert_to_tensor(x), tf.convert_to_tensor(kernel), tf.convert_to_tensor(bias))
            hidden = applications.apply([block], hidden, 0, factors=factors if use_factors else None)
            hidden = applications.apply([block], hidden, 1)
            loss = tf.reduce_sum(hidden * tf.cos(hidden))
        return [hidden, *tape.gradient(loss, variables)]

    for given, expected in zip(run(True), run(False), strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-5)
