"""The best checkpoint of a fine-tuning: scored as the run goes or after it, kept, predicted with."""

import dataclasses
import json
import os
import shutil
import types

import pytest
from bit_flips import TENSORS, flip_bit

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import read_evaluation, write_evaluation
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.finetuning import finetune
from albert_tf.finetuning import results as finetuning_results
from albert_tf.finetuning.earlier_runs import compare_by_one_score
from albert_tf.finetuning.evaluation import predict_split
from albert_tf.finetuning.finetune import open_data, run
from albert_tf.runtime.errors import DamagedError
from albert_tf.tasks.registry import TaskOptions
from albert_tf.training.cluster import Cluster
from albert_tf.training.feature_run import FeatureRun


@pytest.mark.slow
def test_the_best_checkpoint_is_kept_and_scored(finetuning_settings, read_log):
    settings = dataclasses.replace(finetuning_settings, save_checkpoints_steps=2, learning_rate=0.01)
    results = run(settings)
    by_step = {line["step"]: line["accuracy"] for line in read_log(settings.output_dir) if line["kind"] == "eval"}
    best = max(by_step, key=lambda step: (by_step[step], -step))
    assert results["step"] == best
    assert results["scores"]["dev"]["accuracy"] == by_step[best]
    left = sorted(name for name in os.listdir(settings.output_dir) if name.startswith("checkpoint-"))
    assert left == sorted({f"checkpoint-{best:08d}", "checkpoint-00000012"})


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
def test_a_best_checkpoint_with_a_flipped_bit_in_its_tensors_is_passed_over(finetuning_settings, caplog):
    settings = dataclasses.replace(finetuning_settings, keep_checkpoint_max=0, save_checkpoints_steps=4)
    best = run(settings)["checkpoint"]
    flip_bit(os.path.join(best, TENSORS))
    assert run(dataclasses.replace(settings, do_train=False))["checkpoint"] != best
    assert f"{best} is passed over" in caplog.text


@pytest.mark.slow
def test_checkpoints_of_before_are_scored_anew_by_a_dev_split_that_was_mended(finetuning_settings):
    settings = dataclasses.replace(finetuning_settings, keep_checkpoint_max=0, save_checkpoints_steps=4)
    folder, first = run_checkpoints.CheckpointFolder(settings.output_dir), run(settings)

    def scores():
        return [run_checkpoints.read_evaluation(path)["accuracy"] for path in folder.all()]

    before, path = scores(), os.path.join(settings.data_dir, "dev.tsv")
    assert run(settings) == first
    assert scores() == before
    with open(path) as file:
        header, *lines = file.read().splitlines()
    # Every label was wrong.
    with open(path, "w") as file:
        file.write("\n".join([header, *(line[:-1] + str(1 - int(line[-1])) for line in lines)]) + "\n")
    later = run(settings)
    assert scores() == pytest.approx([1 - score for score in before])
    assert (later["checkpoint"], later["scores"]["dev"]["accuracy"]) == (folder.best(), max(scores()))
    assert len(set(before)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("do_train", [True, False])
def test_another_score_is_that_of_predictions_and_exports_too(finetuning_settings, do_train):
    settings = dataclasses.replace(finetuning_settings, keep_checkpoint_max=0, save_checkpoints_steps=2)
    run(settings)
    folders = run_checkpoints.CheckpointFolder(settings.output_dir).all()
    for folder in folders[:2]:
        found = run_checkpoints.read_evaluation(folder)
        write_evaluation(folder, {name: found[name] for name in ("accuracy", "num_examples", "best_metric")})
    results = run(dataclasses.replace(settings, do_train=do_train, best_metric="macro_f1"))
    scores = [run_checkpoints.read_evaluation(folder)["macro_f1"] for folder in folders]
    assert results["checkpoint"] == run_checkpoints.find_checkpoint(settings.output_dir)
    assert results["checkpoint"] == folders[scores.index(max(scores))]
    assert results["scores"]["dev"]["macro_f1"] == max(scores)


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


@pytest.mark.parametrize(
    ("best", "step", "ends"),
    [(4, 4, False), (4, 6, False), (4, 8, False), (4, 11, False), (4, 12, True), (6, 12, True)],
)
def test_patience_counts_evaluations_and_no_checkpoint_at_which_the_run_was_stopped(best, step, ends):
    run_so_far = types.SimpleNamespace(
        settings=types.SimpleNamespace(early_stopping_patience=2, save_checkpoints_steps=4),
        checkpoints=types.SimpleNamespace(best=lambda: f"run/checkpoint-{best:08d}"),
        num_train_steps=lambda: 40,
    )
    assert FeatureRun.ends_early(run_so_far, step) == ends


@pytest.mark.faults
def test_the_evaluation_of_the_last_checkpoint_is_made_up_for(finetuning_settings):
    settings = dataclasses.replace(finetuning_settings, num_train_steps=3, save_checkpoints_steps=2)
    results = run(settings)
    last = os.path.join(settings.output_dir, "checkpoint-00000003")
    before = read_evaluation(last)
    os.remove(os.path.join(last, "evaluation.json"))
    assert run(settings)["scores"] == results["scores"]
    assert read_evaluation(last) == before


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


def _add_evaluation(run_folder, step, **scores):
    folder = run_folder / f"checkpoint-{step:08d}"
    folder.mkdir()
    (folder / "checkpoint.json").write_text("{}")
    write_evaluation(str(folder), {**scores, "best_metric": "accuracy"})
    return str(folder)


def test_checkpoints_are_compared_by_one_score_wherever_the_best_is_looked_for(tmp_path, monkeypatch):
    _add_evaluation(tmp_path, 1, accuracy=0.9, f1=0.1)
    _add_evaluation(tmp_path, 2, accuracy=0.8, f1=0.4)
    _add_evaluation(tmp_path, 3, accuracy=0.7)
    damaged = _add_evaluation(tmp_path, 4, accuracy=0.95)
    monkeypatch.setattr(run_checkpoints, "check_soundness", lambda folder: None)
    # Those without the score are not compared with those that have it.
    assert run_checkpoints.CheckpointFolder(str(tmp_path), metric="f1").best()[-1] == "2"

    def load(folder, model):
        if folder == damaged:
            raise DamagedError("a bit has changed")

    monkeypatch.setattr(run_checkpoints, "load_model_weights", load)
    scored = []

    def evaluate(step):
        scored.append(step)
        return {"accuracy": 0.7, "f1": 0.6, "best_metric": "f1"}

    stand_in = types.SimpleNamespace(
        checkpoints=run_checkpoints.CheckpointFolder(str(tmp_path), metric="f1"),
        **{"task": types.SimpleNamespace(metric="f1"), "results": types.SimpleNamespace(evaluate=evaluate)},
        **{"model": None, "cluster": Cluster(), "agreement": types.SimpleNamespace(mean=lambda value: None)},
        data=types.SimpleNamespace(dev_digest="d"),
    )
    compare_by_one_score(stand_in)
    assert scored == [3]
    assert stand_in.checkpoints.best()[-1] == "3"
    shutil.rmtree(damaged)
    assert run_checkpoints.find_checkpoint(str(tmp_path))[-1] == "3"
    compare_by_one_score(stand_in)
    assert scored == [3]


def test_another_score_of_the_same_evaluations_chooses_another_checkpoint(tmp_path):
    for step, accuracy, f1 in ((1, 0.9, 0.1), (2, 0.5, 0.8)):
        _add_evaluation(tmp_path, step, accuracy=accuracy, f1=f1)
    chosen = [
        run_checkpoints.CheckpointFolder(str(tmp_path), metric=metric).best()[-1] for metric in (None, "f1", "unknown")
    ]
    assert chosen == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("name", "do_train", "fields"),
    [
        ("classification", False, ("text", "text_pair")),
        ("classification", True, ("text",)),
        ("rte", False, ("text",)),
    ],
)
def test_a_model_of_pairs_is_asked_about_pairs_later_too(finetuning_settings, monkeypatch, name, do_train, fields):
    known = {"text_pair_column": "other", "label_column": "second"}
    stored = FinetunedTask("classification", 2, ("0", "1"), name, options=known)
    monkeypatch.setattr(finetune, "stored_tasks", lambda *_: iter([stored]))
    options = TaskOptions(text_column="sentence")
    changes = {"task_name": "classification", "task_options": options, "do_train": do_train}
    _, data = open_data(dataclasses.replace(finetuning_settings, **changes))
    assert data.task.input_fields == fields
    assert data.task.options()["label"] == ("second" if fields == ("text", "text_pair") else "label")


@pytest.mark.parametrize(("trained", "asked", "is_told"), [(None, "each", True), ("each", "each", False)])
def test_thresholds_that_are_asked_for_after_training_are_said_not_to_stay(
    finetuning_settings, monkeypatch, caplog, trained, asked, is_told
):
    known = {"multi_label": True, "label_threshold": trained}
    stored = FinetunedTask("multi_label", 2, ("0", "1"), "classification", options=known)
    monkeypatch.setattr(finetune, "stored_tasks", lambda *_: iter([stored]))
    options = TaskOptions(text_column="sentence", multi_label=True, label_threshold=asked)
    changes = {"task_name": "classification", "task_options": options, "do_train": False}
    open_data(dataclasses.replace(finetuning_settings, **changes))
    assert ("is of these scores and predictions alone" in caplog.text) == is_told
