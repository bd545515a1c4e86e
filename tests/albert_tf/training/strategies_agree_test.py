"""One device against all other ways to take the same steps: the same losses and weights at the same global batch.

Dropout is off: replicas and micro-batches have masks of their own. The records have 1 to 4 predictions each, so that
the shares of a batch differ.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.records.example_messages import decode_example, encode_example
from albert_tf.records.record_files import frame, read_records

STEPS = 20
PROGRAM = str(Path(__file__).with_name("take_steps.py"))
ROOT = str(Path(__file__).resolve().parents[3])


def _start(arguments, environment=None):
    command = [sys.executable, PROGRAM, *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": ROOT, **(environment or {})}, **pipes)


def _result(process):
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-2000:]
    return json.loads(output.splitlines()[-1])


@pytest.fixture
def arguments(write_records, small_config):
    """The arguments of every process, without the names of its variants."""
    changes = {"num_hidden_layers": 2, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = json.dumps({**small_config.to_dict(), **changes})
    return [write_records("records", 50), config, str(STEPS)]


def _compare(one, other, name, tolerance=1e-5):
    for step, theirs in other["metrics"].items():
        ours = one["metrics"][step]
        assert max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) < tolerance, (name, step)
    np.testing.assert_allclose(other["totals"], one["totals"], atol=STEPS * tolerance, err_msg=name)
    for weight, values in one["weights"].items():
        furthest = max(abs(a - b) for a, b in zip(values, other["weights"][weight], strict=True))
        assert furthest < 10 * tolerance, (name, weight)


@pytest.mark.slow
def test_replicas_and_micro_batches_agree_with_one_device(arguments):
    names = ("one_device", "ten at a time", "mirrored", "accumulation 4")
    results = _result(_start([*arguments, *names]))
    one = results["one_device"]
    assert (one["replicas"], results["mirrored"]["replicas"]) == (1, 2)
    assert one["metrics"][str(STEPS)][0] < one["metrics"]["1"][0]
    # Coming back to Python or not changes no bit.
    assert results["ten at a time"]["metrics"][str(STEPS)] == one["metrics"][str(STEPS)]
    assert results["ten at a time"]["totals"] == one["totals"]
    assert results["ten at a time"]["weights"] == one["weights"]
    for name in names[1:]:
        _compare(one, results[name], name)
    # What is exchanged: every gradient, five metrics and two counts, of four bytes each.
    parameters = AlbertForPretraining(AlbertConfig.from_dict(json.loads(arguments[1]))).count_params()
    assert results["mirrored"]["all_reduce_bytes"] == 4 * (parameters + 7)


@pytest.mark.slow
def test_a_step_that_is_not_finite_is_left_out_on_every_replica(arguments):
    path = Path(arguments[0])
    messages = [message for _, message in read_records(arguments[0])]
    features = decode_example(messages[30])
    features["masked_lm_weights"] = np.array([np.nan] * 4, np.float32)
    messages[30] = encode_example(features)
    path.write_bytes(b"".join(map(frame, messages)))
    names = ("one_device", "ten at a time", "mirrored", "mirrored, accumulation 2")
    results = _result(_start([*arguments, *names]))
    one = results["one_device"]
    assert len(one["bad_steps"]) == 3  # three epochs and a bit
    for name in names[1:]:
        assert results[name]["bad_steps"] == one["bad_steps"]
        _compare(one, results[name], name)


@pytest.mark.slow
def test_two_workers_and_the_rest_of_the_table_agree_with_one_device(arguments, free_addresses):
    addresses = free_addresses(2)
    workers = []
    for index in range(2):
        setting = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        workers.append(_start([*arguments, "multi_worker"], {"TF_CONFIG": json.dumps(setting)}))
    names = (
        *("one_device", "mirrored, accumulation 2", "compiled", "mirrored, compiled, accumulation 2"),
        *("scaled loss", "remat", "constant graph", "bfloat16", "float16", "mirrored, float16, accumulation 2"),
    )
    here = _start([*arguments, *names])
    first, second = (_result(worker)["multi_worker"] for worker in workers)
    results = _result(here)
    assert first["replicas"] == 2
    assert first["metrics"] == second["metrics"]
    assert first["weights"] == second["weights"]
    _compare(results["one_device"], first, "multi_worker")
    for name in names[1:]:
        # Eight and eleven bits of a number's digits: single losses differ by so much, weights by little more.
        tolerance = 2e-2 if "bfloat16" in name else 2e-3 if "float16" in name else 1e-5
        _compare(results["one_device"], results[name], name, tolerance)
        assert (results[name]["metrics"] == results["one_device"]["metrics"]) <= ("float16" not in name)
