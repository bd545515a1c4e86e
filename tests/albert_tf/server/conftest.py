"""Checkpoints of small untrained models, as the server loads them."""

import dataclasses
import shutil

import keras
import pytest
from export_fixtures import HEADS_ASKED, VOCAB_SIZE

from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer

LONGEST = 24


@pytest.fixture(autouse=True)
def _same_start() -> None:
    """Sets no seed, in place of the fixture of all tests: it would make a graph that is no export be traced anew."""
    InputError.in_command = True


@pytest.fixture(scope="session")
def checkpoint_of(tmp_path_factory, small_config, export_vocabulary, save_checkpoint, save_finetuned):
    """A function of "pretraining" or a name of HEADS_ASKED, to the path of a checkpoint, made once."""
    made = {}

    def make(name):
        if name in made:
            return made[name]
        folder = tmp_path_factory.mktemp("served") / name
        if name == "pretraining":
            keras.utils.set_random_seed(0)
            changes = {"vocab_size": VOCAB_SIZE, "max_position_embeddings": LONGEST, "initializer_range": 0.3}
            config = dataclasses.replace(small_config, attention_probs_dropout_prob=0.0, **changes)
            tokenizer = AlbertTokenizer(export_vocabulary)
            vocabulary = {"file": "small.model", "sha256": tokenizer.sha256, "size": VOCAB_SIZE}
            save_checkpoint(folder, AlbertForPretraining(config), vocabulary)
            shutil.copy(export_vocabulary, folder / "small.model")
        else:
            head, labels, fields, task = HEADS_ASKED[name]
            save_finetuned(folder, head, labels, fields, task)
        made[name] = str(folder)
        return made[name]

    return make
