"""The files of a repository that are fetched, by what lies in it."""

import pytest

from albert_tf.published.needed_files import needed_files

_ALONG = ["config.json", "spiece.model", "tokenizer.json", "tokenizer_config.json"]
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


@pytest.mark.parametrize("names", [[], _OTHERS, _ALONG, ["data/model.safetensors"]])
def test_without_weights_nothing_is_taken(names):
    assert needed_files(names) == []
