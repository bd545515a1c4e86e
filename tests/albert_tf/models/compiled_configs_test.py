"""The whole training step of every shipped config, lowered by XLA: what a TPU asks for, seen without one."""

import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import losses
from albert_tf.config import AlbertConfig
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.lamb import LAMB

CONFIGS = sorted((Path(__file__).resolve().parents[3] / "configs/models").glob("*.json"))
B, P = 2, 4
# Above this many parameters a test would spend minutes on arithmetic that a smaller config has done.
EXECUTED_BELOW = 5_000_000


def _batch(config, length):
    rng = np.random.default_rng(0)
    return {
        "input_ids": tf.constant(rng.integers(config.vocab_size, size=(B, length)), tf.int32),
        "input_mask": tf.ones((B, length), tf.int32),
        "segment_ids": tf.zeros((B, length), tf.int32),
        "masked_lm_positions": tf.constant(rng.integers(length, size=(B, P)), tf.int32),
        "masked_lm_ids": tf.constant(rng.integers(config.vocab_size, size=(B, P)), tf.int32),
        "masked_lm_weights": tf.ones((B, P)),
        "sentence_order_labels": tf.constant([0, 1]),
    }


def _whole_step(config, **arguments):
    model = AlbertForPretraining(config, **arguments)
    variables = list(named_weights(model).values())
    optimizer = LAMB(learning_rate=1e-3)
    optimizer.build(variables)

    @tf.function(jit_compile=True, autograph=False)
    def step(batch, seed):
        with tf.GradientTape() as tape:
            outputs = model(batch, training=True, dropout_seed=seed, read_only_predictions=True)
            loss, count = losses.masked_lm_loss(
                outputs["masked_lm_logits"], batch["masked_lm_ids"], batch["masked_lm_weights"]
            )
            order_loss, pairs = losses.classification_loss(
                outputs["sentence_order_logits"], batch["sentence_order_labels"]
            )
            total = loss / count + order_loss / pairs
        gradients = tape.gradient(total, [variable.value for variable in variables])
        gradients, _ = tf.clip_by_global_norm([tf.convert_to_tensor(gradient) for gradient in gradients], 1.0)
        for variable, gradient in zip(variables, gradients, strict=True):
            optimizer.update_step(gradient, variable, tf.constant(1e-3))
        return total

    return model, step


def _check(hlo, precision):
    assert "f32[" in hlo
    assert precision != "mixed_bfloat16" or "bf16[" in hlo
    assert "f64[" not in hlo
    # A dynamic dimension is written "<=".
    assert not re.search(r"\[[^\]]*<=", hlo)
    for callback in ("custom-call", "outfeed", "infeed", "send(", "recv("):
        assert callback not in hlo, callback


@pytest.mark.slow
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_lowers_to_static_shapes_without_callbacks(path):
    config = AlbertConfig.from_json_file(str(path))
    length = config.max_position_embeddings
    model, step = _whole_step(config, dtype="mixed_bfloat16")
    batch, seed = _batch(config, length), tf.constant([1, 2])
    _check(step.experimental_get_compiler_ir(batch, seed)(stage="hlo"), "mixed_bfloat16")
    if model.count_params() < EXECUTED_BELOW:
        assert np.isfinite(float(step(batch, seed)))


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [{"remat": True}, {"dtype": "mixed_bfloat16"}], ids=["remat", "bfloat16"])
def test_a_small_step_lowers_to_static_shapes_without_callbacks(arguments, small_config):
    _, step = _whole_step(small_config, **arguments)
    hlo = step.experimental_get_compiler_ir(_batch(small_config, 16), tf.constant([1, 2]))(stage="hlo")
    _check(hlo, arguments.get("dtype", "float32"))
