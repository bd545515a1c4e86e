"""A run killed for good at any moment, and a disk that fills up: nothing is lost but the steps since a checkpoint."""

import os
import random
import subprocess
import sys
import time

import numpy as np
import pytest

from albert_tf.training import checkpoints
from albert_tf.training.tensor_files import load_tensors

pytestmark = pytest.mark.faults

STEPS = 60


@pytest.fixture
def command(write_records, small_config, tmp_path):
    """A function that makes the command line of a run into a folder."""
    config_file = str(tmp_path / "config.json")
    small_config.to_json_file(config_file)
    records = write_records("train", 300)

    def make(output_dir, *more):
        return [
            *(sys.executable, "-m", "albert_tf.run_pretraining", f"--albert_config_file={config_file}"),
            *(f"--input_file={records}", f"--output_dir={output_dir}", "--max_seq_length=16"),
            *("--max_predictions_per_seq=4", "--train_batch_size=8", f"--num_train_steps={STEPS}"),
            *("--num_warmup_steps=5", "--learning_rate=0.01", "--save_checkpoints_steps=3", "--log_steps=1", *more),
        ]

    return make


def _final(output_dir):
    folder = os.path.join(output_dir, f"checkpoint-{STEPS:08d}")
    return load_tensors(os.path.join(folder, "model")) | load_tensors(os.path.join(folder, "optimizer"))


def test_a_run_killed_at_random_moments_ends_with_the_same_weights(command, tmp_path):
    subprocess.run(command(tmp_path / "whole"), check=True, capture_output=True)
    expected = _final(tmp_path / "whole")
    killed, rng = str(tmp_path / "killed"), random.Random(5)
    log = os.path.join(killed, "train_log.jsonl")
    for _ in range(4):
        run = subprocess.Popen(command(killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = os.path.getsize(log) if os.path.exists(log) else 0
        while run.poll() is None and (not os.path.exists(log) or os.path.getsize(log) <= before):
            time.sleep(0.05)
        # From the first report on, somewhere among steps and checkpoints of a few milliseconds each.
        time.sleep(rng.uniform(0, 0.4))
        run.kill()
        run.wait()
    subprocess.run(command(killed), check=True, capture_output=True)
    for name, value in _final(killed).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def test_a_full_disk_is_one_line_and_keeps_the_checkpoints_before(command, small_disk):
    output_dir = os.path.join(small_disk, "run")
    subprocess.run(command(output_dir, "--num_train_steps=3"), check=True, capture_output=True)
    with open(os.path.join(small_disk, "filler"), "wb") as filler, pytest.raises(OSError, match="No space left"):
        while True:
            filler.write(b"\0" * 65536)
            filler.flush()
    done = subprocess.run(command(output_dir), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr.splitlines()[-1]
    assert [os.path.basename(path) for path in checkpoints.CheckpointFolder(output_dir).all()] == [
        "checkpoint-00000003"
    ]


def test_an_output_that_cannot_be_written_is_one_line(command, tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run(command(tmp_path / "file" / "run"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("run_pretraining: ")
    assert "Not a directory" in done.stderr.splitlines()[-1]
