"""Seeds of a fine-tuning: a folder for each, and what their scores add up to."""

import dataclasses
import logging
import os
import shutil

import numpy as np
import pytest

from albert_tf.finetuning.finetune import run
from albert_tf.finetuning.summary import format_results, summarise


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
    assert [line.split(" is done")[0] for line in told] == ["seed-1"]
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


def test_a_score_that_a_fold_lacks_is_the_mean_of_the_others():
    results = [
        {"task_name": "t", "random_seed": 1, "fold": fold, "checkpoint": "", "scores": {"dev": {"f1": f1, **more}}}
        for fold, f1, more in ((1, 0.5, {"NoAns_f1": 0.2}), (2, 0.7, {}), (3, 0.9, {"NoAns_f1": 0.6}))
    ]
    for several in (results, results[::-1], [results[1], results[0], results[2]]):
        summary = summarise(several, "f1")
        assert summary["scores"]["dev"] == {"f1": pytest.approx(0.7), "NoAns_f1": pytest.approx(0.4)}
        assert summary["spread"]["dev"]["NoAns_f1"] == pytest.approx(0.4)
        assert format_results(summary).splitlines()[0].split() == list(summary["scores"]["dev"])
