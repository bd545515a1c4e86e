"""A block applied twice by the runner, its kernels read once: against calling the block itself twice."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.kernels import BlockRunner, View
from albert_tf.layers.attention import SelfAttention
from albert_tf.layers.feed_forward import FeedForward
from albert_tf.layers.transformer_block import TransformerBlock

BATCH, LENGTH, HIDDEN = 2, 5, 8
MASK = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]


def _block():
    keras.utils.set_random_seed(1)
    config = AlbertConfig(
        vocab_size=10, hidden_size=HIDDEN, num_attention_heads=2, intermediate_size=16, initializer_range=0.5
    )
    block = TransformerBlock(SelfAttention(config), FeedForward(config))
    block.build()
    for number, bias in enumerate(block.attention.biases):
        bias.assign(0.1 * np.arange(HIDDEN) - number)
    return block


@pytest.mark.parametrize("remat", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("positions", [None, [[0, 3], [2, 0]]])
def test_outputs_and_gradients_are_those_of_calling_the_block(remat, training, positions):
    block = _block()
    x = tf.Variable(tf.random.stateless_normal([BATCH, LENGTH, HIDDEN], [1, 2]))
    view = View.of(tf.constant(MASK), training=training)
    read = None if positions is None else tf.constant(positions)
    variables = [x, *(weight.value for weight in block.trainable_weights)]

    def by_the_runner():
        run = BlockRunner(view, "float32", remat)
        return run(block, run(block, tf.convert_to_tensor(x), 0), 1, read)

    def by_itself():
        hidden = block(tf.convert_to_tensor(x), view=view)
        return block(hidden, view=dataclasses.replace(view, positions=read))

    def with_gradients(compute):
        with tf.GradientTape() as tape:
            hidden = compute()
            loss = tf.reduce_sum(hidden * tf.cos(hidden))
        return [hidden, *tape.gradient(loss, variables)]

    for given, expected in zip(with_gradients(by_the_runner), with_gradients(by_itself), strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-5)
