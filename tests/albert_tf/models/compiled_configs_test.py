"""The shipped steps, as a run makes them, lowered by XLA: the demands of a TPU, checked without one.

Training with all that a run can ask for (scaled loss, micro-batches, dropout seeds by step and replica), evaluation,
fine-tuning and its predictions; for every shipped config, and on a small one in every way.
"""

import gc
import re
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.finetuning.steps import FinetuningSteps
from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT, FEATURE_INDEX, LABEL
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.optimization.schedules import WarmupPolynomialDecay
from albert_tf.pretraining.steps import PretrainingSteps
from albert_tf.training.loss_scale import LossScale
from albert_tf.training.steps import Progress
from albert_tf.training.strategy import make_strategy

CONFIGS = sorted((Path(__file__).resolve().parents[3] / "configs/models").glob("*.json"))
B, P = 4, 4
# Above this many parameters a test would spend minutes on arithmetic that a smaller config has done.
EXECUTED_BELOW = 5_000_000


@pytest.fixture(autouse=True)
def _nothing_left():
    """Frees weights and moments, gigabytes of the largest configs, before the next model is made."""
    yield
    keras.backend.clear_session()
    gc.collect()


def _pretraining_batch(config, length):
    rng = np.random.default_rng(0)
    return {
        "input_ids": tf.constant(rng.integers(config.vocab_size, size=(B, length)), tf.int32),
        "input_mask": tf.ones((B, length), tf.int32),
        "segment_ids": tf.zeros((B, length), tf.int32),
        "masked_lm_positions": tf.constant(rng.integers(length, size=(B, P)), tf.int32),
        "masked_lm_ids": tf.constant(rng.integers(config.vocab_size, size=(B, P)), tf.int32),
        "masked_lm_weights": tf.ones((B, P)),
        "sentence_order_labels": tf.constant([0, 1] * (B // 2)),
    }


def _finetuning_batch(config, length):
    ids = _pretraining_batch(config, length)
    return {
        **{name: ids[name] for name in ("input_ids", "input_mask", "segment_ids")},
        LABEL: tf.constant([0, 1] * (B // 2)),
        EXAMPLE_WEIGHT: tf.ones(B),
        FEATURE_INDEX: tf.range(B),
    }


def _steps(kind, config, arguments, **more):
    """The steps of a run, with the optimizer and the schedule that runs have."""
    strategy = make_strategy("one_device")
    with strategy.scope():
        if kind is FinetuningSteps:
            model = make_finetuning_model(config, "classification", 2, **arguments)
        else:
            model = AlbertForPretraining(config, **arguments)
        optimizer = build_optimizer("lamb", WarmupPolynomialDecay(1e-3, 100, 10))
        optimizer.build(list(named_weights(model).values()))
    given = (strategy, model, "classification") if kind is FinetuningSteps else (strategy, model)
    return kind(*given, optimizer=optimizer, seed=3, static_shapes=True, **more)


def _compiled_step(steps):
    """The function that a run calls for each step, compiled as a whole; the host measures the wait for input."""

    @tf.function(jit_compile=True)
    def step(batch, totals, counted, scale):
        progress, last, goes_on = steps._step(batch, Progress(totals, counted, None, scale))
        return progress.totals, progress.counted, progress.scale, last, goes_on

    start = steps.start()
    return step, (start.totals, start.counted, LossScale(*start.scale))


def _compiled_evaluation(steps):
    replica = steps._predict_share if isinstance(steps, FinetuningSteps) else steps._evaluate_share
    return tf.function(lambda batch: steps.strategy.run(replica, args=(batch,)), jit_compile=True)


def _check(compiled, *inputs, bfloat16=False):
    hlo = compiled.experimental_get_compiler_ir(*inputs)(stage="hlo")
    assert "f32[" in hlo
    assert ("bf16[" in hlo) == bfloat16
    assert "f64[" not in hlo
    # A dynamic dimension is written "<=".
    assert not re.search(r"\[[^\]]*<=", hlo)
    for callback in ("custom-call", "outfeed", "infeed", "send(", "recv("):
        assert callback not in hlo, callback


def _check_step(steps, batch, execute, **options):
    step, start = _compiled_step(steps)
    _check(step, batch, *start, **options)
    if execute:
        before = [variable.numpy() for variable in named_weights(steps.model).values()]
        # The learning rate of the first step is 0.
        _, _, scale, first, usable = step(batch, *start)
        _, counted, _, second, _ = step(batch, start[0], start[1], scale)
        assert bool(usable) and float(counted) == 1.0
        assert np.isfinite(first).all() and np.isfinite(second).all()
        after = [variable.numpy() for variable in named_weights(steps.model).values()]
        assert any((one != other).any() for one, other in zip(before, after, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_lowers_to_static_shapes_without_callbacks(path):
    config = AlbertConfig.from_json_file(str(path))
    length = config.max_position_embeddings
    steps = _steps(PretrainingSteps, config, {"dtype": "mixed_bfloat16"})
    batch = _pretraining_batch(config, length)
    _check_step(steps, batch, steps.model.count_params() < EXECUTED_BELOW, bfloat16=True)
    _check(_compiled_evaluation(steps), batch, bfloat16=True)


_WAYS = {
    "plain": ({}, {}),
    "remat": ({"remat": True}, {}),
    "constant_graph": ({"constant_graph": True}, {}),
    "bfloat16": ({"dtype": "mixed_bfloat16"}, {}),
    "accumulation": ({}, {"gradient_accumulation_steps": 2}),
    "loss scale": ({}, {"scale_loss": True}),
    "all of them": ({"remat": True}, {"gradient_accumulation_steps": 2, "scale_loss": True}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PretrainingSteps, FinetuningSteps])
@pytest.mark.parametrize("way", _WAYS)
def test_a_small_step_lowers_to_static_shapes_without_callbacks(way, kind, small_config):
    arguments, more = _WAYS[way]
    steps = _steps(kind, small_config, arguments, **more)
    batch = (_finetuning_batch if kind is FinetuningSteps else _pretraining_batch)(small_config, 16)
    _check_step(steps, batch, True, bfloat16="dtype" in arguments)
    _check(_compiled_evaluation(steps), batch, bfloat16="dtype" in arguments)
