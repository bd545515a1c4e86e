"""The seed that a step hands to the model: a different one for every run, step, replica and micro-batch."""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.optimization.build import build_optimizer
from albert_tf.training.strategy import make_strategy
from albert_tf.training.tensorflow_steps import TensorFlowSteps

MICRO_BATCHES = 4


class _SeedSteps(TensorFlowSteps):
    """Steps whose metrics are the seeds that the micro-batches were given, each at the place of its row."""

    metrics = ("loss", *(f"seed_{part}_{row}" for row in range(MICRO_BATCHES) for part in (0, 1)), "gradient_norm")

    def _counts(self, batch):
        return [tf.constant(1.0)]

    def _losses(self, batch, counts, seed):
        loss = tf.reduce_sum(self.model.kernel.value)
        # Single precision holds numbers of 16 bits.
        parts = tf.cast(tf.bitwise.bitwise_and(tf.cast(seed, tf.int32), 0xFFFF), tf.float32)
        rows = tf.reduce_sum(tf.one_hot(batch["row"], MICRO_BATCHES), axis=0)
        return loss, tf.concat([[loss], tf.reshape(rows[:, None] * parts, [-1])], axis=0)


def _steps(seed, micro_batches=1, **how):
    model = keras.layers.Dense(1)
    model.build((None, 2))
    optimizer = build_optimizer("adamw", 1e-3)
    optimizer.build(model.trainable_variables)
    strategy = make_strategy("one_device")
    return _SeedSteps(strategy, model, optimizer, seed=seed, gradient_accumulation_steps=micro_batches, **how)


def _seeds(steps, count=2):
    """The seeds of each row in each of so many steps: float32 [count, MICRO_BATCHES, 2]."""
    dataset = tf.data.Dataset.from_tensors({"row": tf.range(MICRO_BATCHES)}).repeat()
    iterator = iter(steps.strategy.distribute_datasets_from_function(lambda _: dataset))
    found = [steps.take(iterator, tf.constant(1), steps.start())[2].numpy()[1:-1] for _ in range(count)]
    return np.reshape(found, (count, MICRO_BATCHES, 2))


def test_every_step_and_every_micro_batch_has_a_seed_of_its_own():
    seeds = _seeds(_steps(seed=7, micro_batches=MICRO_BATCHES))
    assert len(np.unique(seeds.reshape(-1, 2), axis=0)) == seeds.shape[0] * MICRO_BATCHES


def test_either_half_has_the_seed_of_a_micro_batch():
    halves = _seeds(_steps(seed=7, batch_halves=True))
    assert len(np.unique(halves.reshape(-1, 2), axis=0)) == halves.shape[0] * 2
    np.testing.assert_array_equal(halves, _seeds(_steps(seed=7, micro_batches=2)))


def test_the_run_s_seed_decides_and_a_batch_in_one_piece_has_one():
    first, again, other = (_seeds(_steps(seed)) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any(axis=-1).all()
    assert (first == first[:, :1]).all()


@pytest.mark.parametrize("seed", [0, 7])
def test_replicas_have_seeds_of_their_own(seed):
    steps = _steps(seed)
    replicas = [types.SimpleNamespace(replica_id_in_sync_group=number) for number in range(4)]
    seeds = [tuple(np.asarray(steps._dropout_seed(replica)).tolist()) for replica in replicas]
    steps.optimizer.iterations.assign(1)
    seeds += [tuple(np.asarray(steps._dropout_seed(replica)).tolist()) for replica in replicas]
    assert len(set(seeds)) == 8
