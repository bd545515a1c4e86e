"""The engine on JAX: the steps of the TensorFlow engine, on one device, several, and several processes."""

import dataclasses
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest
from jax_runs import ON_JAX, end

from albert_tf.checkpoints.run_checkpoints import write_weights
from albert_tf.config import AlbertConfig
from albert_tf.inputs.pretraining_dataset import make_dataset
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.optimization.schedules import WarmupPolynomialDecay
from albert_tf.pretraining.pretrain import run
from albert_tf.pretraining.steps import PretrainingSteps
from albert_tf.records.example_messages import decode_example, encode_example
from albert_tf.records.record_files import frame, read_records
from albert_tf.training.strategy import make_strategy

STEPS = 20
PROGRAM = str(Path(__file__).with_name("take_jax_steps.py"))

pytestmark = pytest.mark.parity
pytest.importorskip("jax", reason="jax is not installed: the extra [jax]")


@pytest.fixture
def undropped(small_config):
    """A config without dropout, whose masks differ by engine."""
    return dataclasses.replace(
        small_config, num_hidden_layers=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )


@pytest.fixture
def take_on_jax(undropped, tmp_path):
    """A function of a record file, first weights and names of variants, to what the program prints."""

    def take(path, weights, *variants, config=undropped, number=STEPS):
        np.savez(tmp_path / "weights.npz", **weights)
        arguments = [path, json.dumps(config.to_dict()), str(tmp_path / "weights.npz"), str(number), *variants]
        done = subprocess.run(
            [sys.executable, PROGRAM, *arguments],
            env=os.environ | ON_JAX | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    return take


def first_weights(config):
    """The first weights of a model, by name."""
    keras.utils.set_random_seed(1)
    return {name: value.numpy() for name, value in named_weights(AlbertForPretraining(config)).items()}


def take_on_tensorflow(path, config, weights, number=STEPS):
    """(metrics of every step, weights at the end)."""
    strategy = make_strategy("one_device")
    with strategy.scope():
        model = AlbertForPretraining(config)
        for name, variable in named_weights(model).items():
            variable.assign(weights[name])
        optimizer = build_optimizer("lamb", WarmupPolynomialDecay(0.01, 40, 4))
        optimizer.build(list(named_weights(model).values()))
    runner = PretrainingSteps(strategy, model, optimizer, seed=1)
    iterator, progress, found = iter(make_dataset([path], 8, 16, 4, seed=3)), runner.start(), {}
    for step in range(number):
        progress, _, metrics, _ = runner.take(iterator, 1, progress)
        found[step + 1] = metrics.numpy().tolist()
    return found, {name: value.numpy() for name, value in named_weights(model).items()}


def furthest(metrics, theirs):
    """The largest difference of two series of metrics, over the steps of the second."""
    return max(abs(a - b) for step, values in theirs.items() for a, b in zip(metrics[int(step)], values, strict=True))


def test_the_steps_are_those_of_the_other_engine_on_any_devices(undropped, write_records, take_on_jax):
    path, weights = write_records("records", 50), first_weights(undropped)
    metrics, trained = take_on_tensorflow(path, undropped, weights)
    names = ("one device", "ten at a time", "four devices", "four devices, accumulation 2")
    names += ("constant graph", "remat, constant graph")
    found = take_on_jax(path, weights, *names)
    assert [found[name]["replicas"] for name in names] == [1, 1, 4, 4, 1, 1]
    for name in names:
        assert furthest(metrics, found[name]["metrics"]) < 1e-5, name
        for weight, values in trained.items():
            np.testing.assert_allclose(found[name]["weights"][weight], values.ravel(), atol=1e-4, err_msg=weight)
    # Coming back to Python or not changes no bit.
    assert found["ten at a time"]["weights"] == found["one device"]["weights"]
    assert found["ten at a time"]["totals"] == found["one device"]["totals"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["albert_tiny", "albert_mini"])
def test_fifty_steps_of_shipped_shapes(name, write_records, take_on_jax):
    config = dataclasses.replace(
        AlbertConfig.from_name(name), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    path, weights, number = write_records("records", 50), first_weights(config), 50
    metrics, _ = take_on_tensorflow(path, config, weights, number)
    names = ("one device", "four devices, accumulation 2", "remat, constant graph")
    found = take_on_jax(path, weights, *names, config=config, number=number)
    for variant in names:
        assert furthest(metrics, found[variant]["metrics"]) < 1e-5, variant


def test_a_step_that_is_not_finite_moves_nothing_and_ends_the_call(undropped, write_records, take_on_jax):
    path = Path(write_records("records", 50))
    messages = [message for _, message in read_records(str(path))]
    features = decode_example(messages[30])
    features["masked_lm_weights"] = np.array([np.nan] * 4, np.float32)
    messages[30] = encode_example(features)
    path.write_bytes(b"".join(map(frame, messages)))
    found = take_on_jax(str(path), first_weights(undropped), "one device", "ten at a time", "float16")
    one = found["one device"]
    # Twenty steps read every record three times, and a fourth time some.
    assert len(one["bad_steps"]) in (3, 4)
    assert np.isfinite(one["totals"]).all()
    assert found["ten at a time"]["bad_steps"] == one["bad_steps"]
    assert found["ten at a time"]["weights"] == one["weights"]
    assert found["float16"]["bad_steps"] == one["bad_steps"]
    assert furthest({int(step): values for step, values in one["metrics"].items()}, found["float16"]["metrics"]) < 0.1


def arguments_of(settings, **changes):
    """The command line of a run on JAX."""
    names = ("albert_config_file", "input_file", "output_dir", "init_checkpoint", "optimizer", "learning_rate")
    names += ("max_seq_length", "max_predictions_per_seq", "train_batch_size", "num_train_steps", "num_warmup_steps")
    names += ("save_checkpoints_steps", "log_steps", "random_seed")
    values = {name: getattr(settings, name) for name in names if getattr(settings, name) is not None} | changes
    return [sys.executable, "-m", "albert_tf.run_pretraining", "--backend=jax"] + [
        f"--{name}={value}" for name, value in values.items()
    ]


def start(settings, environment=None, **changes):
    """Starts a run on JAX."""
    return subprocess.Popen(
        arguments_of(settings, **changes),
        env=os.environ | ON_JAX | (environment or {}),
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def from_weights(settings, undropped, tmp_path):
    """Settings of a run of twelve steps without dropout, from given weights; a checkpoint every six."""
    undropped.to_json_file(str(tmp_path / "undropped.json"))
    (tmp_path / "weights").mkdir()
    write_weights(str(tmp_path / "weights"), undropped, first_weights(undropped), None)
    return dataclasses.replace(
        settings,
        albert_config_file=str(tmp_path / "undropped.json"),
        init_checkpoint=str(tmp_path / "weights"),
        save_checkpoints_steps=6,
        do_eval=False,
    )


def last_loss(settings, read_log):
    """The loss in a run's last report."""
    line = read_log(settings.output_dir)[-1]
    assert line["step"] == settings.num_train_steps
    return line["loss"]


def test_a_run_goes_on_on_the_other_engine(from_weights, read_log, tmp_path):
    whole = {name: dataclasses.replace(from_weights, output_dir=str(tmp_path / name)) for name in ("tensorflow", "jax")}
    run(whole["tensorflow"])
    end(start(whole["jax"]))
    losses = [last_loss(settings, read_log) for settings in whole.values()]
    for engine, before in (("tensorflow", whole["jax"]), ("jax", whole["tensorflow"])):
        rest = dataclasses.replace(from_weights, output_dir=str(tmp_path / f"rest on {engine}"))
        shutil.copytree(Path(before.output_dir, "checkpoint-00000006"), Path(rest.output_dir, "checkpoint-00000006"))
        if engine == "jax":
            assert "going on from step 6" in end(start(rest))
        else:
            run(rest)
        losses.append(last_loss(rest, read_log))
    assert max(losses) - min(losses) < 1e-5


def test_packed_rows_are_the_same_rows_on_both_engines(from_weights, write_unmasked_records, read_log, tmp_path):
    (path,) = write_unmasked_records("unmasked", 50)
    settings = dataclasses.replace(from_weights, input_file=path, pack_sequences=True)
    run(settings)
    on_jax = dataclasses.replace(settings, output_dir=str(tmp_path / "jax"))
    end(start(on_jax, pack_sequences="true"))
    assert abs(last_loss(settings, read_log) - last_loss(on_jax, read_log)) < 1e-5


# run_pretraining whose trial, however long it took, leaves room for twelve steps.
TWELVE_STEPS = """
from albert_tf.pretraining import time_budget
from albert_tf.run_pretraining import main

measure, time_budget._TRIAL_SECONDS = time_budget._measure, (0.2, 0.2)
time_budget._measure = lambda run, settings: (measure(run, settings), 60 * settings.train_minutes / 12.5)[1]
main()
"""


def test_a_run_of_minutes_is_the_run_of_as_many_steps(from_weights, read_weights, tmp_path):
    of_minutes = dataclasses.replace(from_weights, output_dir=str(tmp_path / "minutes"))
    flags = [each for each in arguments_of(of_minutes)[4:] if not each.startswith(("--num_train", "--num_warmup"))]
    command = [sys.executable, "-c", TWELVE_STEPS, "--backend=jax", "--train_minutes=100", *flags]
    command.append(f"--warmup_proportion={from_weights.num_warmup_steps / 12}")
    told = end(subprocess.Popen(command, env=os.environ | ON_JAX, stderr=subprocess.PIPE, text=True))
    assert f"so the run has 12 steps: {from_weights.num_warmup_steps} of warm-up" in told
    end(start(from_weights))
    planned = read_weights(from_weights.output_dir, 12)
    for name, value in read_weights(of_minutes.output_dir, 12).items():
        np.testing.assert_array_equal(value, planned[name], err_msg=name)


def start_together(settings, addresses):
    """Starts the processes of one run, at these addresses."""
    workers = [
        {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}})}
        for index in range(len(addresses))
    ]
    return [start(settings, worker) for worker in workers]


@pytest.mark.parametrize("number", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_several_processes_are_one_run(number, from_weights, read_log, free_addresses, tmp_path):
    one = dataclasses.replace(from_weights, output_dir=str(tmp_path / "one"))
    several = dataclasses.replace(from_weights, output_dir=str(tmp_path / "several"))
    end(start(one))
    told = [end(process) for process in start_together(several, free_addresses(number))]
    assert f"process 0 of {number}: waiting for the others" in told[0]
    assert abs(last_loss(one, read_log) - last_loss(several, read_log)) < 1e-5


@pytest.mark.slow
def test_processes_that_lose_one_stop_and_go_on_together(settings, read_weights, free_addresses, tmp_path):
    whole, killed = (
        dataclasses.replace(
            settings, output_dir=str(tmp_path / name), num_train_steps=240, save_checkpoints_steps=3, log_steps=1
        )
        for name in ("whole", "killed")
    )
    for process in start_together(whole, free_addresses(2)):
        end(process)
    first, other = start_together(killed, free_addresses(2))
    while first.poll() is None and log_size(killed) < 3000:
        time.sleep(0.002)
    other.kill()
    other.communicate()
    assert "another worker was lost" in first.communicate(timeout=300)[1].splitlines()[-1]
    assert first.returncode == 69
    told = [end(process) for process in start_together(killed, free_addresses(2))]
    assert "going on from step" in told[0]
    expected, found = (read_weights(run.output_dir, 240) for run in (whole, killed))
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def log_size(settings):
    """The bytes of a run's log, 0 where there is none yet."""
    path = Path(settings.output_dir, "train_log.jsonl")
    return path.stat().st_size if path.exists() else 0


def has_saved(settings):
    """Tells whether a run's folder has a whole checkpoint."""
    return any(Path(settings.output_dir).glob("checkpoint-????????"))


# Each start takes seconds.
@pytest.mark.parametrize("kills", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_a_run_killed_again_and_again_ends_with_the_same_bits(kills, settings, read_weights, tmp_path):
    last, rng = 48 * kills, random.Random(3)
    whole, killed = (
        dataclasses.replace(
            settings, output_dir=str(tmp_path / name), num_train_steps=last, save_checkpoints_steps=3, log_steps=1
        )
        for name in ("whole", "killed")
    )
    end(start(whole))
    for kill in range(kills):
        # The first may come before anything is saved; the run that is killed after it has something to go on from.
        wanted, process = log_size(killed) + rng.randrange(300, 20_000), start(killed)
        while process.poll() is None and (log_size(killed) < wanted or (kill > 0 and not has_saved(killed))):
            time.sleep(0.002)
        process.kill()
        process.communicate()
    assert "going on from step" in end(start(killed))
    expected, found = (read_weights(run.output_dir, last) for run in (whole, killed))
    assert expected.keys() == found.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
