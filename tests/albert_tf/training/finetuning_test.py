"""Fine-tuning runs: what they learn and leave behind, that they go on exactly, and what several seeds add up to."""

import dataclasses
import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from albert_tf.errors import InputError
from albert_tf.export.saved_model import ExportSettings, export_saved_model
from albert_tf.models.finetuning import AlbertForSequenceClassification
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.training import checkpoints
from albert_tf.training.finetuning import format_results, run, summarise
from albert_tf.training.pretrained import load_pretrained

STEPS = 12


def test_a_run_learns_the_task_and_leaves_scores_and_predictions(finetuning_settings, read_log):
    settings = dataclasses.replace(
        finetuning_settings,
        num_train_steps=60,
        do_predict=True,
        save_checkpoints_steps=20,
        classifier_dropout_prob=0.3,
    )
    results = run(settings)
    assert results["scores"]["dev"]["accuracy"] > 0.9
    assert "accuracy" in format_results(results)
    with open(os.path.join(settings.output_dir, "results.json")) as file:
        assert json.load(file) == results
    assert all(os.path.exists(path) for path in results["predictions"])
    with open(os.path.join(settings.output_dir, "dev_predictions.jsonl")) as file:
        assert len(file.readlines()) == 22
    lines = [line for line in read_log(settings.output_dir) if line["kind"] == "train"]
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert 0 < min(line["tokens"] for line in lines) < 8 * 48
    model = load_pretrained(settings.output_dir)
    assert isinstance(model.model, AlbertForSequenceClassification)
    assert (model.task.name, model.task.labels, model.task.input_fields) == ("sst-2", ("0", "1"), ("text",))
    assert model.task.classifier_dropout_prob == 0.3


@pytest.mark.faults
def test_a_run_cut_off_ends_with_the_same_weights_and_scores(finetuning_settings, read_weights):
    run(dataclasses.replace(finetuning_settings, do_eval=False))
    weights = read_weights(finetuning_settings.output_dir)
    settings = dataclasses.replace(
        finetuning_settings, keep_checkpoint_max=0, output_dir=finetuning_settings.output_dir + "2"
    )
    whole = run(settings)
    for name, value in read_weights(settings.output_dir).items():
        np.testing.assert_array_equal(value, weights[name], err_msg=name)
    # And taken up at step 8, without the last checkpoint.
    shutil.rmtree(os.path.join(settings.output_dir, "checkpoint-00000012"))
    again = run(settings)
    for name, value in read_weights(settings.output_dir).items():
        np.testing.assert_array_equal(value, weights[name], err_msg=name)
    assert again["scores"] == whole["scores"]


@pytest.mark.slow
def test_the_best_checkpoint_is_kept_and_scored(finetuning_settings, read_log):
    settings = dataclasses.replace(finetuning_settings, save_checkpoints_steps=2, learning_rate=0.01)
    results = run(settings)
    by_step = {line["step"]: line["accuracy"] for line in read_log(settings.output_dir) if line["kind"] == "eval"}
    best = max(by_step, key=lambda step: (by_step[step], -step))
    assert results["step"] == best
    assert results["scores"]["dev"]["accuracy"] == by_step[best]
    left = sorted(name for name in os.listdir(settings.output_dir) if name.startswith("checkpoint-"))
    assert left == sorted({f"checkpoint-{best:08d}", f"checkpoint-{STEPS:08d}"})


def test_checkpoints_of_a_training_without_evaluation_are_all_scored_later(finetuning_settings):
    settings = dataclasses.replace(
        finetuning_settings, do_eval=False, keep_checkpoint_max=0, save_checkpoints_steps=6, learning_rate=0.01
    )
    run(settings)
    later = dataclasses.replace(settings, do_train=False, do_eval=True)
    alone = {}
    for step in (6, 12):
        folder = os.path.join(settings.output_dir, f"checkpoint-{step:08d}")
        elsewhere = dataclasses.replace(later, init_checkpoint=folder, output_dir=f"{settings.output_dir}-{step}")
        alone[step] = run(elsewhere)["scores"]["dev"]["accuracy"]
    results = run(later)
    best = max(alone, key=lambda step: (alone[step], -step))
    assert (results["step"], results["scores"]["dev"]["accuracy"]) == (best, alone[best])
    evaluations = [
        checkpoints.read_evaluation(folder) for folder in checkpoints.CheckpointFolder(later.output_dir).all()
    ]
    assert [evaluation["accuracy"] for evaluation in evaluations] == list(alone.values())


@pytest.mark.slow
def test_patience_ends_a_run_that_gets_no_better_and_it_stays_ended(finetuning_settings, read_log):
    settings = dataclasses.replace(
        finetuning_settings, learning_rate=1e-12, save_checkpoints_steps=2, early_stopping_patience=2
    )
    results = run(settings)
    assert results["step"] == 2
    assert [line["step"] for line in read_log(settings.output_dir) if line["kind"] == "eval"] == [2, 4, 6]
    assert run(settings)["step"] == 2
    assert [line["step"] for line in read_log(settings.output_dir) if line["kind"] == "train"][-1] == 6


@pytest.mark.slow
def test_seeds_run_in_folders_of_their_own_and_only_once(finetuning_settings, caplog, read_weights):
    settings = dataclasses.replace(finetuning_settings, num_seeds=2, num_train_steps=2)
    results = run(settings)
    assert [one["random_seed"] for one in results["seeds"]] == [1, 2]
    scores = [one["scores"]["dev"]["accuracy"] for one in results["seeds"]]
    assert results["scores"]["dev"]["accuracy"] == pytest.approx(np.mean(scores))
    first, second = (read_weights(os.path.join(settings.output_dir, f"seed-{seed}"), 2) for seed in (1, 2))
    assert np.abs(first["classifier/kernel"] - second["classifier/kernel"]).max() > 1e-3
    shutil.rmtree(os.path.join(settings.output_dir, "seed-2"))
    caplog.set_level(logging.INFO, logger="absl")
    again = run(settings)
    assert [one["scores"] for one in again["seeds"]] == [one["scores"] for one in results["seeds"]]
    told = [record.getMessage() for record in caplog.records if "is done already" in record.getMessage()]
    assert [line.split(" is done")[0] for line in told] == ["seed 1"]
    table = format_results(results)
    assert table.splitlines()[-1].split()[:2] == ["dev,", "spread"]


def test_median_best_and_spread_by_hand():
    results = [
        {"task_name": "t", "random_seed": seed, "checkpoint": str(seed), "scores": {"dev": {"f1": f1, "loss": 1 - f1}}}
        for seed, f1 in ((1, 0.5), (2, 0.9), (3, 0.6))
    ]
    summary = summarise(results, "f1")
    assert (summary["best_seed"], summary["checkpoint"]) == (2, "2")
    assert summary["scores"] == {"dev": {"f1": 0.6, "loss": 0.4}}
    assert summary["best"] == {"dev": {"f1": 0.9, "loss": pytest.approx(0.1)}}
    assert summary["spread"] == {"dev": {"f1": pytest.approx(0.4), "loss": pytest.approx(0.4)}}


@pytest.mark.slow
def test_padded_batches_give_the_same_predictions(finetuning_settings):
    run(finetuning_settings)
    paths = []
    for pad in (False, True):
        settings = dataclasses.replace(
            finetuning_settings,
            do_train=False,
            pad_to_max_length=pad,
            init_checkpoint=finetuning_settings.output_dir,
            output_dir=f"{finetuning_settings.output_dir}-{pad}",
        )
        run(settings)
        paths.append(os.path.join(settings.output_dir, "dev_predictions.jsonl"))
    bucketed, padded = ([json.loads(line) for line in Path(path).read_text().splitlines()] for path in paths)
    for one, other in zip(bucketed, padded, strict=True):
        assert one["probabilities"]["0"] == pytest.approx(other["probabilities"]["0"], abs=1e-5)


@pytest.mark.slow
def test_a_head_is_only_taken_from_a_checkpoint_of_the_same_task(
    finetuning_settings, small_config, tmp_path, caplog, read_weights
):
    pretrained = AlbertForPretraining(dataclasses.replace(small_config, vocab_size=60, max_position_embeddings=48))
    folder = tmp_path / "pretrained"
    folder.mkdir()
    weights = {name: variable.numpy() for name, variable in named_weights(pretrained).items()}
    checkpoints.write_weights(str(folder), pretrained.config, weights, None)
    caplog.set_level(logging.INFO, logger="absl")
    untrained = dataclasses.replace(finetuning_settings, do_train=False, init_checkpoint=str(folder))
    with pytest.raises(InputError, match="was only pre-trained; give --do_train"):
        run(untrained)
    settings = dataclasses.replace(
        finetuning_settings, num_train_steps=1, learning_rate=1e-12, init_checkpoint=str(folder)
    )
    run(settings)
    told = [record.getMessage() for record in caplog.records if record.getMessage().endswith(": a pre-training head")]
    assert "left out, " in told[-1] and "masked_lm/" in told[-1]
    tuned = read_weights(settings.output_dir, 1)
    for name in ("albert/pooler/kernel", "albert/embeddings/word_embeddings"):
        np.testing.assert_allclose(tuned[name], weights[name], atol=1e-6)
    # The same task again takes the head along; another seed does not matter then.
    more = dataclasses.replace(
        settings, init_checkpoint=settings.output_dir, output_dir=settings.output_dir + "2", random_seed=5
    )
    run(more)
    np.testing.assert_allclose(
        read_weights(more.output_dir, 1)["classifier/kernel"], tuned["classifier/kernel"], atol=1e-6
    )


@pytest.mark.slow
def test_the_exported_run_says_in_a_fresh_process_what_the_evaluation_said(finetuning_settings, tmp_path):
    run(finetuning_settings)
    saved = str(tmp_path / "saved_model")
    export_saved_model(ExportSettings(init_checkpoint=finetuning_settings.output_dir, output_dir=saved))
    dev = Path(finetuning_settings.data_dir, "dev.tsv").read_text()
    table = tmp_path / "dev.tsv"
    table.write_text(dev.replace("sentence\t", "text\t", 1))
    command = [sys.executable, "-m", "albert_tf.predict", f"--saved_model={saved}", f"--input_file={table}"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    evaluated = Path(finetuning_settings.output_dir, "dev_predictions.jsonl").read_text().splitlines()
    assert len(lines) == len(evaluated) == 22
    for line, wanted in zip(map(json.loads, lines), map(json.loads, evaluated), strict=True):
        assert line["label"] == wanted["prediction"]
        assert line["probabilities"] == pytest.approx(wanted["probabilities"], abs=1e-5)


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"num_seeds": 0}, "--num_seeds must be at least 1"),
        ({"do_train": False, "do_eval": False}, "at least one of --do_train, --do_eval and --do_predict"),
        ({"early_stopping_patience": 1, "do_eval": False}, "--early_stopping_patience goes by"),
        ({"layerwise_learning_rate_decay": 0.0}, r"must lie in \(0, 1\]"),
        ({"hidden_dropout_prob": 1.0}, "--hidden_dropout_prob must lie in"),
        ({"num_train_steps": 0}, "--num_train_steps must be at least 1"),
        ({"num_train_epochs": 0.0}, "--num_train_epochs must be above 0"),
        ({"train_batch_size": 0}, "--train_batch_size must be at least 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(finetuning_settings, changes, match):
    with pytest.raises(InputError, match=match):
        dataclasses.replace(finetuning_settings, **changes)


def test_epochs_and_warm_up_become_steps(finetuning_settings):
    settings = dataclasses.replace(
        finetuning_settings, num_train_steps=None, num_warmup_steps=None, num_train_epochs=2.5
    )
    assert settings.steps_for(60) == 20
    assert settings.warmup_for(20) == 2
    assert dataclasses.replace(settings, warmup_proportion=0.3).warmup_for(33) == 9
    with pytest.raises(InputError, match="--warmup_proportion must lie in"):
        dataclasses.replace(settings, warmup_proportion=1.0)
    assert finetuning_settings.steps_for(60) == STEPS
