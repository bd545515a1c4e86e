"""The files of a repository that are fetched, by what lies in it."""

import dataclasses
import shutil

import pytest
from hub_server import read_folder

from albert_tf.conversion.formats import FORMATS
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.published.needed_files import needed_files

_ALONG = ["bert_config.json", "config.json", "spiece.model", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
_OTHERS = [".gitattributes", "README.md", "tf_model.h5", "rust_model.ot", "onnx/model.onnx", "train_log.jsonl"]


@pytest.mark.parametrize(
    ("weights", "left"),
    [
        (["model.safetensors"], ["pytorch_model.bin", "flax_model.msgpack"]),
        (["model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"], []),
        (["pytorch_model.bin"], ["flax_model.msgpack"]),
        (["pytorch_model.bin.index.json", "pytorch_model-00001-of-00001.bin"], []),
        (["checkpoint.json", "model.index", "model.data-00000-of-00001", "albert_config.json"], ["optimizer.index"]),
        (["model.ckpt-best.index", "model.ckpt-best.data-00000-of-00001"], ["model.ckpt-best.meta"]),
        (["variables/variables.index", "variables/variables.data-00000-of-00001", "assets/30k-clean.model"], []),
        (["model.weights.h5", "task.json", "metadata.json", "assets/tokenizer/vocabulary.spm"], []),
    ],
    ids=lambda names: names[0] if names else "",
)
def test_weights_of_one_form_are_taken_with_config_and_vocabulary(weights, left):
    assert needed_files([*weights, *left, *_OTHERS, *_ALONG]) == sorted([*weights, *_ALONG])


def test_the_steps_of_sentence_transformers_come_along_with_the_numbers_of_a_dense_one():
    steps = ["1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "modules.json"]
    assert needed_files(["model.safetensors", "2_Dense/README.md", *steps]) == sorted(["model.safetensors", *steps])


@pytest.mark.parametrize("names", [[], _OTHERS, _ALONG, ["data/model.safetensors"]])
def test_without_weights_nothing_is_taken(names):
    assert needed_files(names) == []


@pytest.mark.parametrize("format_name", FORMATS)
def test_what_is_taken_is_enough_for_every_format(small_config, small_vocabulary, tmp_path, format_name):
    # A model that every format can hold: BERT's have neither shared parameters nor a projection.
    config = dataclasses.replace(small_config, embedding_size=small_config.hidden_size, parameter_sharing="none")
    model = AlbertForPretraining(config)
    FORMATS[format_name].save(model, str(tmp_path / "whole"), small_vocabulary)
    for name in needed_files([*read_folder(tmp_path / "whole"), *_OTHERS]):
        (tmp_path / "taken" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / "whole" / name, tmp_path / "taken" / name)
    found = load_pretrained(str(tmp_path / "taken"), allow_missing_heads=True)
    assert found.vocabulary["size"] == 60
    left_out = FORMATS[format_name].left_out(config, named_weights(model))
    for name, weight in named_weights(found.model).items():
        assert name in left_out or (weight.numpy() == named_weights(model)[name].numpy()).all()


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (["model.safetensors", *_ALONG], _ALONG),
        (["checkpoint.json", "model.index", "spiece.model"], ["checkpoint.json", "model.index", "spiece.model"]),
        (["model.safetensors", "pieces.model"], ["model.safetensors", "pieces.model"]),
    ],
    ids=["a vocabulary of transformers", "a checkpoint of ours", "a vocabulary by another name"],
)
def test_a_tokenizer_takes_weights_only_where_it_needs_them(names, taken):
    assert needed_files(names, weights=False) == taken
