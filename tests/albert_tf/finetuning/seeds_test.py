"""Seeds of a fine-tuning: a folder for each, and what their scores add up to."""

import dataclasses
import hashlib
import logging
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from albert_tf.finetuning import finetune
from albert_tf.finetuning.finetune import run
from albert_tf.finetuning.model_source import folder_with_checkpoints, model_and_vocabulary
from albert_tf.finetuning.several_runs import plan_members
from albert_tf.finetuning.summary import format_results, summarise
from albert_tf.tokenization.text_cleaning import TextCleaning


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


def test_a_run_of_several_that_python_began_has_all_flags_and_may_be_moved(finetuning_settings):
    settings = dataclasses.replace(finetuning_settings, num_seeds=2, learning_rates="1e-3,0.002", resolved_flags="")
    member = plan_members(settings)[-1]
    lines = member.settings.resolved_flags.splitlines()
    assert {"--num_train_steps=12", "--max_seq_length=48", "--do_eval"} < set(lines)
    assert lines[-2:] == ["--learning_rate=0.002", "--random_seed=2"]
    assert not any(line.startswith("--num_seeds") for line in lines)
    # The key by which it is done, which other versions leave too.
    own = dataclasses.replace(settings, num_seeds=1, learning_rates=None, learning_rate=0.002, random_seed=2)
    said = f"--learning_rate=0.002\n--random_seed=2\n{dataclasses.replace(own, output_dir='')!r}"
    assert member.key == hashlib.sha256(said.encode()).hexdigest()
    moved = plan_members(dataclasses.replace(settings, output_dir="elsewhere"))
    assert moved[-1].key == member.key


@pytest.mark.slow
def test_several_runs_are_asked_later_as_they_were_trained(finetuning_settings):
    path = Path(finetuning_settings.data_dir, "test.tsv")
    path.write_text("index\tsentence\n0\tBada KAMA lana\n1\tRasu\n")
    settings = dataclasses.replace(
        finetuning_settings, num_train_steps=2, num_seeds=2, cleaning=TextCleaning(do_lower_case=False), do_predict=True
    )
    run(settings)
    written = [Path(member.settings.output_dir, "test_predictions.jsonl") for member in plan_members(settings)]
    before = [path.read_text() for path in written]
    for one in written:
        one.unlink()
    later = {"do_train": False, "do_eval": False, "cleaning": TextCleaning(), "resolved_flags": "--later\n"}
    settings = dataclasses.replace(settings, **later)
    run(settings)
    assert [path.read_text() for path in written] == before
    settings = dataclasses.replace(settings, spm_model_file=None, albert_config_file=None)
    config, vocabulary, cleaning = model_and_vocabulary(settings)
    assert (config.vocab_size, cleaning) == (60, TextCleaning(do_lower_case=False))
    assert os.path.dirname(vocabulary) == settings.run_folders[0]


@pytest.mark.parametrize("changes", [{"num_seeds": 2}, {"learning_rates": "1e-5,2e-5"}, {"num_folds": 2}])
def test_classes_are_those_of_the_first_run_that_has_a_checkpoint(finetuning_settings, save_finetuned, changes):
    own = {"task_name": "classification", "do_train": False}
    settings = dataclasses.replace(finetuning_settings, **own, **changes)
    first, second = (member.settings.output_dir for member in plan_members(settings))
    assert folder_with_checkpoints(settings) == first
    os.makedirs(second)
    save_finetuned(
        Path(second, "checkpoint-00000002"),
        *("classification", ("no", "yes")),
        name="classification",
        options={"text_pair_column": "like"},
    )
    assert folder_with_checkpoints(settings) == second
    found = finetune._options_of_checkpoint(settings)
    assert (found.labels, found.text_pair_column) == (("no", "yes"), "like")
