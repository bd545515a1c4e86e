"""The estimate of memory: how it grows; and an error for want of memory as one line that names flags."""

import dataclasses
import subprocess
import sys

import pytest
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime.errors import InputError
from albert_tf.training.memory import advise, estimate_memory, explain_memory_errors, machine_memory

SETTINGS = PretrainingSettings(albert_config_file="a", input_file="b", output_dir="c", train_batch_size=64)
BASE = AlbertConfig(
    vocab_size=30000, hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072
)


def _estimate(batch_size=16, **more):
    return estimate_memory(BASE, 12_000_000, batch_size, 128, 20, **more)


def test_weights_count_once_and_activations_by_the_micro_batch():
    whole, half = _estimate(16), _estimate(8)
    assert whole.weights == half.weights
    assert whole.activations == 2 * half.activations
    parts = _estimate(16, gradient_accumulation_steps=2)
    assert (parts.activations, parts.logits) == (half.activations, half.logits)
    assert parts.weights > whole.weights


def test_every_way_to_save_memory_saves_some():
    whole = _estimate().total
    assert _estimate(remat=True).total < whole
    assert _estimate(precision="bfloat16").total < whole
    assert _estimate(gradient_accumulation_steps=4).total < whole


def test_an_allocation_that_fails_is_one_line_with_the_flags_to_change():
    # As TensorFlow says it for tf.zeros([1 << 44]), after trying for ten seconds.
    text = "{{function_node x}} OOM when allocating tensor with shape[17592186044416] and type float\non CPU:0"
    with pytest.raises(InputError) as error, explain_memory_errors(SETTINGS):
        raise tf.errors.ResourceExhaustedError(None, None, text)
    told = str(error.value)
    assert told.startswith("out of memory (")
    assert "\n" not in told
    for flag in (
        "--gradient_accumulation_steps (now 1",
        "--remat",
        "--release_memory",
        "--precision=bfloat16",
        "--train_batch_size (now 64",
    ):
        assert flag in told
    with pytest.raises(InputError, match="out of memory"), explain_memory_errors(SETTINGS):
        raise MemoryError


def test_advice_names_only_what_is_left_to_do():
    told = advise(dataclasses.replace(SETTINGS, remat=True, release_memory=True, precision="bfloat16"))
    assert "--remat" not in told
    assert "--release_memory" not in told
    assert "--precision" not in told


def test_a_full_disk_is_another_error():
    full = tf.errors.ResourceExhaustedError(None, None, "train_log.jsonl; No space left on device")
    with pytest.raises(tf.errors.ResourceExhaustedError), explain_memory_errors(SETTINGS):
        raise full


def test_the_machine_has_memory():
    assert machine_memory() > 1 << 20


MEASURE = """
import sys
import numpy as np
from albert_tf.runtime import allocator
from albert_tf.benchmarks.measure import peak_memory_mb
allocator.set_up_memory()
import tensorflow as tf
from albert_tf.config import AlbertConfig
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.training.machine import measure_matmul_peak
from albert_tf.training.memory import estimate_memory
from albert_tf.pretraining.steps import PretrainingSteps
from albert_tf.training.strategy import make_strategy

remat, B, S, P = sys.argv[1] == "True", 64, 128, 20
config = AlbertConfig(
    vocab_size=30000, hidden_size=256, num_hidden_layers=6, num_attention_heads=4, intermediate_size=1024
)
strategy = make_strategy("one_device")
measure_matmul_peak(strategy)
before = peak_memory_mb()
with strategy.scope():
    model = AlbertForPretraining(config, remat=remat)
    optimizer = build_optimizer("lamb", 1e-3)
    optimizer.build(list(named_weights(model).values()))
steps = PretrainingSteps(strategy, model, optimizer)
zeros = {name: np.zeros((B, S), np.int32) for name in ("input_ids", "segment_ids")}
zeros |= {name: np.zeros((B, P), np.int32) for name in ("masked_lm_positions", "masked_lm_ids")}
ones = {"input_mask": np.ones((B, S), np.int32), "masked_lm_weights": np.ones((B, P), np.float32)}
batch = {**zeros, **ones, "sentence_order_labels": np.zeros(B, np.int32)}
iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensors(batch).repeat()))
for _ in range(3):
    steps.train(iterator, 1)
measured = round((peak_memory_mb() - before) * 2**20)
print(measured, estimate_memory(config, model.count_params(), B, S, P, remat=remat).total)
"""


@pytest.mark.slow
@pytest.mark.parametrize("remat", [False, True])
def test_the_estimate_is_within_a_quarter_of_the_measured_peak(remat):
    done = subprocess.run([sys.executable, "-c", MEASURE, str(remat)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    measured, estimated = map(int, done.stdout.split()[-2:])
    assert 0.75 < estimated / measured < 1.25
