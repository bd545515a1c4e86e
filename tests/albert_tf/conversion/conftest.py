"""Models with random weights, no two of which are alike, a vocabulary of their size, and the libraries of peers."""

import shutil
from pathlib import Path

import keras
import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining

# Sizes that no two axes share, so that a wrong transposition cannot hide.
_SHAPE = {
    "vocab_size": 101,
    "embedding_size": 10,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 17,
}

CONFIGS = {
    "plain": {},
    "groups of unequal size": {"num_hidden_groups": 2},
    "a group for every layer": {"num_hidden_groups": 3, "inner_group_num": 2},
    "inner groups": {"inner_group_num": 2},
    "no projection": {"embedding_size": 24},
    "nothing shared": {"parameter_sharing": "none"},
    "relu": {"hidden_act": "relu", "num_hidden_layers": 2},
    "gelu_new": {"hidden_act": "gelu_new", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
}


@pytest.fixture(scope="session")
def random_model():
    """A function that makes a model of a small config with random weights, biases and LayerNorms too."""

    def make(**changes) -> AlbertForPretraining:
        with keras.device("cpu"):
            model = AlbertForPretraining(AlbertConfig(**{**_SHAPE, **changes}))
        rng = np.random.default_rng(1)
        for name, variable in named_weights(model).items():
            centre = 1.0 if name.endswith("gamma") else 0.0
            variable.assign(centre + 0.1 * rng.standard_normal(variable.shape).astype(np.float32))
        return model

    return make


@pytest.fixture(params=list(CONFIGS.values()), ids=list(CONFIGS))
def any_model(request, random_model) -> AlbertForPretraining:
    """A model of each of CONFIGS."""
    return random_model(**request.param)


@pytest.fixture(scope="module")
def original(model, save, tmp_path_factory) -> Path:
    """A folder that a test file's function `save` wrote of its `model`, not to be changed."""
    folder = tmp_path_factory.mktemp("saved") / "original"
    save(model, str(folder))
    return folder


@pytest.fixture
def folder(original, tmp_path) -> Path:
    """A copy of `original`, to be changed."""
    return shutil.copytree(original, tmp_path / "folder")


@pytest.fixture(scope="session")
def values_of():
    """A function that returns a model's weights as arrays by name."""
    return lambda model: {name: variable.numpy() for name, variable in named_weights(model).items()}


@pytest.fixture(scope="session")
def vocabulary_file(train_pieces):
    """A sentencepiece model of as many pieces as the models of these tests have."""
    rng = np.random.default_rng(0)
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    words = ["".join(rng.choice(syllables, 2)) for _ in range(200)]
    return train_pieces([" ".join(rng.choice(words, 8)) for _ in range(500)], _SHAPE["vocab_size"])


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="install the parity extra")


@pytest.fixture(scope="module")
def transformers(torch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("USE_TF", "0")
        found = pytest.importorskip("transformers", reason="install the parity extra")
        found.logging.set_verbosity_error()
        return found
