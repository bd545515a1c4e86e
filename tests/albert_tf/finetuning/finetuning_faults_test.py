"""The fine-tuning command, killed or asked to stop: resumed, it ends with the same weights and scores."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from absl import flags

from albert_tf import run_finetuning
from albert_tf.checkpoints.tensor_files import load_tensors
from albert_tf.runtime.command import EXIT_STOPPED

pytestmark = pytest.mark.faults

STEPS = 60


@pytest.fixture
def command(finetuning_settings):
    """A function that makes the command line of a run with a different output_dir."""
    settings = dataclasses.replace(
        finetuning_settings, num_train_steps=STEPS, save_checkpoints_steps=10, log_steps=5, learning_rate=0.002
    )

    def make(output_dir):
        given = dataclasses.asdict(dataclasses.replace(settings, output_dir=str(output_dir)))
        known = flags.FlagValues()
        run_finetuning.define_flags(known)
        words = [f"--{name}={value}" for name, value in given.items() if name in known and value is not None]
        return [sys.executable, "-m", "albert_tf.run_finetuning", "--max_seq_length=48", *words]

    return make


def _scores(output_dir) -> dict:
    return json.loads((output_dir / "results.json").read_text())["scores"]


def _final(output_dir) -> dict[str, np.ndarray]:
    folder = output_dir / f"checkpoint-{STEPS:08d}"
    return load_tensors(str(folder / "model")) | load_tensors(str(folder / "optimizer"))


def _wait_for_step(output_dir: Path, process, step: int) -> None:
    log = output_dir / "train_log.jsonl"
    while process.poll() is None:
        steps = [json.loads(line)["step"] for line in log.read_text().splitlines()] if log.exists() else [0]
        if max(steps, default=0) >= step:
            return
        time.sleep(0.02)
    raise AssertionError("the run ended before it could be stopped")


def test_a_run_killed_and_told_to_stop_ends_as_one_that_was_not(command, tmp_path):
    subprocess.run(command(tmp_path / "whole"), check=True, stdout=subprocess.DEVNULL)
    cut = tmp_path / "cut"
    for step, number in ((15, signal.SIGKILL), (35, signal.SIGTERM)):
        process = subprocess.Popen(command(cut), stdout=subprocess.DEVNULL)
        _wait_for_step(cut, process, step)
        os.kill(process.pid, number)
        code = process.wait()
        assert code == (-signal.SIGKILL if number == signal.SIGKILL else EXIT_STOPPED)
        assert not (cut / "results.json").exists()
    table = subprocess.run(command(cut), check=True, capture_output=True, text=True).stdout
    assert table.splitlines()[0].split() == ["accuracy"]
    whole = _final(tmp_path / "whole")
    for name, value in _final(cut).items():
        np.testing.assert_array_equal(value, whole[name], err_msg=name)
    assert _scores(cut) == _scores(tmp_path / "whole")
