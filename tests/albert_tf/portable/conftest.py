"""Checkpoints of small untrained models for the tests of portable exports."""

import dataclasses
from pathlib import Path

import export_page
import keras
import pytest
from export_fixtures import HEADS_ASKED, VOCAB_SIZE

from albert_tf.checkpoints.run_checkpoints import write_weights
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining

# Of the tests of the page that asks an export in a browser.
site, address, browser = export_page.site, export_page.address, export_page.browser
exported, page = export_page.exported, export_page.page


@pytest.fixture(scope="session")
def random_model():
    """A function that makes an AlbertForPretraining whose every input gives different outputs, of a config."""

    def make(config) -> AlbertForPretraining:
        keras.utils.set_random_seed(0)
        return AlbertForPretraining(config)

    return make


@pytest.fixture(scope="session")
def portable_config(small_config):
    """Three layers, so that the last differs from those that share a loop."""
    changes = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.3}
    sizes = {"vocab_size": VOCAB_SIZE, "max_position_embeddings": 64, "num_hidden_layers": 3}
    return dataclasses.replace(small_config, **changes, **sizes)


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory, random_model, portable_config, save_finetuned, export_vocabulary):
    """{head: folder of a checkpoint}: "pretraining" and those of fine-tuning."""
    folder = tmp_path_factory.mktemp("checkpoints")
    found = {name: str(folder / name) for name in (*HEADS_ASKED, "pretraining")}
    for name, asked in HEADS_ASKED.items():
        save_finetuned(folder / name, *asked)
    model = random_model(portable_config)
    (folder / "pretraining").mkdir()
    weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
    write_weights(found["pretraining"], portable_config, weights, None)
    (folder / "pretraining" / "small.model").write_bytes(Path(export_vocabulary).read_bytes())
    return found
