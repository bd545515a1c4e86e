"""Demands of a TPU on a step, as far as they show without one: XLA compiles it, static shapes, no float64."""

import re

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import losses
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining

B, S, P = 2, 16, 4


@pytest.mark.slow
def test_a_training_step_compiles_to_static_float32(small_config):
    model = AlbertForPretraining(small_config)
    variables = [variable.value for variable in named_weights(model).values()]
    rng = np.random.default_rng(0)
    ids, positions = rng.integers(60, size=(B, S)), rng.integers(S, size=(B, P))
    inputs = [tf.constant(ids, tf.int32), tf.constant(positions, tf.int32), tf.constant([1, 2])]

    def step(input_ids, masked_lm_positions, seed):
        batch = {"input_ids": input_ids, "masked_lm_positions": masked_lm_positions}
        with tf.GradientTape() as tape:
            outputs = model(batch, training=True, dropout_seed=seed)
            loss, _ = losses.masked_lm_loss(outputs["masked_lm_logits"], masked_lm_positions, tf.ones([B, P]))
            order_loss, _ = losses.classification_loss(outputs["sentence_order_logits"], input_ids[:, 0] % 2)
            total = loss + order_loss
        return total, [tf.convert_to_tensor(gradient) for gradient in tape.gradient(total, variables)]

    compiled = tf.function(step, jit_compile=True)
    hlo = compiled.experimental_get_compiler_ir(*inputs)(stage="hlo")
    assert "f32[" in hlo
    assert "f64[" not in hlo
    # A dynamic dimension is written "<=".
    assert not re.search(r"\[[^\]]*<=", hlo)
    # The same seed gives the same masks, compiled or not, so the losses and gradients agree with dropout on.
    plain_loss, plain = step(*inputs)
    compiled_loss, gradients = compiled(*inputs)
    np.testing.assert_allclose(compiled_loss, plain_loss, rtol=1e-5)
    for name, first, second in zip(named_weights(model), gradients, plain, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-5, err_msg=name)
