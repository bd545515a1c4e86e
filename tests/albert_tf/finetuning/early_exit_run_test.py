"""Exits from their training to whoever asks the model: a run, its resuming, its checkpoint, exports, predict."""

import dataclasses
import os
import shutil

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints.depth_scores import read_depth_scores
from albert_tf.checkpoints.tensor_files import load_tensors
from albert_tf.config import AlbertConfig
from albert_tf.conversion.converter import convert
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.exports import chosen_depth
from albert_tf.exports.depth import DepthSettings
from albert_tf.exports.export_file import read_export
from albert_tf.exports.saved_model import export_saved_model
from albert_tf.exports.settings import ExportSettings
from albert_tf.finetuning.finetune import run
from albert_tf.portable.export import export_model
from albert_tf.portable.settings import ModelExportSettings
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.registry import TaskOptions

_TEXTS = ["baba bebe", "kaka keke meme", "fofo", "nunu nini"]


@pytest.fixture
def exit_settings(finetuning_settings):
    """Settings of a run of three shared layers with exits, from whose curve any rule may be chosen."""
    path = finetuning_settings.albert_config_file
    config = dataclasses.replace(AlbertConfig.from_json_file(path), num_hidden_layers=3, hidden_dropout_prob=0.1)
    config.to_json_file(path)
    return dataclasses.replace(finetuning_settings, early_exit=True, exit_tolerance=0.9)


def test_what_has_no_exits_is_refused_before_anything_is_read(finetuning_settings):
    with pytest.raises(FlagError, match="--exit_tolerance goes with --early_exit"):
        dataclasses.replace(finetuning_settings, exit_tolerance=0.1)
    with pytest.raises(FlagError, match="--exit_pooling goes with --early_exit"):
        dataclasses.replace(finetuning_settings, exit_pooling="mean")
    with pytest.raises(FlagError, match="leave --constant_graph out"):
        dataclasses.replace(finetuning_settings, early_exit=True, constant_graph=True)
    with pytest.raises(FlagError, match="--score_layers goes with --do_eval"):
        dataclasses.replace(finetuning_settings, score_layers=True, do_eval=False)
    with pytest.raises(FlagError, match="--exit_rate_factor goes with --early_exit"):
        dataclasses.replace(finetuning_settings, exit_rate_factor=2.0)
    with pytest.raises(InputError, match="--patience is for the head that a model was fine-tuned with; leave --head"):
        ModelExportSettings(init_checkpoint="a", output_dir="b", format="onnx", patience=1, head="encoder")


@pytest.mark.slow
def test_a_run_with_exits_resumes_bitwise_and_serves_what_dev_chose(exit_settings, tmp_path):
    settings = dataclasses.replace(exit_settings, keep_checkpoint_max=0)
    results = run(settings)
    last = os.path.join(settings.output_dir, "checkpoint-00000012")
    before = load_tensors(os.path.join(last, "model"))
    assert {name for name in before if name.startswith("exits/")} == {
        f"exits/exit_{layer}/{weight}" for layer in (1, 2) for weight in ("kernel", "bias")
    }
    shutil.rmtree(last)
    run(settings)
    after = load_tensors(os.path.join(last, "model"))
    assert all(np.array_equal(before[name], after[name]) for name in before)
    scores = read_depth_scores(results["checkpoint"])
    assert scores["layers"]["3"] == pytest.approx(results["scores"]["dev"]["accuracy"])
    assert scores["chosen"] is not None
    assert os.path.exists(os.path.join(settings.output_dir, "early_exit.png"))

    checkpoint, saved = settings.output_dir, str(tmp_path / "saved")
    assert export_saved_model(ExportSettings(init_checkpoint=checkpoint, output_dir=saved, early_exit=True)) < 1e-4
    early = Predictor(checkpoint, depth=DepthSettings(early_exit=True)).predict(_TEXTS)
    assert [row["label"] for row in Predictor(saved).predict(_TEXTS)] == [row["label"] for row in early]
    for name in ("onnx", "litert"):
        folder = str(tmp_path / name)
        asked = {"init_checkpoint": checkpoint, "output_dir": folder, "precision": "float32", "early_exit": True}
        assert export_model(ModelExportSettings(format=name, **asked)) < 1e-4
        about = read_export(folder, place="")
        assert about["early_exit"] == {"head": "classification", **scores["chosen"]}
        found = Predictor(folder).predict(_TEXTS)
        assert [(row["label"], row["layers"]) for row in found] == [(row["label"], row["layers"]) for row in early]
    one = Predictor(checkpoint, depth=DepthSettings(num_layers=1)).predict(_TEXTS)
    assert one != Predictor(checkpoint).predict(_TEXTS)
    with pytest.raises(InputError, match="--patience must be at most 1, two less than the model's layers.*Received 2"):
        Predictor(checkpoint, depth=DepthSettings(patience=2))
    with pytest.raises(InputError, match="--num_layers is for a checkpoint"):
        Predictor(saved, depth=DepthSettings(num_layers=1))
    with pytest.raises(InputError, match="holds a run with --early_exit: give it again"):
        run(dataclasses.replace(settings, early_exit=False, exit_tolerance=0.005))
    with pytest.raises(InputError, match="holds a run of --exit_pooling=pooled: leave the flag out"):
        run(dataclasses.replace(settings, exit_pooling="mean"))


@pytest.mark.slow
def test_exits_learn_by_a_rate_of_their_own(exit_settings, tmp_path):
    def weights_after_a_step(factor):
        changes = {"exit_rate_factor": factor, "num_train_steps": 1, "num_warmup_steps": 0, "do_eval": False}
        settings = dataclasses.replace(exit_settings, output_dir=str(tmp_path / str(factor)), **changes)
        return load_tensors(os.path.join(run(settings)["checkpoint"], "model"))

    least, usual, more = map(weights_after_a_step, (1e-6, 1.0, 11.0))
    for name, value in usual.items():
        if name.startswith("exits/"):
            step = value - least[name]
            assert np.abs(step).max() > 0
            np.testing.assert_allclose(more[name] - value, 10 * step, rtol=1e-2, atol=1e-5)
        else:
            np.testing.assert_array_equal(more[name], value)


@pytest.mark.slow
def test_without_its_exits_it_is_a_plain_model(exit_settings, tmp_path):
    run(exit_settings)
    plain = dataclasses.replace(
        exit_settings,
        init_checkpoint=exit_settings.output_dir,
        output_dir=str(tmp_path / "plain"),
        early_exit=False,
        exit_tolerance=0.005,
        score_layers=True,
        num_train_steps=2,
    )
    results = run(plain)
    assert sorted(results["depth"]["layers"]) == ["1", "2", "3"]
    assert not load_pretrained(plain.output_dir).task.early_exit
    pretrained = load_pretrained(plain.output_dir)
    with pytest.raises(InputError, match="has no exits; run_finetuning --early_exit"):
        chosen_depth.exit_rule(DepthSettings(early_exit=True), pretrained)
    folder = str(tmp_path / "hugging_face")
    convert(ConversionSettings(input=exit_settings.output_dir, output=folder, to_format="hugging_face"))
    ours, theirs = (albert_tf.Predictor(path).predict(_TEXTS) for path in (exit_settings.output_dir, folder))
    for one, other in zip(ours, theirs, strict=True):
        assert list(one["probabilities"].values()) == pytest.approx(list(other["probabilities"].values()), abs=1e-5)


@pytest.mark.slow
def test_a_regression_goes_by_patience_alone(exit_settings):
    folder = exit_settings.data_dir
    for split in ("train", "dev"):
        path = os.path.join(folder, f"{split}.tsv")
        with open(path) as file:
            lines = file.read().splitlines()[1:]
        with open(path, "w") as file:
            file.write("text\tlabel\n" + "\n".join(lines) + "\n")
    settings = dataclasses.replace(
        exit_settings, task_name="classification", task_options=TaskOptions(regression=True), learning_rate=1e-3
    )
    checkpoint = run(settings)["checkpoint"]
    assert read_depth_scores(checkpoint)["difference"] > 0
    answers = Predictor(checkpoint, depth=DepthSettings(patience=1)).predict(_TEXTS)
    assert all(isinstance(row["score"], float) for row in answers)
    with pytest.raises(InputError, match="--exit_confidence is for probabilities"):
        Predictor(checkpoint, depth=DepthSettings(exit_confidence=0.9))
    with pytest.raises(InputError, match="--min_layers must be at most 2, one less than the model's.* Received 3"):
        Predictor(checkpoint, depth=DepthSettings(patience=1, min_layers=3))
