"""Fine-tuning on JAX by two processes: one run, whose steps, predictions and scores are those of a single process."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jax_runs import ON_JAX, end

from albert_tf.config import AlbertConfig

pytestmark = [pytest.mark.parity, pytest.mark.slow]
pytest.importorskip("jax", reason="jax is not installed: the extra [jax]")


def start(settings, output_dir, environment):
    """Starts a run on JAX."""
    names = ("task_name", "data_dir", "albert_config_file", "spm_model_file", "learning_rate", "log_steps")
    names += ("train_batch_size", "eval_batch_size", "num_train_steps", "num_warmup_steps", "save_checkpoints_steps")
    names += ("random_seed", "num_workers")
    flags = [f"--{name}={getattr(settings, name)}" for name in names]
    flags += [
        "--backend=jax",
        "--do_train",
        "--do_eval",
        "--do_predict",
        "--max_seq_length=48",
        "--classifier_dropout_prob=0",
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "albert_tf.run_finetuning", *flags, f"--output_dir={output_dir}"],
        env=os.environ | ON_JAX | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_fine_tune_as_one(finetuning_settings, free_addresses, read_log, tmp_path):
    path = Path(finetuning_settings.albert_config_file)
    config = AlbertConfig.from_json_file(str(path))
    # Each process draws masks of its own.
    dataclasses.replace(config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0).to_json_file(str(path))
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    end(start(finetuning_settings, one, {}))
    addresses = free_addresses(2)
    clusters = [
        {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}})}
        for index in range(2)
    ]
    told = [end(process) for process in [start(finetuning_settings, two, cluster) for cluster in clusters]]
    assert "process 0 of 2: waiting for the others" in told[0]
    losses, scores, predictions = [], [], []
    for folder in (one, two):
        lines = [line for line in read_log(folder) if "loss" in line]
        assert lines[-1]["step"] == finetuning_settings.num_train_steps
        losses.append(lines[-1]["loss"])
        scores.append(json.loads(Path(folder, "results.json").read_text())["scores"])
        predictions.append(Path(folder, "SST-2.tsv").read_text())
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
    assert scores[0] == scores[1]
    assert predictions[0] == predictions[1]
