"""Fine-tuning runs: what they learn and write, that they resume exactly, and what several seeds add up to."""

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

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.pretrained import initialise_finetuning, load_pretrained
from albert_tf.finetuning import results as finetuning_results
from albert_tf.finetuning.data import FinetuningData
from albert_tf.finetuning.evaluation import predict_split
from albert_tf.finetuning.finetune import format_results, run, summarise
from albert_tf.finetuning.run import head_dropout
from albert_tf.models.finetuning import AlbertForSequenceClassification
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError
from albert_tf.serving.saved_model import ExportSettings, export_saved_model
from albert_tf.tasks.registry import make_task
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.tokenizer import AlbertTokenizer

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
    # And resumed at step 8, without the last checkpoint.
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


@pytest.mark.slow
def test_checkpoints_of_a_training_without_evaluation_are_all_scored_later(finetuning_settings):
    settings = dataclasses.replace(
        finetuning_settings, do_eval=False, keep_checkpoint_max=0, save_checkpoints_steps=4, num_train_steps=60
    )
    run(settings)
    results = run(dataclasses.replace(settings, do_train=False, do_eval=True))
    folders = run_checkpoints.CheckpointFolder(settings.output_dir).all()
    scores = {run_checkpoints.step_of(path): run_checkpoints.read_evaluation(path)["accuracy"] for path in folders}
    assert list(scores) == list(range(4, 61, 4))
    assert len(set(scores.values())) > 1
    best = max(scores, key=scores.get)
    assert (results["step"], results["scores"]["dev"]["accuracy"]) == (best, scores[best])


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
    run_checkpoints.write_weights(str(folder), pretrained.config, weights, None)
    caplog.set_level(logging.INFO, logger="absl")
    untrained = dataclasses.replace(finetuning_settings, do_train=False, init_checkpoint=str(folder))
    with pytest.raises(InputError, match="was only pre-trained; give --do_train"):
        run(untrained)
    settings = dataclasses.replace(
        finetuning_settings, num_train_steps=1, num_warmup_steps=0, learning_rate=1e-12, init_checkpoint=str(folder)
    )
    run(settings)
    told = [record.getMessage() for record in caplog.records if record.getMessage().endswith(": a pre-training head")]
    assert "left out, " in told[-1] and "masked_lm/" in told[-1]
    tuned = read_weights(settings.output_dir, 1)
    for name in ("albert/pooler/kernel", "albert/embeddings/word_embeddings"):
        np.testing.assert_allclose(tuned[name], weights[name], atol=1e-6)
    # The same task keeps the head; a different seed does not matter then.
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
        ({"num_train_epochs": 0.0}, "--num_train_epochs must be a number above 0"),
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


def test_a_checkpoint_comes_each_epoch_unless_epochs_are_long_or_many(finetuning_settings):
    settings = dataclasses.replace(finetuning_settings, num_train_steps=None, save_checkpoints_steps=None)
    assert settings.saving_for(60) == 8
    assert settings.saving_for(100_000) == 1000
    assert dataclasses.replace(settings, num_train_epochs=500).saving_for(60) == 10 * 8
    assert finetuning_settings.saving_for(60) == 4


def test_a_head_is_shared_by_checkpoints_of_one_task_alone():
    cola = FinetunedTask("classification", 2, ("0", "1"), "cola")
    assert cola.shares_head_with(dataclasses.replace(cola, input_fields=("text",)))
    assert not cola.shares_head_with(dataclasses.replace(cola, name="sst-2"))
    assert not cola.shares_head_with(dataclasses.replace(cola, labels=("no", "yes")))
    assert not cola.shares_head_with(dataclasses.replace(cola, head="multi_label"))
    # Checkpoints of other code know no name, and perhaps no classes.
    assert cola.shares_head_with(FinetunedTask("classification", 2))
    mnli = FinetunedTask("classification", 3, ("a", "b", "c"), "mnli")
    assert mnli.shares_head_with(dataclasses.replace(mnli, name="ax"))
    assert not mnli.shares_head_with(FinetunedTask("classification", 2))


@pytest.fixture
def head_of_another_task(finetuning_settings):
    """Settings of wnli, which start from a run of sst-2; both call their classes 0 and 1."""
    one_step = {"num_train_steps": 1, "num_warmup_steps": 0, "do_eval": False}
    run(dataclasses.replace(finetuning_settings, classifier_dropout_prob=0.3, **one_step))
    folder = Path(finetuning_settings.data_dir).parent / "wnli"
    folder.mkdir()
    for split in ("train", "dev"):
        (folder / f"{split}.tsv").write_text("index\tsentence1\tsentence2\tlabel\n0\tba\tbe\t0\n1\tki\tko\t1\n")
    return dataclasses.replace(
        finetuning_settings,
        task_name="wnli",
        data_dir=str(folder),
        init_checkpoint=finetuning_settings.output_dir,
        output_dir=str(folder / "run"),
        learning_rate=1e-12,
        random_seed=7,
        **one_step,
    )


@pytest.mark.slow
def test_the_head_of_another_task_starts_afresh_though_its_classes_have_the_same_names(
    head_of_another_task, finetuning_settings, read_weights, caplog
):
    caplog.set_level(logging.INFO, logger="absl")
    theirs = read_weights(finetuning_settings.output_dir, 1)
    run(head_of_another_task)
    ours = read_weights(head_of_another_task.output_dir, 1)
    assert np.abs(ours["classifier/kernel"] - theirs["classifier/kernel"]).max() > 1e-2
    np.testing.assert_allclose(ours["albert/pooler/kernel"], theirs["albert/pooler/kernel"], atol=1e-6)
    told = [record.getMessage() for record in caplog.records if "head starts afresh" in record.getMessage()]
    assert len(told) == 1
    assert "was fine-tuned for sst-2 (classification: 0, 1), this run is for wnli (classification: 0, 1)" in told[0]
    # Two examples in batches of eight: one step is one epoch.
    assert "1 steps of up to 8 examples: 2 examples, 1.00 epochs of the 2 in 1 file(s)" in caplog.text
    assert "is scored once" not in caplog.text
    # Nor is its dropout that of the other task's head.
    assert load_pretrained(head_of_another_task.output_dir).task.classifier_dropout_prob == 0.1
    untrained = dataclasses.replace(
        head_of_another_task, do_train=False, do_eval=True, output_dir=head_of_another_task.output_dir + "2"
    )
    with pytest.raises(InputError, match=r"for sst-2 .*, not for wnli .*; give --do_train, .* or --keep_head"):
        run(untrained)
    in_its_folder = dataclasses.replace(head_of_another_task, output_dir=finetuning_settings.output_dir)
    cached = _times_of_files(finetuning_settings.output_dir)
    for do_train in (True, False):
        with pytest.raises(InputError, match="holds a run of sst-2 .*, not of wnli"):
            run(dataclasses.replace(in_its_folder, do_train=do_train, do_eval=True))
    assert _times_of_files(finetuning_settings.output_dir) == cached


def _times_of_files(folder):
    return {path: path.stat().st_mtime_ns for path in Path(folder).glob("features/**/*")}


@pytest.mark.slow
def test_a_flag_keeps_the_head_of_another_task(head_of_another_task, finetuning_settings, read_weights, caplog):
    theirs = read_weights(finetuning_settings.output_dir, 1)
    kept = dataclasses.replace(head_of_another_task, keep_head=True)
    untrained = dataclasses.replace(kept, do_train=False, do_eval=True)
    assert "accuracy" in run(untrained)["scores"]["dev"]
    run(dataclasses.replace(kept, do_eval=True))
    told = "the run of 1 steps is scored once, at its end: --save_checkpoints_steps=4; an epoch is 1 steps"
    assert told in caplog.messages
    np.testing.assert_allclose(
        read_weights(kept.output_dir, 1)["classifier/kernel"], theirs["classifier/kernel"], atol=1e-6
    )


def test_a_head_that_does_not_fit_cannot_be_kept(small_config, tmp_path):
    model = AlbertForSequenceClassification(small_config, num_labels=2)
    weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
    two = FinetunedTask("classification", 2, ("0", "1"), "rte", classifier_dropout_prob=0.3)
    run_checkpoints.write_weights(str(tmp_path), small_config, weights, None, two)
    three = FinetunedTask("classification", 3, ("a", "b", "c"), "mnli")
    of_three = AlbertForSequenceClassification(small_config, num_labels=3)
    with pytest.raises(InputError, match="--keep_head: .* has a head of rte .*, 2 outputs, which does not fit mnli"):
        initialise_finetuning(of_three, three, str(tmp_path), keep_head=True)
    with pytest.raises(InputError, match=r"was fine-tuned for rte .*, not for mnli .*; give --do_train.* of mnli$"):
        initialise_finetuning(of_three, three, str(tmp_path), need_head=True)
    initialise_finetuning(of_three, three, str(tmp_path))


def test_the_dropout_of_the_head_is_that_of_the_checkpoint_unless_a_flag_says_otherwise(
    finetuning_settings, small_config, tmp_path
):
    model = AlbertForSequenceClassification(small_config, num_labels=2)
    weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
    task = FinetunedTask("classification", 2, ("0", "1"), "sst-2", classifier_dropout_prob=0.3)
    folder = tmp_path / "tuned"
    folder.mkdir()
    run_checkpoints.write_weights(str(folder), small_config, weights, None, task)
    settings = dataclasses.replace(finetuning_settings, init_checkpoint=str(folder))
    assert head_dropout(settings, task) == 0.3
    assert head_dropout(dataclasses.replace(settings, classifier_dropout_prob=0.2), task) == 0.2
    assert head_dropout(settings, dataclasses.replace(task, name="cola")) == 0.1
    assert head_dropout(dataclasses.replace(settings, init_checkpoint=None), task) == 0.1
    # A run that goes on has it from its own checkpoint.
    going_on = dataclasses.replace(settings, init_checkpoint=None, output_dir=str(folder))
    assert head_dropout(going_on, task) == 0.3


@pytest.mark.parametrize(
    "split, flag, reason",
    [
        ("train", "do_train", "has neither train.tsv nor SST-2/train.tsv"),
        ("dev", "do_eval", "has neither dev.tsv nor SST-2/dev.tsv"),
        ("test", "do_predict", "has neither test.tsv nor SST-2/test.tsv"),
    ],
)
def test_a_missing_split_is_noticed_before_the_first_step(finetuning_settings, split, flag, reason):
    Path(finetuning_settings.data_dir, f"{split}.tsv").unlink()
    settings = dataclasses.replace(finetuning_settings, do_predict=True, pad_to_max_length=True)
    with pytest.raises(InputError, match=rf"has no {split} split; leave --{flag} out \(.*{reason}"):
        run(settings)
    assert not os.path.exists(os.path.join(settings.output_dir, "train_log.jsonl"))


def test_a_dev_split_without_labels_is_noticed_before_the_first_step(finetuning_settings, tmp_path):
    for split in ("train", "dev"):
        for level in ("middle", "high"):
            (tmp_path / "race" / split / level).mkdir(parents=True)
            article = {"article": "ba", "questions": ["ba"], "options": [["ba", "be", "bi", "bo"]], "answers": ["A"]}
            article["answers"] = [None] if split == "dev" else ["A"]
            (tmp_path / "race" / split / level / "1.txt").write_text(json.dumps(article))
    settings = dataclasses.replace(finetuning_settings, task_name="race", data_dir=str(tmp_path / "race"))
    with pytest.raises(InputError, match="the examples have no labels; the dev split needs them"):
        run(settings)


@pytest.mark.slow
def test_a_short_run_is_scored_each_epoch_and_its_best_checkpoint_predicted_once(
    finetuning_settings, monkeypatch, read_log
):
    predicted = []

    def predict(steps, task, split, *args):
        predicted.append(split.name)
        return predict_split(steps, task, split, *args)

    monkeypatch.setattr(finetuning_results, "predict_split", predict)
    settings = dataclasses.replace(
        finetuning_settings, num_train_steps=None, num_train_epochs=2, save_checkpoints_steps=None, do_predict=True
    )
    results = run(settings)
    scored = {line["step"]: line["accuracy"] for line in read_log(settings.output_dir) if line["kind"] == "eval"}
    assert list(scored) == [8, 16]
    assert results["scores"]["dev"]["accuracy"] == scored[results["step"]] == max(scored.values())
    assert predicted == ["dev", "dev", "test"]
    with open(os.path.join(settings.output_dir, "dev_predictions.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    right = [line["prediction"] == line["label"] for line in lines]
    assert sum(right) / len(right) == scored[results["step"]]
    ends = [line["epochs"] for line in read_log(settings.output_dir) if line["kind"] == "train"]
    # 60 examples in batches of 8; reports come every 4 steps.
    assert ends == pytest.approx([32 / 60, 1.0, 1 + 32 / 60, 2.0])


def test_texts_that_are_cut_are_counted(finetuning_settings, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    settings = dataclasses.replace(finetuning_settings, task_settings=TaskSettings(max_seq_length=8))
    tokenizer = AlbertTokenizer(settings.spm_model_file)
    data = FinetuningData(settings, make_task(settings.task_name, settings.data_dir), tokenizer)
    data.read()
    told = [record.getMessage() for record in caplog.records if "longer than --max_seq_length=8" in record.getMessage()]
    assert [line.split(":")[0] for line in told] == ["train", "dev"]
    texts = [line.split("\t")[0] for line in Path(settings.data_dir, "train.tsv").read_text().splitlines()[1:]]
    lengths = [len(tokenizer.encode(text)) + 2 for text in texts]
    cut = sum(length > 8 for length in lengths)
    left_out = sum(max(0, length - 8) for length in lengths) / sum(lengths)
    assert 0 < cut < 60
    assert f"train: {cut} of 60 examples ({cut / 60:.1%}) are longer" in told[0]
    assert f"; {left_out:.1%} of all pieces are left out" in told[0]
