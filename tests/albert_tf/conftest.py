"""Shared by the tests of several rooms: a config, short runs to take apart, records to read, free addresses."""

import dataclasses
import functools
import json
import os
import random
import shutil
import socket
from collections.abc import Iterable
from pathlib import Path

import export_fixtures
import hub_server
import keras
import numpy as np
import pytest
import random_records
import served_models
from random_records import PREDICTIONS, SEQUENCE_LENGTH

from albert_tf.checkpoints.tensor_files import load_tensors
from albert_tf.config import AlbertConfig
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.models.albert import AlbertModel
from albert_tf.pretraining.pretrain import run
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.records.manifest import Manifest
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.text.vocabulary import VocabularyTraining, train

# Made once for all rooms that export models and ask them.
export_vocabulary, train_vocabulary = export_fixtures.export_vocabulary, export_fixtures.train_vocabulary
save_checkpoint, save_finetuned = export_fixtures.save_checkpoint, export_fixtures.save_finetuned
exported_weights, export_tokenizer = served_models.exported_weights, served_models.export_tokenizer
export_checkpoint, export_signatures = served_models.export_checkpoint, served_models.export_signatures
exported, exports, predictors = served_models.exported, served_models.exports, served_models.predictors
portable_export, count_cases = served_models.portable_export, served_models.count_cases

STEPS = 12
_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))
# Variables that say where published weights are, and who asks for them.
_OF_HUBS = ("HF_", "HUGGING", "ALBERT_TF_", "XDG_")
# Settings of a short run, of pre-training or of fine-tuning, that takes three checkpoints.
_SHORT_RUN = {
    **{"train_batch_size": 8, "eval_batch_size": 8, "num_train_steps": STEPS, "num_warmup_steps": 1},
    **{"save_checkpoints_steps": 4, "random_seed": 1, "resolved_flags": "--seed\n"},
}


@pytest.fixture(scope="session")
def small_config() -> AlbertConfig:
    """A model that trains in milliseconds, with dropout."""
    return AlbertConfig(
        vocab_size=60,
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=SEQUENCE_LENGTH,
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.1,
    )


@pytest.fixture
def three_layers(small_config) -> AlbertConfig:
    """`small_config` with room for three groups."""
    return dataclasses.replace(small_config, num_hidden_layers=3)


@pytest.fixture
def classifier_around_albert(small_config) -> keras.Model:
    """A model of a user's own with the encoder in it: ids to two scores."""

    class Classifier(keras.Model):
        def __init__(self):
            super().__init__()
            self.albert, self.head = AlbertModel(small_config), keras.layers.Dense(2)

        def call(self, ids, training=False):
            return self.head(self.albert(ids, training=training)["pooled_output"])

    return Classifier()


@pytest.fixture
def write_records(tmp_path):
    """A function that writes a file of `count` random records and returns its path."""
    return functools.partial(random_records.write_records, tmp_path)


@pytest.fixture
def random_batch():
    """A function of (rng, count, max_length, separated): an InstanceBatch without predictions, ids below 60."""
    return random_records.random_batch


@pytest.fixture
def write_unmasked_records(tmp_path):
    """A function that writes files of `count` random records without masks each, their manifest; returns the paths."""
    return functools.partial(random_records.write_unmasked_records, tmp_path)


@pytest.fixture
def free_addresses():
    """A function that finds addresses on this machine at which nothing listens."""

    def find(number: int) -> list[str]:
        sockets = [socket.socket() for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
        for one in sockets:
            one.close()
        return addresses

    return find


@pytest.fixture
def read_weights():
    """A function of a run's folder and a step, to the weights and moments of that checkpoint."""

    def read(output_dir: str, step: int = STEPS) -> dict[str, np.ndarray]:
        folder = os.path.join(output_dir, f"checkpoint-{step:08d}")
        return load_tensors(os.path.join(folder, "model")) | load_tensors(os.path.join(folder, "optimizer"))

    return read


@pytest.fixture
def read_log():
    """A function of a run's folder, to the lines of its log."""

    def read(output_dir: str) -> list[dict]:
        with open(os.path.join(output_dir, "train_log.jsonl")) as file:
            return [json.loads(line) for line in file]

    return read


@pytest.fixture
def write_manifest():
    """A function that writes a manifest beside a record file of 50 examples, as create_pretraining_data would."""

    def write(path: str, sha256: str, size: int = 60, sentence_task: str = "sop", **changes) -> None:
        manifest = Manifest(
            files=[{"name": os.path.basename(path), "examples": 50, "bytes": os.path.getsize(path), "sha256": ""}],
            num_examples=50,
            max_seq_length=16,
            max_predictions_per_seq=4,
            sentence_task=sentence_task,
            compression="none",
            vocabulary={"file": "vocabulary.model", "sha256": sha256, "size": size},
            **changes,
        )
        with open(f"{path}.manifest.json", "w") as file:
            file.write(manifest.to_json())

    return write


@pytest.fixture
def settings(write_records, small_config, tmp_path) -> PretrainingSettings:
    """Settings of a pre-training of twelve steps that takes three checkpoints."""
    config_file = str(tmp_path / "config.json")
    dataclasses.replace(small_config, num_hidden_layers=1).to_json_file(config_file)
    return PretrainingSettings(
        albert_config_file=config_file,
        input_file=write_records("train", 50),
        output_dir=str(tmp_path / "run"),
        max_seq_length=SEQUENCE_LENGTH,
        max_predictions_per_seq=PREDICTIONS,
        learning_rate=0.01,
        log_steps=3,
        **_SHORT_RUN,
    )


@pytest.fixture(scope="session")
def _finished_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("finished") / "run"


@pytest.fixture
def finished(settings, _finished_folder) -> PretrainingSettings:
    """Settings of a finished run: `settings`, with a copy of a run made once for all tests."""
    if not _finished_folder.exists():
        run(dataclasses.replace(settings, output_dir=str(_finished_folder)))
    shutil.copytree(_finished_folder, settings.output_dir)
    return settings


@pytest.fixture(scope="session")
def train_pieces(tmp_path_factory):
    """A function of (sentences, vocab_size) that trains a sentencepiece model on them and returns its path."""

    def train_model(sentences: Iterable[str], vocab_size: int) -> str:
        folder = tmp_path_factory.mktemp("vocabulary")
        corpus = folder / "corpus.txt"
        corpus.write_text("\n".join(sentences), encoding="utf-8")
        train(VocabularyTraining(str(corpus), str(folder / "small"), vocab_size=vocab_size))
        return str(folder / "small.model")

    return train_model


@pytest.fixture(scope="session")
def official_model(shared: Path) -> str:
    """The published English vocabulary."""
    return str(shared / "data" / "albert_vocab" / "spiece.model")


@pytest.fixture(scope="session")
def official_tokenizer(official_model) -> AlbertTokenizer:
    """The published English vocabulary's."""
    return AlbertTokenizer(official_model)


@pytest.fixture(scope="session")
def small_vocabulary(train_pieces) -> str:
    """A sentencepiece model of made-up words."""
    rng = random.Random(0)
    words = _words("bdfg") + _words("klmn")
    return train_pieces([" ".join(rng.choices(words, k=8)) for _ in range(400)], vocab_size=60)


def _words(consonants: str) -> list[str]:
    return [first + vowel + second + vowel for first in consonants for second in consonants for vowel in "aeiou"]


@pytest.fixture
def finetuning_settings(tmp_path, small_config, small_vocabulary) -> FinetuningSettings:
    """Settings of a fine-tuning of twelve steps on texts of one word or seven, so that few lengths are compiled.

    The words of a text decide its label.
    """
    rng = random.Random(1)
    config_file = str(tmp_path / "config.json")
    changes = {"vocab_size": 60, "max_position_embeddings": 48, "initializer_range": 0.1, "num_hidden_layers": 1}
    dataclasses.replace(small_config, **changes).to_json_file(config_file)
    (tmp_path / "data").mkdir()
    for split, count in (("train", 60), ("dev", 22), ("test", 7)):
        lines = ["index\tsentence" if split == "test" else "sentence\tlabel"]
        for index in range(count):
            label = rng.randrange(2)
            text = " ".join(rng.choices(_words("klmn" if label else "bdfg"), k=rng.choice((1, 7))))
            lines.append(f"{index}\t{text}" if split == "test" else f"{text}\t{label}")
        (tmp_path / "data" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return FinetuningSettings(
        task_name="sst-2",
        data_dir=str(tmp_path / "data"),
        output_dir=str(tmp_path / "run"),
        albert_config_file=config_file,
        spm_model_file=small_vocabulary,
        task_settings=TaskSettings(max_seq_length=48),
        do_eval=True,
        learning_rate=0.003,
        log_steps=4,
        num_workers=1,
        **_SHORT_RUN,
    )


@pytest.fixture
def hub():
    """A hub and an archive server on 127.0.0.1, which take uploads with a token."""
    with hub_server.serve() as served:
        yield served


@pytest.fixture
def hub_environment(hub, tmp_path):
    """The environment of a process that knows `hub` alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_HUBS)}
    kept |= {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "hf"), "HOME": str(tmp_path)}
    kept |= {"ALBERT_TF_ARCHIVES": f"{hub.address}/archives", "ALBERT_TF_CACHE": str(tmp_path / "cache")}
    path = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
    kept |= {"PYTHONPATH": path, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "HF_HUB_DISABLE_XET": "1"}
    return kept
