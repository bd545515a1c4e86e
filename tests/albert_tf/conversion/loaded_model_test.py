"""Thresholds, sentence task, length, config and random heads: from `load` to `save`, and by a conversion to ours."""

import dataclasses

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints.checkpoint_evaluation import BEST_METRIC, read_evaluation, write_evaluation
from albert_tf.checkpoints.depth_scores import read_depth_scores, write_depth_scores
from albert_tf.conversion.converter import convert
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.exports.export_source import with_thresholds
from albert_tf.models.named_weights import named_weights
from albert_tf.runtime.errors import InputError

# What was found on the dev split -> the task's option afterwards.
_OPEN = [
    ({"label_threshold": "each"}, "mine", {"threshold a": 0.25, "threshold b": 0.75}, "0.25,0.75"),
    ({"label_threshold": "one"}, "mine", {"threshold": 0.125}, "0.125,0.125"),
    ({}, "squad_v2", {"best_f1_thresh": -1.5}, -1.5),
]


@pytest.fixture
def save():
    """Writes a model as a checkpoint of a format."""
    return lambda model, folder, name="albert_tf": albert_tf.save(model, folder, name)


def _convert(source, target, name="albert_tf", **changes):
    convert(ConversionSettings(input=str(source), output=str(target), to_format=name, **changes))


@pytest.mark.parametrize(("options", "name", "scores", "wanted"), _OPEN)
def test_thresholds_of_the_dev_split_go_along(options, name, scores, wanted, save_finetuned, tmp_path):
    head = "span" if name == "squad_v2" else "multi_label"
    save_finetuned(tmp_path / "run", head, ("a", "b"), name=name, options=options)
    write_evaluation(str(tmp_path / "run"), {BEST_METRIC: "f1", "f1": 0.5, **scores})
    _convert(tmp_path / "run", tmp_path / "converted")
    albert_tf.save(albert_tf.load(tmp_path / "run"), tmp_path / "saved")
    option = "null_score_diff_threshold" if name == "squad_v2" else "label_threshold"
    for folder in ("run", "converted", "saved"):
        found = with_thresholds(load_pretrained(str(tmp_path / folder)))
        assert found.task.options[option] == wanted, folder
    assert read_evaluation(str(tmp_path / "converted"))["f1"] == 0.5


def test_the_rule_of_early_exit_goes_along(save_finetuned, tmp_path):
    save_finetuned(tmp_path / "run", "classification", ("a", "b"), early_exit=True)
    scores = {"metric": "accuracy", "layers": {"1": 0.5}, "chosen": {"confidence": 0.9}}
    write_depth_scores(str(tmp_path / "run"), scores)
    _convert(tmp_path / "run", tmp_path / "converted")
    assert read_depth_scores(str(tmp_path / "converted")) == scores


def test_the_sentence_task_goes_along(random_model, save, tmp_path, caplog):
    save(random_model(), tmp_path / "sop")
    model = albert_tf.load(tmp_path / "sop")
    model.sentence_task = "none"
    albert_tf.save(model, tmp_path / "a")
    _convert(tmp_path / "a", tmp_path / "b")
    albert_tf.save(albert_tf.load(tmp_path / "b"), tmp_path / "c")
    assert "does not say so" not in caplog.text
    assert [load_pretrained(str(tmp_path / name)).sentence_task for name in "abc"] == ["none"] * 3
    albert_tf.save(albert_tf.load(tmp_path / "c"), tmp_path / "d", "official")
    assert "trained with --sentence_task=none; an official checkpoint does not say so" in caplog.text


@pytest.mark.parametrize("name", ["albert_tf", "official", "hugging_face"])
def test_heads_that_are_random_are_no_part_of_what_is_saved(name, random_model, save, tmp_path, caplog):
    save(random_model(), tmp_path / "whole", "keras_hub")
    model = albert_tf.load(tmp_path / "whole")
    missing = set(model.load_report.missing)
    assert any(part.startswith("sentence_order/") for part in missing)
    albert_tf.save(model, tmp_path / "saved", name)
    assert "goes without" in caplog.text
    assert set(albert_tf.load(tmp_path / "saved").load_report.missing) == missing
    # Those that were trained since are.
    for part in missing:
        named_weights(model)[part].assign_add(np.ones_like(named_weights(model)[part]))
    albert_tf.save(model, tmp_path / "trained", name)
    assert not albert_tf.load(tmp_path / "trained").load_report.missing


@pytest.mark.parametrize("name", ["albert_tf", "official", "hugging_face", "keras_hub", "sentence_transformers"])
def test_weights_are_written_in_float32_whatever_the_model_computes_in(name, random_model, save, tmp_path):
    save(random_model(), tmp_path / "run")
    model = albert_tf.load(tmp_path / "run", dtype="bfloat16")
    albert_tf.save(model, tmp_path / "saved", name)
    found = named_weights(albert_tf.load(tmp_path / "saved"))
    for part, value in named_weights(model).items():
        if not part.startswith(("masked_lm/", "sentence_order/")):
            assert found[part].dtype == "float32"
            np.testing.assert_array_equal(found[part].numpy(), value.numpy().astype("float32"))


def test_vectors_of_a_fine_tuned_model_are_of_texts_of_its_length(save_finetuned, tmp_path):
    save_finetuned(tmp_path / "run", "classification", ("a", "b"))
    length = load_pretrained(str(tmp_path / "run")).task.settings["max_seq_length"]
    albert_tf.save(albert_tf.load(tmp_path / "run"), tmp_path / "saved", "sentence_transformers")
    _convert(tmp_path / "run", tmp_path / "converted", "sentence_transformers")
    for folder in ("saved", "converted"):
        assert load_pretrained(str(tmp_path / folder)).pooling.max_seq_length == length


@pytest.mark.parametrize("name", ["albert_tf", "official", "hugging_face", "keras_hub"])
def test_a_config_by_which_the_weights_would_mean_something_else_is_refused(name, random_model, save, tmp_path):
    model = random_model()
    save(model, tmp_path / "run")
    albert_tf.save(albert_tf.load(tmp_path / "run"), tmp_path / "saved", name)
    config = tmp_path / "config.json"
    for changes in ({"num_attention_heads": 4}, {"hidden_act": "relu"}):
        dataclasses.replace(model.config, **changes).to_json_file(str(config))
        with pytest.raises(InputError, match=f"was trained with .*{next(iter(changes))}="):
            albert_tf.load(tmp_path / "saved", config_file=config)
    dataclasses.replace(model.config, hidden_dropout_prob=0.25).to_json_file(str(config))
    assert albert_tf.load(tmp_path / "saved", config_file=config).config.hidden_dropout_prob == 0.25


def test_the_other_form_of_gelu_may_be_given(random_model, save, tmp_path):
    model = random_model()
    save(model, tmp_path / "saved", "hugging_face")
    dataclasses.replace(model.config, hidden_act="gelu_erf").to_json_file(str(tmp_path / "config.json"))
    assert albert_tf.load(tmp_path / "saved", config_file=tmp_path / "config.json").config.hidden_act == "gelu_erf"


def test_a_config_may_be_given_in_place_of_one_that_is_beyond_ours(random_model, save, tmp_path, caplog):
    model = random_model()
    save(model, tmp_path / "saved", "hugging_face")
    (tmp_path / "saved" / "config.json").write_text('{"model_type": "albert", "hidden_act": "swish"}')
    model.config.to_json_file(str(tmp_path / "config.json"))
    albert_tf.load(tmp_path / "saved", config_file=tmp_path / "config.json")
    assert "the config given is taken, not that of" in caplog.text
