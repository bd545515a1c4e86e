"""The clock of the steps, which separates waiting for input from computing; and what is left when they are done."""

import gc
import os
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest
import tensorflow as tf

from albert_tf.inputs.pretraining_dataset import make_dataset
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.pretraining.steps import PretrainingSteps
from albert_tf.training.strategy import make_strategy

PAUSE, STEPS = 0.1, 5


def _make_runner(config):
    strategy = make_strategy("one_device")
    with strategy.scope():
        model = AlbertForPretraining(config)
        optimizer = build_optimizer("adamw", 1e-3)
        optimizer.build(list(named_weights(model).values()))
    return PretrainingSteps(strategy, model, optimizer)


@pytest.fixture
def runner(small_config):
    return _make_runner(small_config)


@pytest.mark.slow
def test_a_slow_input_is_waited_for_and_a_quick_one_is_not(runner, write_records):
    def pause(batch):
        def wait():
            time.sleep(PAUSE)
            return 0

        with tf.control_dependencies([tf.numpy_function(wait, [], tf.int64)]):
            return tf.nest.map_structure(tf.identity, batch)

    quick = make_dataset([write_records("records", 50)], 8, 16, 4)
    waited = {}
    for name, batches in (("slow", quick.map(pause)), ("quick", quick.take(1).cache().repeat().prefetch(4))):
        iterator = iter(runner.strategy.distribute_datasets_from_function(lambda _, batches=batches: batches))
        progress = runner.take(iterator, tf.constant(2), runner.start())[0].cleared()
        progress, taken, _, usable = runner.take(iterator, tf.constant(STEPS), progress)
        assert (int(taken), bool(usable), float(progress.counted)) == (STEPS, True, STEPS)
        waited[name] = float(progress.waited)
    assert waited["slow"] > 0.5 * PAUSE * STEPS
    assert waited["quick"] < 0.5 * waited["slow"]


@pytest.mark.slow
def test_a_model_that_was_trained_is_freed(small_config, write_records):
    batches = make_dataset([write_records("records", 50)], 8, 16, 4)

    def train():
        runner = _make_runner(small_config)
        iterator = iter(runner.strategy.distribute_datasets_from_function(lambda _: batches))
        taken = runner.take(iterator, tf.constant(2), runner.start())[1]
        assert int(taken) == 2
        return [weakref.ref(variable.value) for variable in runner.model.trainable_variables]

    weights = train()
    # One round frees a graph, the next one the graph that it held.
    for _ in range(3):
        gc.collect()
    assert [weight for weight in weights if weight() is not None] == []


@pytest.mark.slow
def test_so_it_is_with_one_thread():
    # The operations that are ready then take their turns, the clock among them.
    waiting = test_a_slow_input_is_waited_for_and_a_quick_one_is_not
    done = subprocess.run(
        [*(sys.executable, "-m", "pytest", "-q", "-m", "slow or not slow"), f"{__file__}::{waiting.__name__}"],
        env={**os.environ, "TF_NUM_INTEROP_THREADS": "1", "PYTEST_ADDOPTS": ""},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout
