"""The benchmarks run and print one JSON line with positive figures."""

import json
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("input_pipeline", ["--num_examples=400", "--max_seq_length=16", "--max_predictions_per_seq=4"]),
        ("data_creation", ["--max_seq_length=64", "--dupe_factor=2", "--repeats=1"]),
        ("train_step", ["--max_seq_length=16", "--train_batch_size=2", "--steps=1", "--repeats=2"]),
    ],
)
def test_a_benchmark_prints_one_json_line(name, arguments, small_config, tmp_path):
    if name == "train_step":
        small_config.to_json_file(str(tmp_path / "config.json"))
        arguments = [*arguments, f"--albert_config_file={tmp_path / 'config.json'}", "--max_predictions_per_seq=4"]
    command = [sys.executable, "-m", f"albert_tf.benchmarks.{name}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = done.stdout.splitlines()
    result = json.loads(line)
    assert result["benchmark"] == name
    assert all(value > 0 for value in result.values() if not isinstance(value, str))
