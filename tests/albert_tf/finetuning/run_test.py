"""Fine-tuning runs: what they learn and write, that they resume exactly, and what their export says."""

import dataclasses
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from albert_tf.checkpoints.newest_state import newest_state
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.exports.saved_model import export_saved_model
from albert_tf.exports.settings import ExportSettings
from albert_tf.finetuning.finetune import run
from albert_tf.finetuning.model_source import describe_origins
from albert_tf.finetuning.summary import format_results
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.reports.run_folder import read_run
from albert_tf.runtime.errors import InputError


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


@pytest.mark.slow
@pytest.mark.parametrize("is_its_own", [True, False])
def test_a_run_does_not_predict_texts_of_another_vocabulary(finetuning_settings, train_pieces, tmp_path, is_its_own):
    settings = dataclasses.replace(finetuning_settings, num_train_steps=1, num_warmup_steps=0)
    run(settings)
    words = [first + vowel + second + vowel for first in "prst" for second in "vwxyz" for vowel in "aeiou"]
    rng = random.Random(1)
    other = train_pieces([" ".join(rng.choices(words, k=8)) for _ in range(400)], vocab_size=60)
    changes = {} if is_its_own else {"init_checkpoint": settings.output_dir, "output_dir": str(tmp_path / "other")}
    with pytest.raises(InputError, match="made with another vocabulary"):
        run(dataclasses.replace(settings, do_train=False, do_predict=True, spm_model_file=other, **changes))
    assert not os.path.exists(tmp_path / "other" / "results.json")


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
    # And resumed at step 8, without the last checkpoint.
    shutil.rmtree(os.path.join(settings.output_dir, "checkpoint-00000012"))
    again = run(settings)
    for name, value in read_weights(settings.output_dir).items():
        np.testing.assert_array_equal(value, weights[name], err_msg=name)
    assert again["scores"] == whole["scores"]


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


@pytest.mark.slow
def test_a_run_that_python_began_leaves_its_flags_and_tells_of_changed_ones(finetuning_settings, caplog):
    settings = dataclasses.replace(finetuning_settings, num_train_steps=2, do_eval=False, resolved_flags="")
    run(settings)
    assert Path(settings.output_dir, "run_finetuning.flags").read_text() == settings.to_flags()
    shown = read_run(settings.output_dir).settings
    assert (shown.value("max_seq_length"), shown.value("learning_rate")) == (48, 0.003)
    run(dataclasses.replace(settings, num_train_steps=3, learning_rate=0.001))
    assert "--num_train_steps was 2, is 3 now; --learning_rate was 0.003, is 0.001 now" in caplog.text


@pytest.mark.slow
def test_a_run_notes_the_weights_it_started_from_and_tells_of_others(finetuning_settings, tmp_path, caplog):
    first, other = str(tmp_path / "first"), dataclasses.replace(finetuning_settings, random_seed=2)
    short = {"num_train_steps": 1, "num_warmup_steps": 0, "do_eval": False}
    run(dataclasses.replace(finetuning_settings, output_dir=first, **short))
    settings = dataclasses.replace(finetuning_settings, init_checkpoint=first, **short)
    run(settings)
    noted = newest_state(settings.output_dir).init_sha256
    # A score that comes later is nothing to those who start from the weights.
    run(dataclasses.replace(finetuning_settings, output_dir=first, do_train=False, do_eval=True))
    assert describe_origins(settings) == {"init_sha256": noted, "teacher_files": []}
    shutil.rmtree(first)
    run(dataclasses.replace(other, output_dir=first, **short))
    assert "other weights lie at --init_checkpoint" not in caplog.text
    run(dataclasses.replace(settings, num_train_steps=2))
    assert "other weights lie at --init_checkpoint than this run started from; its own, of step 1, go on" in caplog.text
    # It is still a run from the former ones.
    assert newest_state(settings.output_dir).init_sha256 == noted != describe_origins(settings)["init_sha256"]
