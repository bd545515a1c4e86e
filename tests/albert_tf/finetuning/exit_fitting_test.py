"""Fitted exits: the fit against what it must find, and the model beside one that was trained without exits."""

import dataclasses
import os

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints.depth_scores import read_depth_scores
from albert_tf.checkpoints.tensor_files import load_tensors
from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.exports.chosen_depth import exit_rule
from albert_tf.exports.depth import DepthSettings
from albert_tf.finetuning import run as finetuning_run
from albert_tf.finetuning.exit_fitting import exit_targets, fit_linear
from albert_tf.finetuning.finetune import run
from albert_tf.runtime.errors import FlagError, InputError

RNG = np.random.default_rng(0)


def test_what_is_small_beside_what_is_the_same_in_all_is_found():
    x = 0.5 + 1e-3 * RNG.normal(size=(400, 6))
    labels = (x[:, 2] > x[:, 4]).astype("int64")
    targets, scale = exit_targets(labels, "classification", 2)
    kernel, bias = fit_linear(x, targets)
    logits = scale * (x @ kernel + bias)
    assert np.mean(logits.argmax(axis=1) == labels) > 0.95
    assert np.mean(logits, axis=0) == pytest.approx(2 * np.mean(targets, axis=0), abs=1e-3)


def test_targets_of_each_head():
    targets, scale = exit_targets(np.array([2, 0]), "classification", 3)
    assert (targets.tolist(), scale) == ([[0, 0, 1], [1, 0, 0]], 3.0)
    targets, scale = exit_targets(np.array([1, 0, 0, 1], "int8"), "multi_label", 2)
    assert (targets.tolist(), scale) == ([[1, -1], [-1, 1]], 2.0)
    targets, scale = exit_targets(np.array([0.5, 4.0], "float32"), "regression", 1)
    assert (targets.tolist(), scale) == ([[0.5], [4.0]], 1.0)


def test_what_means_nothing_to_fitted_exits_is_refused(finetuning_settings):
    with pytest.raises(FlagError, match="--exit_training goes with --early_exit"):
        dataclasses.replace(finetuning_settings, exit_training="fitted")
    with pytest.raises(FlagError, match="--exit_rate_factor goes with --exit_training=joint"):
        dataclasses.replace(finetuning_settings, early_exit=True, exit_training="fitted", exit_rate_factor=2.0)
    with pytest.raises(FlagError, match="--exit_training=fitted does not go with --lora_rank"):
        dataclasses.replace(finetuning_settings, early_exit=True, exit_training="fitted", lora_rank=2)


@pytest.mark.slow
def test_the_model_is_the_one_without_exits_and_they_are_fitted_to_it(finetuning_settings, tmp_path):
    path = finetuning_settings.albert_config_file
    config = dataclasses.replace(AlbertConfig.from_json_file(path), num_hidden_layers=3, hidden_dropout_prob=0.1)
    config.to_json_file(path)
    results = {}
    for name, changes in (("plain", {}), ("fitted", {"early_exit": True, "exit_training": "fitted"})):
        settings = dataclasses.replace(finetuning_settings, output_dir=str(tmp_path / name), **changes)
        results[name] = run(settings)
    weights = {name: load_tensors(os.path.join(one["checkpoint"], "model")) for name, one in results.items()}
    exits = {name for name in weights["fitted"] if name.startswith("exits/")}
    assert weights["plain"].keys() == weights["fitted"].keys() - exits
    for name, value in weights["plain"].items():
        np.testing.assert_array_equal(weights["fitted"][name], value)
    assert {np.abs(weights["fitted"][name]).max() > 0 for name in exits} == {True}
    assert load_pretrained(results["fitted"]["checkpoint"]).task.exit_pooling == "mean"
    assert not albert_tf.load(results["fitted"]["checkpoint"]).exits.is_untrained
    scores = read_depth_scores(results["fitted"]["checkpoint"])
    assert scores["layers"]["3"] == pytest.approx(results["plain"]["scores"]["dev"]["accuracy"])


def test_a_rule_asks_no_exits_that_were_not_fitted_yet(save_finetuned, tmp_path):
    save_finetuned(tmp_path / "stopped", "classification", ("a", "b"), early_exit=True)
    pretrained = load_pretrained(str(tmp_path / "stopped"))
    for head in pretrained.model.exits.heads:
        head.bias.assign(np.zeros(head.bias.shape))
    for asked in ({"exit_confidence": 0.9}, {"patience": 1}, {"early_exit": True}):
        with pytest.raises(InputError, match="stopped: its exits are not fitted yet: the run was stopped before its"):
            exit_rule(DepthSettings(**asked), pretrained)


@pytest.mark.faults
def test_exits_that_were_not_fitted_yet_are_not_scored(finetuning_settings, monkeypatch, caplog):
    path = finetuning_settings.albert_config_file
    dataclasses.replace(AlbertConfig.from_json_file(path), num_hidden_layers=2).to_json_file(path)
    monkeypatch.setattr(finetuning_run, "fit_exits", lambda run: None)
    results = run(dataclasses.replace(finetuning_settings, early_exit=True, exit_training="fitted"))
    assert "its exits are not fitted yet, so they are not scored" in caplog.text
    assert "depth" not in results
    assert read_depth_scores(results["checkpoint"]) == {}
