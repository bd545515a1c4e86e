"""Folders for sentence-transformers: written of every kind of model, recognised, read again with their pooling."""

import json
import logging
import shutil

import numpy as np
import pytest

from albert_tf import door
from albert_tf.conversion.converter import convert
from albert_tf.conversion.formats import recognise
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.conversion.sentence_modules import write_modules
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.heads.pooling import Pooling
from albert_tf.heads.vector_dense import VectorDense
from albert_tf.runtime.errors import InputError

FORMAT = "sentence_transformers"
BERT = {"embedding_size": 24, "parameter_sharing": "none"}
HEADS = ("masked_lm/", "sentence_order/")


@pytest.fixture(
    scope="module", params=[pytest.param({}, id="ALBERT"), pytest.param(BERT, id="BERT", marks=pytest.mark.slow)]
)
def model(request, random_model):
    return random_model(**request.param)


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory, vocabulary_file):
    folder = tmp_path_factory.mktemp("sentences") / "model"
    door.save(model, str(folder), FORMAT, vocabulary_file)
    return folder


def test_the_encoder_comes_home_with_its_pooling_and_its_vocabulary(saved, model, values_of):
    assert recognise(str(saved)).name == FORMAT
    found = load_pretrained(str(saved))
    assert found.pooling == Pooling("mean", True, 17)
    assert found.vocabulary_file is not None
    values, others = values_of(model), values_of(found.model)
    assert [
        name for name in values if not np.array_equal(values[name], others[name]) and not name.startswith(HEADS)
    ] == []
    assert found.lacks("masked_lm/") and not found.lacks("albert/")


def test_config_and_weights_are_of_a_model_without_heads(saved, model):
    config = json.loads((saved / "config.json").read_text())
    is_bert = model.config.parameter_sharing == "none"
    assert config["architectures"] == ["BertModel" if is_bert else "AlbertModel"]
    assert (saved / "tokenizer.json").exists()


def test_a_conversion_carries_the_pooling_and_takes_another(saved, tmp_path):
    convert(ConversionSettings(input=str(saved), output=str(tmp_path / "same"), to_format=FORMAT))
    assert load_pretrained(str(tmp_path / "same")).pooling == Pooling("mean", True, 17)
    asked = {"pooling": "cls", "normalize": False}
    convert(ConversionSettings(input=str(saved), output=str(tmp_path / "other"), to_format=FORMAT, **asked))
    assert load_pretrained(str(tmp_path / "other")).pooling == Pooling("cls", False, 17)


@pytest.mark.slow
def test_a_format_that_does_not_say_it_is_warned_of_and_refuses_to_be_told(saved, tmp_path, caplog):
    allowed = {"input": str(saved), "allow_missing_heads": True}
    with caplog.at_level(logging.WARNING):
        convert(ConversionSettings(output=str(tmp_path / "theirs"), to_format="official", **allowed))
    assert "does not say how a text becomes one vector: mean, of length 1" in caplog.text
    settings = ConversionSettings(output=str(tmp_path / "no"), to_format="official", normalize=False, **allowed)
    with pytest.raises(InputError, match="--normalize goes with --to=sentence_transformers, not with --to=official"):
        convert(settings)
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
def test_what_load_found_goes_along_when_it_is_saved(saved, tmp_path):
    convert(ConversionSettings(input=str(saved), output=str(tmp_path / "a"), to_format=FORMAT, pooling="cls"))
    door.save(door.load(str(tmp_path / "a")), str(tmp_path / "b"), FORMAT)
    assert load_pretrained(str(tmp_path / "b")).pooling == Pooling("cls", True, 17)


@pytest.mark.slow
def test_a_dense_layer_goes_from_format_to_format_and_no_further(saved, model, tmp_path, caplog):
    size = model.config.hidden_size
    kernel = np.random.default_rng(2).standard_normal((size, 7), np.float32)
    dense = VectorDense(7, "tanh", kernel, np.ones(7, np.float32))
    known = door.load(str(saved))
    known.pooling = Pooling("mean", True, 12, dense)
    door.save(known, str(tmp_path / "a"), FORMAT)
    allowed = {"allow_missing_heads": True}
    for source, target, name in (("a", "b", "albert_tf"), ("b", "c", FORMAT)):
        settings = ConversionSettings(
            input=str(tmp_path / source), output=str(tmp_path / target), to_format=name, **allowed
        )
        convert(settings)
        found = load_pretrained(str(tmp_path / target))
        assert found.pooling == known.pooling
        np.testing.assert_array_equal(found.pooling.dense.kernel, kernel)
        assert not found.lacks("albert/")
    with caplog.at_level(logging.WARNING):
        convert(
            ConversionSettings(input=str(tmp_path / "b"), output=str(tmp_path / "d"), to_format="official", **allowed)
        )
    assert "does not say how a text becomes one vector: mean, a dense layer to 7 numbers" in caplog.text


def test_a_dense_layer_of_another_width_is_named(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "model")
    write_modules(str(tmp_path / "model"), Pooling(dense=VectorDense(2, "tanh", np.eye(5, 2), np.ones(2))), 24, 17)
    with pytest.raises(InputError, match="takes vectors of 5 numbers; the model's have 24"):
        load_pretrained(str(tmp_path / "model"))


def test_float16_halves_the_file_and_rounds_each_weight(saved, values_of, tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        settings = {"to_format": FORMAT, "weight_type": "float16"}
        convert(ConversionSettings(input=str(saved), output=str(tmp_path / "half"), **settings))
    assert "rounded to float16; read back, every number is the same" in caplog.text
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (saved, tmp_path / "half")]
    assert sizes[1] < 0.6 * sizes[0]
    whole, half = (values_of(load_pretrained(str(folder)).model) for folder in (saved, tmp_path / "half"))
    for name, value in whole.items():
        if not name.startswith(HEADS):
            np.testing.assert_array_equal(half[name], value.astype("float16").astype("float32"), err_msg=name)
    assert json.loads((tmp_path / "half/config.json").read_text())["dtype"] == "float32"


def test_what_float16_cannot_hold_is_refused_and_leaves_nothing(model, saved, tmp_path):
    settings = {"input": str(saved), "output": str(tmp_path / "half"), "weight_type": "float16"}
    with pytest.raises(InputError, match="--weight_type=float16 is for the formats of Hugging Face and sentence-tra"):
        convert(ConversionSettings(**settings, to_format="official", allow_missing_heads=True))
    kernel = model.albert.embeddings.word_embeddings
    before = kernel.numpy()
    kernel.assign(np.full_like(before, 1e5))
    door.save(model, str(tmp_path / "large"), FORMAT)
    kernel.assign(before)
    with pytest.raises(InputError, match=r"ends at 65504, and albert/embeddings/word_embeddings has larger numbers"):
        convert(ConversionSettings(**{**settings, "input": str(tmp_path / "large")}, to_format=FORMAT))
    assert not (tmp_path / "half").exists()
