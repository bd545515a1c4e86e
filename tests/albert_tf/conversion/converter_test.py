"""Carrying checkpoints between albert_tf and the official format, and starting runs from foreign ones."""

import dataclasses
import json

import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.conversion.converter import convert
from albert_tf.conversion.formats import recognise
from albert_tf.conversion.native import NATIVE
from albert_tf.conversion.official import OFFICIAL, save_official
from albert_tf.conversion.pretrained import initialise, load_pretrained
from albert_tf.conversion.settings import FORMAT_NAMES, ConversionSettings
from albert_tf.exports.saved_model import open_module
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError

VOCAB_SIZE = 101


@pytest.fixture
def model(random_model):
    return random_model(num_hidden_groups=2)


@pytest.fixture
def official(model, tmp_path):
    save_official(model, str(tmp_path / "official"))
    return str(tmp_path / "official")


def test_official_to_ours_and_back_is_the_same_bits(any_model, values_of, vocabulary_file, tmp_path):
    folders = [str(tmp_path / name) for name in ("official", "ours", "official again")]
    save_official(any_model, folders[0], vocabulary_file)
    convert(ConversionSettings(input=folders[0], output=folders[1], to_format="albert_tf"))
    report = convert(ConversionSettings(input=folders[1], output=folders[2], to_format="official"))
    assert report.format == NATIVE.title
    assert not report.missing
    arrays = [OFFICIAL.open(folder).arrays for folder in (folders[0], folders[2])]
    assert set(arrays[0]) == set(arrays[1])
    for name, value in arrays[0].items():
        np.testing.assert_array_equal(value, arrays[1][name], err_msg=name)
    with open(vocabulary_file, "rb") as file:
        original = file.read()
    assert (tmp_path / "official again/small.model").read_bytes() == original
    assert OFFICIAL.open(folders[2]).vocabulary["size"] == VOCAB_SIZE


@pytest.mark.parametrize(
    ("name", "architecture", "outputs"),
    [
        ("keras_hub", None, {"sequence_output", "pooled_output"}),
        ("hugging_face", "AlbertForMaskedLM", {"sequence_output"}),
        ("hugging_face", "AlbertModel", {"sequence_output", "pooled_output"}),
    ],
)
def test_weights_without_every_head_are_asked_for_what_they_have(
    random_model, vocabulary_file, tmp_path, caplog, name, architecture, outputs
):
    save_official(random_model(), str(tmp_path / "all"), vocabulary_file)
    changes = {"input": str(tmp_path / "all"), "output": str(tmp_path / "part"), "to_format": name}
    convert(ConversionSettings(**changes, hugging_face_architecture=architecture))
    module, signatures = open_module(str(tmp_path / "part"))
    assert ("fill_mask" in signatures) == (architecture != "AlbertModel")
    assert "sop" not in signatures
    assert set(module.tokens(*[np.ones((1, 5), np.int32)] * 3)) == outputs
    assert ("no head for masked words: there is its encoder alone" in caplog.text) == (architecture == "AlbertModel")


def test_the_format_is_recognised_by_what_is_there(model, official, tmp_path):
    NATIVE.save(model, str(tmp_path / "ours"))
    assert recognise(official) is OFFICIAL
    assert recognise(str(tmp_path / "ours")) is NATIVE
    with pytest.raises(InputError, match="no checkpoint here: a checkpoint of albert_tf was expected"):
        recognise(official, "albert_tf")
    (tmp_path / "empty").mkdir()
    for name in ("empty", "absent"):
        with pytest.raises(InputError, match=f"{name}: no checkpoint here; give a run's --output_dir"):
            recognise(str(tmp_path / name))


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_a_checkpoint_of_any_format_starts_a_model(random_model, values_of, tmp_path, format_name):
    model = random_model(num_hidden_groups=3, embedding_size=24)
    # Some formats have a word for it that every layer has parameters of its own.
    configs = (model.config, dataclasses.replace(model.config, num_hidden_groups=1, parameter_sharing="none"))
    NATIVE.save(model, str(tmp_path / "ours"))
    there = str(tmp_path / "there")
    convert(ConversionSettings(input=str(tmp_path / "ours"), output=there, to_format=format_name))
    heads = {"keras_hub": ("sentence_order/",), "sentence_transformers": ("masked_lm/", "sentence_order/")}
    no_place = {name for name in values_of(model) if name.startswith(heads.get(format_name, ()))}
    fresh = AlbertForPretraining(model.config)
    initialise(fresh, there, allow_missing_heads=bool(no_place))
    for other in (fresh, load_pretrained(there, allow_missing_heads=bool(no_place)).model):
        assert other.config in configs
        for name, value in values_of(model).items():
            assert (name in no_place) != np.array_equal(values_of(other)[name], value), name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_attention_heads": 4}, "trained with num_attention_heads=3, --albert_config_file has 4"),
        ({"hidden_act": "gelu_erf"}, "trained with hidden_act='gelu', --albert_config_file has 'gelu_erf'"),
    ],
)
def test_weights_that_would_mean_something_else_are_refused(model, official, changes, message):
    other = AlbertForPretraining(dataclasses.replace(model.config, **changes))
    with pytest.raises(InputError, match=message):
        initialise(other, official)
    initialise(AlbertForPretraining(dataclasses.replace(model.config, hidden_act="gelu_new")), official)


def test_every_group_can_start_from_a_foreign_checkpoints_first(model, official):
    other = AlbertForPretraining(dataclasses.replace(model.config, num_hidden_groups=3))
    initialise(other, official, from_group0=True)
    values = {name: variable.numpy() for name, variable in named_weights(other).items()}
    original = named_weights(model)["albert/encoder/block_0_0/feed_forward/output/kernel"].numpy()
    for group in range(3):
        np.testing.assert_array_equal(values[f"albert/encoder/block_{group}_0/feed_forward/output/kernel"], original)
    report = other.load_report
    assert not report.missing and not report.unexpected
    assert all("/group_1/" in name for name in report.skipped["of another group than the first"])


def test_missing_heads_start_afresh_where_allowed(model, official, tmp_path):
    with open(f"{official}/albert_config.json") as file:
        config = AlbertConfig.from_dict(json.load(file))
    arrays = {name: a for name, a in OFFICIAL.open(official).arrays.items() if name.startswith("bert/")}
    (tmp_path / "encoder").mkdir()
    OFFICIAL.write(str(tmp_path / "encoder"), config, arrays, None)
    settings = ConversionSettings(input=str(tmp_path / "encoder"), output=str(tmp_path / "ours"), to_format="albert_tf")
    with pytest.raises(InputError, match="missing masked_lm/.*--allow_missing_heads starts them afresh"):
        convert(settings)
    assert not (tmp_path / "ours").exists()
    report = convert(dataclasses.replace(settings, allow_missing_heads=True))
    assert {name.split("/")[0] for name in report.missing} == {"masked_lm", "sentence_order"}
    fresh = AlbertForPretraining(config)
    with pytest.raises(InputError, match="--allow_missing_heads"):
        initialise(fresh, str(tmp_path / "encoder"))
    before = named_weights(fresh)["masked_lm/transform/kernel"].numpy()
    initialise(fresh, str(tmp_path / "encoder"), allow_missing_heads=True)
    np.testing.assert_array_equal(named_weights(fresh)["masked_lm/transform/kernel"].numpy(), before)


def test_a_vocabulary_that_is_not_the_models_is_refused(official, model, vocabulary_file, tmp_path):
    ours = str(tmp_path / "ours")
    convert(ConversionSettings(input=official, output=ours, to_format="albert_tf", spm_model_file=vocabulary_file))
    assert load_pretrained(ours).vocabulary_file == f"{ours}/small.model"
    other = tmp_path / "other.model"
    other.write_bytes(b"not a vocabulary")
    settings = ConversionSettings(
        input=ours, output=str(tmp_path / "next"), to_format="official", spm_model_file=str(other)
    )
    with pytest.raises(InputError, match="other.model"):
        convert(settings)
    assert not (tmp_path / "next").exists()


def test_what_a_format_cannot_hold_leaves_nothing_behind(random_model, tmp_path):
    NATIVE.save(random_model(parameter_sharing="ffn"), str(tmp_path / "half"))
    settings = ConversionSettings(input=str(tmp_path / "half"), output=str(tmp_path / "out"), to_format="official")
    with pytest.raises(InputError, match="parameter_sharing"):
        convert(settings)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["half"]


def test_a_run_cannot_be_resumed_from_weights_alone(model, tmp_path):
    from albert_tf.checkpoints.run_checkpoints import restore
    from albert_tf.optimization.build import build_optimizer

    NATIVE.save(model, str(tmp_path / "ours"))
    optimizer = build_optimizer("lamb", 0.1)
    with pytest.raises(InputError, match="holds weights alone"):
        restore(str(tmp_path / "ours"), model, optimizer)
