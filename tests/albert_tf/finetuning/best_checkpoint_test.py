"""The best checkpoint of a fine-tuning: scored as the run goes or after it, kept, predicted with."""

import dataclasses
import json
import os

import pytest

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import write_evaluation
from albert_tf.finetuning import results as finetuning_results
from albert_tf.finetuning.evaluation import predict_split
from albert_tf.finetuning.finetune import run


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


def test_another_score_of_the_same_evaluations_chooses_another_checkpoint(tmp_path):
    for step, accuracy, f1 in ((1, 0.9, 0.1), (2, 0.5, 0.8)):
        folder = tmp_path / f"checkpoint-{step:08d}"
        folder.mkdir()
        (folder / "checkpoint.json").write_text("{}")
        write_evaluation(str(folder), {"accuracy": accuracy, "f1": f1, "best_metric": "accuracy"})
    chosen = [
        run_checkpoints.CheckpointFolder(str(tmp_path), metric=metric).best()[-1] for metric in (None, "f1", "unknown")
    ]
    assert chosen == ["1", "2", "1"]
