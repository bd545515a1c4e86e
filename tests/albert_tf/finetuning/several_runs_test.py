"""Several runs of one command: which there are, on what, what they come to; folds, caps, and the ensemble."""

import contextlib
import dataclasses
import json
import os
import types
from pathlib import Path

import numpy as np
import pytest

from albert_tf.finetuning import several_runs
from albert_tf.finetuning.ensemble import check_ensemble, mean_outputs, score_ensemble
from albert_tf.finetuning.finetune import run
from albert_tf.finetuning.folds import FoldData
from albert_tf.finetuning.selection import assign_folds, choose_examples
from albert_tf.finetuning.several_runs import plan_members
from albert_tf.finetuning.stored_outputs import load_outputs, save_outputs
from albert_tf.finetuning.summary import format_results, summarise
from albert_tf.inputs.finetuning_features import Feature, FeatureSet
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.tasks.registry import make_task
from albert_tf.tasks.span_pieces import found_spans
from albert_tf.training.cluster import Cluster


def test_there_is_a_run_for_each_rate_seed_and_fold(finetuning_settings):
    flags = "--task_name=sst-2\n--learning_rate=1e-3,0.002\n--num_seeds=2\n"
    settings = dataclasses.replace(
        finetuning_settings, learning_rates="1e-3,0.002", num_seeds=2, num_folds=2, resolved_flags=flags
    )
    members = plan_members(settings)
    assert settings.num_runs == len(members) == 8
    names = [os.path.basename(member.settings.output_dir) for member in members]
    assert names[:3] == [f"rate-0.001-seed-{seed}-fold-{fold}-of-2" for seed, fold in ((1, 1), (1, 2), (2, 1))]
    last = members[-1]
    assert (last.settings.learning_rate, last.settings.random_seed, last.fold) == (0.002, 2, 1)
    assert last.settings.num_runs == 1
    own = ["--task_name=sst-2", "--learning_rate=0.002", "--random_seed=2", "--num_folds=2", "--fold=2"]
    assert last.settings.resolved_flags.splitlines() == own
    assert last.told == {"learning_rate": 0.002, "fold": 2}


def test_a_run_of_more_seeds_or_rates_has_those_that_are_done(finetuning_settings):
    few = dataclasses.replace(finetuning_settings, num_seeds=2, resolved_flags="--num_seeds=2\n")
    more = dataclasses.replace(finetuning_settings, num_seeds=3, resolved_flags="--num_seeds=3\n")
    assert [member.key for member in plan_members(few)] == [member.key for member in plan_members(more)[:2]]


@pytest.mark.parametrize("flags", [("", ""), ("--num_train_steps=1\n", "--num_train_steps=2\n")])
def test_a_run_is_done_only_by_results_of_the_same_flags(finetuning_settings, monkeypatch, flags):
    monkeypatch.setattr(several_runs.keras.backend, "clear_session", lambda: None)
    few, many = (
        dataclasses.replace(finetuning_settings, num_seeds=2, num_train_steps=steps, resolved_flags=flags[steps - 1])
        for steps in (1, 2)
    )
    data = types.SimpleNamespace(task=types.SimpleNamespace(metric="f1"), digest="1")
    session = types.SimpleNamespace(cluster=Cluster(), hold=lambda folder: contextlib.nullcontext())
    ran, killed_at = [], None

    def run_one(settings, data):
        ran.append(settings.random_seed)
        if settings.random_seed == killed_at:
            raise KeyboardInterrupt
        results = {"task_name": "t", "random_seed": settings.random_seed, "steps": settings.num_train_steps}
        files.write_json(os.path.join(settings.output_dir, "results.json"), results)
        return results

    first = several_runs.run_members(few, data, session, run_one)
    assert several_runs.run_members(few, data, session, run_one) == first
    assert ran == [1, 2]
    killed_at = 1
    with pytest.raises(KeyboardInterrupt):
        several_runs.run_members(many, data, session, run_one)
    # Neither has seed-1 results of these flags, nor are those of the earlier ones those of the folder now.
    killed_at = None
    several_runs.run_members(few, data, session, run_one)
    assert ran == [1, 2, 1, 1]
    found = several_runs.run_members(many, data, session, run_one)
    assert ran == [1, 2, 1, 1, 1, 2]
    assert [one["steps"] for one in found["seeds"]] == [2, 2]
    # An evaluation alone leaves scores that are not those of the training.
    run_one(plan_members(many)[1].settings, data)
    several_runs.run_members(many, data, session, run_one)
    assert ran == [1, 2, 1, 1, 1, 2, 2, 2]
    data.digest = "2"
    several_runs.run_members(many, data, session, run_one)
    assert ran[8:] == [1, 2]


@pytest.fixture
def done_twice(finetuning_settings, monkeypatch, tmp_path):
    """A function that says there are runs of some origins, and runs them again, their teacher and first weights 1."""
    monkeypatch.setattr(several_runs.keras.backend, "clear_session", lambda: None)
    now = {"init_sha256": "1", "teacher_files": [{"name": "t", "bytes": 3, "sha256": "1"}]}
    monkeypatch.setattr(several_runs, "describe_origins", lambda settings: now)
    changes = {"num_seeds": 2, "init_checkpoint": "first", "teacher": "t.jsonl"}
    settings = dataclasses.replace(finetuning_settings, **changes)
    data = types.SimpleNamespace(task=types.SimpleNamespace(metric="f1"), digest="1")
    session = types.SimpleNamespace(cluster=Cluster(), hold=lambda folder: contextlib.nullcontext())
    ran = []

    def run_one(settings, data):
        ran.append(settings.random_seed)
        return {"task_name": "t", "random_seed": settings.random_seed}

    def again(**noted):
        several_runs.run_members(settings, data, session, run_one)
        known = types.SimpleNamespace(**{**now, **noted})
        monkeypatch.setattr(several_runs, "newest_state", lambda folder: known)
        several_runs.run_members(settings, data, session, run_one)
        return ran

    return again


@pytest.mark.parametrize(
    ("noted", "flag"),
    [
        ({"init_sha256": "2"}, "--init_checkpoint than lie at first now"),
        ({"teacher_files": [{"name": "t", "bytes": 3, "sha256": "2"}]}, "--teacher than lie at t.jsonl now"),
    ],
)
def test_a_run_from_other_weights_or_of_another_teacher_is_not_taken_for_one_of_these(done_twice, noted, flag):
    with pytest.raises(InputError, match=f"seed-1 was trained from other contents of {flag}; name another --output"):
        done_twice(**noted)


@pytest.mark.parametrize("noted", [{}, {"teacher_files": [{"name": "moved", "bytes": 3, "sha256": "1"}]}])
def test_a_run_from_the_same_weights_is_not_done_again(done_twice, noted, caplog):
    assert done_twice(**noted) == [1, 2]
    assert "is not known" not in caplog.text


def test_a_run_of_an_earlier_version_is_not_done_again_and_a_warning_tells_of_it(done_twice, caplog):
    assert done_twice(init_sha256=None) == [1, 2]
    assert "does not say what it was trained from" in caplog.text
    assert "lies at --init_checkpoint=first now is not known" in caplog.text


@pytest.mark.parametrize("text", ["1e-5,", "1e-5,1e-5", "1e-5,-1", "a,b", "nan,1"])
def test_rates_that_are_none_are_refused(finetuning_settings, text):
    with pytest.raises(InputError, match="--learning_rate must be a number, or different ones with commas"):
        plan_members(dataclasses.replace(finetuning_settings, learning_rates=text))


def test_a_cap_draws_the_same_examples_and_a_larger_one_has_them_too():
    few, more = choose_examples(100, 10), choose_examples(100, 30)
    assert (len(few), len(more)) == (10, 30)
    assert set(few) < set(more)
    assert list(few) == sorted(few) != list(range(10))
    assert choose_examples(10, 10) is choose_examples(10, None) is None


def test_folds_share_out_the_examples():
    folds = assign_folds(11, 3)
    assert sorted(np.bincount(folds)) == [3, 4, 4]
    with pytest.raises(InputError, match="--num_folds=5 needs as many examples"):
        assign_folds(4, 5)
    with pytest.raises(InputError, match="num_folds=3 needs as many groups at least; there are 2"):
        assign_folds(4, 3, ["a", "b", "a", "b"])


def test_features_of_some_examples_are_numbered_anew():
    made = [Feature(n // 2, list(range(n + 3)), [0] * (n + 3), (n, n, 0), [0] * (n + 3)) for n in range(6)]
    chosen = FeatureSet.from_features(made, "span").select(np.array([0, 2]))
    assert [(len(one.input_ids), one.example, one.label[0]) for one in chosen] == [
        (3, 0, 0),
        (4, 0, 1),
        (7, 1, 4),
        (8, 1, 5),
    ]


def test_caps_leave_so_many_examples_of_train_and_dev(make_data):
    data = make_data(max_train_examples=10, max_eval_examples=5)
    assert [len(data.split(name).features) for name in ("train", "dev", "test")] == [10, 5, 7]
    whole = make_data()
    chosen = choose_examples(60, 10)
    assert data.split("train").examples == [whole.split("train").examples[index] for index in chosen]
    # From the cache now, which is another than that of the whole.
    assert len(make_data(max_train_examples=10).split("train").features) == 10
    assert len(make_data().split("train").features) == 60


def test_folds_are_dev_splits_that_make_up_the_training_split(make_data):
    data = make_data(num_folds=3)
    Path(data.settings.data_dir, "dev.tsv").unlink()
    seen = []
    for number in range(3):
        fold = FoldData(data, number)
        fold.read()
        train, dev = fold.training_split(), fold.dev_splits()[0]
        assert len(train.examples) == len(train.features) == 40
        seen += dev.examples
        assert not {one.guid for one in train.examples} & {one.guid for one in dev.examples}
        assert [one.label for one in dev.features] == [one.label for one in dev.examples]
    assert sorted(one.guid for one in seen) == sorted(one.guid for one in data.split("train").examples)


def test_a_fold_is_evaluated_on_no_more_examples_than_asked(make_data):
    data = make_data(num_folds=3, max_eval_examples=5)
    Path(data.settings.data_dir, "dev.tsv").unlink()
    train, dev = FoldData(data, 0).training_split(), FoldData(data, 0).dev_splits()[0]
    assert (len(train.features), len(dev.features), len(dev.examples)) == (40, 5, 5)
    assert [one.label for one in dev.features] == [one.label for one in dev.examples]
    whole = FoldData(make_data(num_folds=3), 0).dev_splits()[0]
    assert {one.guid for one in dev.examples} < {one.guid for one in whole.examples}


def test_folds_need_an_evaluation_and_no_dev_split(finetuning_settings):
    with pytest.raises(FlagError, match="--num_folds goes with --do_eval"):
        dataclasses.replace(finetuning_settings, num_folds=2, do_eval=False)
    with pytest.raises(FlagError, match="--num_folds makes dev splits .*dev.tsv; leave the flag out"):
        run(dataclasses.replace(finetuning_settings, num_folds=2))


def _results(rate, seed, f1, **more):
    return {"task_name": "t", "random_seed": seed, "learning_rate": rate, "checkpoint": f"{rate}-{seed}"} | {
        "scores": {"dev": {"f1": f1}},
        **more,
    }


def test_the_best_rate_is_that_of_the_highest_median_and_the_best_run_any():
    runs = [_results(*row) for row in ((0.1, 1, 0.5), (0.1, 2, 0.9), (0.1, 3, 0.4), (0.2, 1, 0.6), (0.2, 2, 0.7))]
    summary = summarise(runs, "f1")
    assert (summary["checkpoint"], summary["best"]["dev"]["f1"]) == ("0.1-2", 0.9)
    assert (summary["best_learning_rate"], summary["scores"]["dev"]["f1"]) == (0.2, pytest.approx(0.65))
    assert [rate["scores"]["dev"]["f1"] for rate in summary["rates"]] == [0.5, pytest.approx(0.65)]
    lines = format_results(summary).splitlines()
    assert [line.rsplit(None, 1)[0] for line in lines[1:2] + lines[6:8]] == [
        "dev, rate 0.1, seed 1",
        "dev, median of rate 0.1",
        "dev, spread of rate 0.1",
    ]


def test_folds_come_to_their_mean():
    runs = [_results(0.1, 1, f1, fold=fold) for fold, f1 in ((1, 0.2), (2, 0.9), (3, 0.1))]
    summary = summarise(runs, "f1")
    assert summary["scores"]["dev"]["f1"] == pytest.approx(0.4)
    assert "dev, mean" in format_results(summary)
    assert "dev, fold 3" in format_results(summary)


def _logits(*probabilities):
    return np.log(np.array(probabilities))


def test_an_ensemble_has_the_means_of_the_probabilities():
    rows = [{"logits": [_logits(0.2, 0.8)]}, {"logits": [_logits(0.6, 0.4)]}]
    np.testing.assert_allclose(np.exp(mean_outputs("classification", rows)["logits"][0]), [0.4, 0.6])
    several = [{"logits": [_logits(0.2 / 0.8, 1.0)]}, {"logits": [_logits(0.6 / 0.4, 1.0)]}]
    found = mean_outputs("multi_label", several)["logits"][0]
    np.testing.assert_allclose(1 / (1 + np.exp(-found)), [0.4, 0.5])
    numbers = [{"logits": [np.array([1.0])]}, {"logits": [np.array([4.0])]}]
    assert mean_outputs("regression", numbers)["logits"][0] == 2.5
    pieces = [{"logits": [np.zeros((3, 2))]}, {"logits": [np.zeros((5, 2))]}]
    assert mean_outputs("token_classification", pieces)["logits"][0].shape == (3, 2)


def test_an_ensemble_of_spans_finds_those_that_are_likelier_than_not_in_the_mean():
    # One text of two pieces, spans of up to two pieces, labels "A" and "B".
    notes = {"piece_plus_one": [0, 1, 2, 0], "can_end": [0, 1, 1, 0], "text_starts": [0] * 4, "text_ends": [0, 1, 2, 0]}
    feature = Feature(0, [2, 7, 8, 3], [0] * 4, notes=notes)
    members = [np.full((4, 2, 2), -9.0) for _ in range(2)]
    for rows, whole, first in zip(members, (0.9, 0.4), (0.6, 0.3)):
        rows[1, 1, 1], rows[1, 0, 0] = (np.log(one / (1 - one)) for one in (whole, first))
    outputs = mean_outputs("span_categories", [{"logits": [rows]} for rows in members])
    ((found,),) = found_spans(1, [feature], outputs["logits"], ("A", "B"))
    assert (found.entity, found.score) == (("B", 0, 2), pytest.approx(0.65))


def test_outputs_are_kept_whatever_their_shapes(tmp_path):
    outputs = {"logits": [np.ones((2, 3), np.float32), np.zeros((4, 3), np.float32)], "odds": [np.float32(1), 2.0]}
    save_outputs(str(tmp_path), "dev", outputs)
    found = load_outputs(str(tmp_path), "dev")
    for name, rows in outputs.items():
        for row, kept in zip(rows, found[name], strict=True):
            np.testing.assert_array_equal(row, kept)
    (tmp_path / "dev_outputs.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match="cannot be read"):
        load_outputs(str(tmp_path), "dev")


@pytest.mark.parametrize(
    ("changes", "head", "match"),
    [
        ({}, "classification", "--ensemble is of several runs"),
        ({"num_seeds": 2}, "span_beam", "give --nobeam"),
        ({"num_folds": 2}, "classification", "give --do_predict"),
        ({"num_seeds": 2, "do_eval": False}, "classification", "give --do_eval, --do_predict or both"),
        ({"num_seeds": 2, "do_eval": False, "do_predict": True}, "span", "a threshold of its own, found by --do_eval"),
    ],
)
def test_an_ensemble_without_a_mean_or_a_use_is_refused(finetuning_settings, changes, head, match):
    task = make_task(finetuning_settings.task_name, finetuning_settings.data_dir)
    task.head = head
    task.threshold_score = "best_f1_thresh" if head == "span" else None
    with pytest.raises(FlagError, match=match):
        check_ensemble(dataclasses.replace(finetuning_settings, ensemble=True, **changes), task)


def test_folds_that_end_early_have_an_ensemble_of_their_test_splits(make_data, tmp_path):
    data = make_data(num_folds=2, do_predict=True, ensemble=True, early_stopping_patience=2)
    Path(data.settings.data_dir, "dev.tsv").unlink()
    folders = [str(tmp_path / f"fold-{fold}") for fold in (1, 2)]
    for folder, share in zip(folders, (0.1, 0.3), strict=True):
        os.mkdir(folder)
        save_outputs(folder, "test", {"logits": [_logits(1 - share, share)] * 7})
    found = score_ensemble(data.settings, data, Cluster(), folders)
    assert [os.path.basename(path) for path in found["predictions"]] == ["test_predictions.jsonl", "SST-2.tsv"]
    assert Path(found["predictions"][1]).read_text().splitlines()[1:] == [f"{index}\t0" for index in range(7)]


@pytest.mark.slow
def test_a_sweep_leaves_a_table_an_ensemble_and_nothing_to_do_again(finetuning_settings, monkeypatch):
    settings = dataclasses.replace(
        *(finetuning_settings,), learning_rates="0.001,0.004", num_seeds=2, ensemble=True, do_predict=True
    )
    results = run(settings)
    assert len(results["runs"]) == 4
    assert {"dev_predictions.jsonl", "dev_report.json", "SST-2.tsv"} <= set(os.listdir(settings.output_dir))
    with open(Path(settings.output_dir, "dev_predictions.jsonl")) as file:
        ensemble = [json.loads(line)["probabilities"]["1"] for line in file]
    members = []
    for member in plan_members(settings):
        with open(Path(member.settings.output_dir, "dev_predictions.jsonl")) as file:
            members.append([json.loads(line)["probabilities"]["1"] for line in file])
    np.testing.assert_allclose(ensemble, np.mean(members, axis=0), atol=1e-6)
    assert "dev, ensemble of 4" in format_results(results)
    monkeypatch.setattr(several_runs.keras.backend, "clear_session", lambda: pytest.fail("a run was done again"))
    assert run(settings) == results
    with pytest.raises(InputError, match="holds several runs; name another folder, or that of one of them"):
        run(dataclasses.replace(settings, learning_rates=None, num_seeds=1, ensemble=False))
    single = results["checkpoint"].rpartition("/")[0]
    with pytest.raises(InputError, match="holds a single run; name another folder for several"):
        run(dataclasses.replace(settings, output_dir=single))


@pytest.mark.slow
def test_folds_are_run_and_scored_each_on_its_own_part(finetuning_settings):
    Path(finetuning_settings.data_dir, "dev.tsv").unlink()
    changes = {"do_predict": True, "ensemble": True, "early_stopping_patience": 2}
    settings = dataclasses.replace(finetuning_settings, num_folds=3, **changes)
    results = run(settings)
    assert [one["fold"] for one in results["runs"]] == [1, 2, 3]
    mean = np.mean([one["scores"]["dev"]["accuracy"] for one in results["runs"]])
    assert results["scores"]["dev"]["accuracy"] == pytest.approx(mean)
    assert results["ensemble"]["predictions"]
