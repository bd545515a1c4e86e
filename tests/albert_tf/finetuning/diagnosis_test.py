"""Runs that learn nothing: the loss of a constant answer by hand, the warnings, and the seeds that take their place."""

import contextlib
import dataclasses
import json
import types

import numpy as np
import pytest

from albert_tf.finetuning import several_runs
from albert_tf.finetuning.diagnosis import Diagnosis, chance_loss, is_stuck
from albert_tf.finetuning.finetune import run
from albert_tf.finetuning.objectives import Objective
from albert_tf.inputs.finetuning_features import Feature, FeatureSet
from albert_tf.runtime.errors import FlagError
from albert_tf.training.cluster import Cluster


def _features(head, labels):
    ids = [2, 5, 3]
    made = [Feature(n, ids, [0] * 3, label, [0] * 3 if "span" in head else None) for n, label in enumerate(labels)]
    return FeatureSet.from_features(made, head)


LN2, LN4 = np.log(2.0), np.log(4.0)
# Entropy of 1/4 and 3/4.
QUARTER = 0.25 * LN4 + 0.75 * np.log(4 / 3)


@pytest.mark.parametrize(
    ("objective", "labels", "chance"),
    [
        (Objective("classification"), [0, 0, 1, 1], LN2),
        (Objective("classification"), [0, 1, 1, 1], QUARTER),
        (Objective("classification", (3.0, 1.0)), [0, 1, 1, 1], LN2),
        (Objective("classification", label_smoothing=0.5), [1, 1, 1, 1], QUARTER),
        (Objective("token_classification"), [[-1, 0, -1], [1, 1, 1]], QUARTER),
        (Objective("multi_label"), [(1, 0), (1, 0), (0, 0), (0, 1)], (LN2 + QUARTER) / 2),
        (Objective("multi_label", pos_weight=(1.0, 3.0)), [(1, 0), (1, 0), (0, 0), (0, 1)], (LN2 + 1.5 * LN2) / 2),
        (Objective("regression"), [1.0, 3.0], 1.0),
        (Objective("span"), [(1, 2, 0), (2, 2, 0)], LN2 / 2),
        (Objective("span_beam"), [(1, 2, 0), (2, 2, 1)], LN2),
    ],
)
def test_the_loss_of_a_constant_answer_by_hand(objective, labels, chance):
    assert chance_loss(objective, _features(objective.head, labels), 2) == pytest.approx(chance)


def test_a_loss_that_stays_at_chance_is_told_once_after_the_warm_up(caplog):
    diagnosis = Diagnosis(0.69, warmup_end=10)
    for step, loss in ((5, 0.7), (10, 0.7), (15, 0.7), (20, 0.5), (25, 0.69), (30, 0.69)):
        assert diagnosis.report(step, {"loss": loss}) == {}
    assert not caplog.records
    for step in (35, 40, 45):
        diagnosis.report(step, {"loss": 0.68})
    [warning] = caplog.records
    said = "step 35: the loss, 0.680, is still no better than that of always the same answer, 0.690"
    assert said in warning.getMessage()


@pytest.mark.parametrize(("late", "stuck"), [((0.69, 0.68), True), ((0.69, 0.5), False)])
def test_a_run_is_stuck_by_its_second_half(tmp_path, late, stuck):
    losses = (0.2, 0.2, *late)
    lines = [{"kind": "train", "step": n, "loss": x} for n, x in enumerate(losses, start=1)]
    lines.insert(1, {"kind": "eval", "step": 4})
    # One of a step whose loss was not finite has none.
    lines.append({"kind": "train", "step": 4})
    (tmp_path / "train_log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert is_stuck(str(tmp_path), 4, 0.69) is stuck
    assert not is_stuck(str(tmp_path / "none"), 4, 0.69)


def test_the_steps_of_a_line_count_and_not_the_lines(tmp_path):
    def write(*losses):
        lines = [{"kind": "train", "step": step, "loss": loss} for step, loss in losses]
        (tmp_path / "train_log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    write((200, 0.69), (300, 0.69), (400, 0.6))
    assert not is_stuck(str(tmp_path), 400, 0.69)
    # The same run, stopped after step 201: a line of one step.
    write((200, 0.69), (201, 0.75), (300, 0.69), (400, 0.6))
    assert not is_stuck(str(tmp_path), 400, 0.69)
    write((200, 0.5), (201, 0.2), (300, 0.7), (400, 0.7))
    assert is_stuck(str(tmp_path), 400, 0.69)


@pytest.mark.parametrize(
    ("stuck", "order", "seeds", "restarts"),
    [((2, 3), [1, 2, 3, 4], [1, 4], [None, 2]), ((1, 2), [1, 3, 2, 4], [3, 4], [1, 1])],
)
def test_the_next_seeds_take_the_place_of_runs_that_failed(
    finetuning_settings, tmp_path, monkeypatch, stuck, order, seeds, restarts
):
    monkeypatch.setattr(several_runs.keras.backend, "clear_session", lambda: None)
    settings = dataclasses.replace(finetuning_settings, num_seeds=2, restart_failed_seeds=2)
    seen = []

    def run_one(settings, data):
        seen.append(settings.random_seed)
        f1 = settings.random_seed / 10
        results = {
            "task_name": "t",
            "random_seed": settings.random_seed,
            "checkpoint": "c",
            "scores": {"dev": {"f1": f1}},
        }
        return results | ({"stuck": True} if settings.random_seed in stuck else {})

    task = types.SimpleNamespace(metric="f1")
    data = types.SimpleNamespace(task=task, names=lambda kind: ["dev"], digest="1")
    session = types.SimpleNamespace(cluster=Cluster(), hold=lambda folder: contextlib.nullcontext())
    (tmp_path / "run").mkdir()
    summary = several_runs.run_members(settings, data, session, run_one)
    assert seen == order
    assert [one["random_seed"] for one in summary["seeds"]] == seeds
    assert [one.get("restarts") for one in summary["seeds"]] == restarts
    assert summary["scores"]["dev"]["f1"] == pytest.approx(sum(seeds) / 20)


def test_seeds_are_not_restarted_where_no_run_is_found_to_fail(finetuning_settings):
    spans = types.SimpleNamespace(name="span_categories", head="span_categories", labels=("a",), threshold_score=None)
    for changes, task, where in (({"teacher": "runs/a"}, None, "with --teacher"), ({}, spans, "of span_categories")):
        settings = dataclasses.replace(finetuning_settings, restart_failed_seeds=2, **changes)
        with pytest.raises(FlagError, match=f"--restart_failed_seeds .* not known {where}; leave it out"):
            run(settings, task)
