"""A run killed at any moment, asked to stop, or short of disk: nothing is lost but the steps since a checkpoint."""

import dataclasses
import json
import logging
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.tensor_files import load_tensors
from albert_tf.runtime.command import EXIT_STOPPED, EXIT_WORKER_LOST

pytestmark = pytest.mark.faults

STEPS = 60
KILLS = 30


@pytest.fixture
def settings(settings, write_records, small_config):
    """Settings of a run that takes some tenths of a second after its start, with dropout."""
    dataclasses.replace(small_config, num_hidden_layers=1).to_json_file(settings.albert_config_file)
    return dataclasses.replace(
        settings,
        input_file=write_records("train", 300),
        num_train_steps=STEPS,
        num_warmup_steps=5,
        save_checkpoints_steps=3,
        log_steps=1,
    )


@pytest.fixture
def command(settings):
    """A function that makes the command line of that run, with changes."""

    def make(**changes):
        changed = dataclasses.replace(settings, **changes)
        names = ("resolved_flags", "tpu")
        given = {name: value for name, value in dataclasses.asdict(changed).items() if name not in names}
        flags = [f"--{name}={value}" for name, value in given.items() if value is not None]
        return [sys.executable, "-m", "albert_tf.run_pretraining", *flags]

    return make


def _final(output_dir, steps=STEPS):
    folder = os.path.join(output_dir, f"checkpoint-{steps:08d}")
    return load_tensors(os.path.join(folder, "model")) | load_tensors(os.path.join(folder, "optimizer"))


def _assert_same(output_dir, expected, steps=STEPS):
    for name, value in _final(output_dir, steps).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def _run_quietly(settings):
    """The whole run, in a process of its own."""
    logging.disable(logging.CRITICAL)
    from albert_tf.pretraining.pretrain import run

    run(settings)


@pytest.fixture
def start():
    """A function that starts a run in a new process, forked from one that has imported TensorFlow but not used it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["albert_tf.pretraining.pretrain"])

    def begin(settings):
        process = context.Process(target=_run_quietly, args=(settings,))
        process.start()
        return process

    return begin


def _half_written(output_dir):
    """True while a checkpoint is being written."""
    if not os.path.isdir(output_dir):
        return False
    folders = [entry.path for entry in os.scandir(output_dir) if entry.name.startswith("checkpoint-")]
    return any(not os.path.exists(os.path.join(folder, "checkpoint.json")) for folder in folders)


def _wait_for_moment(kind, output_dir, process, rng):
    """Waits until a run is to be killed: any time from its start on, among its steps, or while it writes."""
    log = os.path.join(output_dir, "train_log.jsonl")
    if kind == "any":
        process.join(rng.uniform(0, 6))
        return
    before = os.path.getsize(log) if os.path.exists(log) else 0
    while process.is_alive() and (not os.path.exists(log) or os.path.getsize(log) < before + 700):
        time.sleep(0.002)
    process.join(rng.uniform(0, 0.3))
    while kind == "writing" and process.is_alive() and not _half_written(output_dir):
        pass


def test_a_run_killed_at_30_moments_ends_with_the_same_weights(settings, start, tmp_path):
    whole = start(settings)
    whole.join()
    assert whole.exitcode == 0
    expected, rng = _final(settings.output_dir), random.Random(5)
    kills, completed, half_written = 0, 0, 0
    while kills < KILLS or not completed:
        killed = dataclasses.replace(settings, output_dir=str(tmp_path / f"killed-{completed}"))
        process = start(killed)
        if kills < KILLS:
            _wait_for_moment(("any", "step", "writing")[kills % 3], killed.output_dir, process, rng)
            process.kill()
        process.join()
        if process.exitcode == 0:
            _assert_same(killed.output_dir, expected)
            completed += 1
        else:
            assert process.exitcode == -signal.SIGKILL
            kills += 1
            half_written += _half_written(killed.output_dir)
    assert half_written >= KILLS // 10
    last = dataclasses.replace(settings, output_dir=str(tmp_path / f"killed-{completed}"))
    if os.path.isdir(last.output_dir):
        process = start(last)
        process.join()
        _assert_same(last.output_dir, expected)


def test_a_signal_saves_within_seconds_and_the_run_goes_on_from_there(command, tmp_path):
    steps = 400
    plan = {"num_train_steps": steps, "save_checkpoints_steps": 10**6, "iterations_per_loop": 10**6, "log_steps": 10}
    log = tmp_path / "cut" / "train_log.jsonl"
    for number in (signal.SIGTERM, signal.SIGINT):
        run = subprocess.Popen(command(**plan, output_dir=tmp_path / "cut"), stderr=subprocess.PIPE, text=True)
        before = log.stat().st_size if log.exists() else 0
        while not log.exists() or log.stat().st_size < before + 1500:
            assert run.poll() is None, run.stderr.read()
            time.sleep(0.01)
        began = time.monotonic()
        run.send_signal(number)
        _, errors = run.communicate(timeout=60)
        assert run.returncode == EXIT_STOPPED
        assert time.monotonic() - began < 30
        assert f"stopped by {signal.Signals(number).name}; step" in errors.splitlines()[-1]
        saved = run_checkpoints.CheckpointFolder(str(tmp_path / "cut")).all()[-1]
        assert 0 < run_checkpoints.read_state(saved).step < steps
    subprocess.run(command(**plan, output_dir=tmp_path / "cut"), check=True, capture_output=True)
    subprocess.run(command(**plan, output_dir=tmp_path / "whole"), check=True, capture_output=True)
    _assert_same(str(tmp_path / "cut"), _final(str(tmp_path / "whole"), steps), steps)


def test_a_lost_worker_stops_the_other_and_a_restart_brings_the_same_losses(command, free_addresses, tmp_path):
    plan = {"num_train_steps": 400, "save_checkpoints_steps": 40, "log_steps": 1}

    def begin(output_dir):
        addresses, workers = free_addresses(2), []
        for index in range(2):
            setting = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            environment = {**os.environ, "TF_CONFIG": json.dumps(setting)}
            arguments = command(**plan, output_dir=output_dir)
            workers.append(subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True))
        return workers

    def losses(output_dir):
        with open(output_dir / "train_log.jsonl") as file:
            return {line["step"]: line["loss"] for line in map(json.loads, file) if line["kind"] == "train"}

    assert [worker.wait() for worker in begin(tmp_path / "whole") if worker.communicate()] == [0, 0]
    for lost in (1, 0):
        workers = begin(tmp_path / "cut")
        log = tmp_path / "cut" / "train_log.jsonl"
        before = log.stat().st_size if log.exists() else 0
        while not log.exists() or log.stat().st_size < before + 30_000:
            assert [worker.poll() for worker in workers] == [None, None]
            time.sleep(0.01)
        workers[lost].kill()
        _, errors = workers[1 - lost].communicate(timeout=120)
        assert workers[1 - lost].returncode == EXIT_WORKER_LOST, errors
        assert "another worker was lost" in errors.splitlines()[-1]
        workers[lost].communicate()
    assert [worker.wait() for worker in begin(tmp_path / "cut") if worker.communicate()] == [0, 0]
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    _assert_same(str(tmp_path / "cut"), _final(str(tmp_path / "whole"), 400), 400)


def test_a_full_disk_is_one_line_and_keeps_the_checkpoints_before(command, small_disk):
    output_dir = os.path.join(small_disk, "run")
    short = command(output_dir=output_dir, num_train_steps=3, num_warmup_steps=1)
    subprocess.run(short, check=True, capture_output=True)
    with open(os.path.join(small_disk, "filler"), "wb") as filler, pytest.raises(OSError, match="No space left"):
        while True:
            filler.write(b"\0" * 65536)
            filler.flush()
    done = subprocess.run(command(output_dir=output_dir), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr.splitlines()[-1]
    assert [os.path.basename(path) for path in run_checkpoints.CheckpointFolder(output_dir).all()] == [
        "checkpoint-00000003"
    ]


def test_an_output_that_cannot_be_written_is_one_line(command, tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run(command(output_dir=tmp_path / "file" / "run"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("run_pretraining: ")
    assert "Not a directory" in done.stderr.splitlines()[-1]


def test_of_two_runs_in_one_folder_the_second_is_refused_and_the_first_goes_on(command, tmp_path):
    plan = {"num_train_steps": 400, "save_checkpoints_steps": 40, "output_dir": tmp_path / "run"}
    log = tmp_path / "run" / "train_log.jsonl"
    with subprocess.Popen(command(**plan), stderr=subprocess.PIPE, text=True) as first:
        try:
            while not log.exists():
                assert first.poll() is None, first.stderr.read()
                time.sleep(0.01)
            # Stopped, so that it is there for certain when the second one comes.
            first.send_signal(signal.SIGSTOP)
            second = subprocess.run(command(**plan), capture_output=True, text=True, check=False)
            assert second.returncode == EXIT_STOPPED
            assert f"is in use by process {first.pid} on " in second.stderr.splitlines()[-1]
            first.send_signal(signal.SIGCONT)
            _, errors = first.communicate(timeout=120)
            assert first.returncode == 0, errors
        finally:
            first.kill()
    assert run_checkpoints.read_state(run_checkpoints.CheckpointFolder(str(tmp_path / "run")).all()[-1]).step == 400
    assert not (tmp_path / "run" / "run.lock").exists()
