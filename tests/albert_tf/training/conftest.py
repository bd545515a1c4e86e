"""Short runs to take apart, of pre-training and of fine-tuning, and addresses for several workers."""

import dataclasses
import json
import os
import random
import shutil
import socket

import numpy as np
import pytest

from albert_tf.inputs.manifest import Manifest
from albert_tf.tasks.task import TaskSettings
from albert_tf.training.finetuning_settings import FinetuningSettings
from albert_tf.training.pretraining import run
from albert_tf.training.pretraining_settings import PretrainingSettings
from albert_tf.training.tensor_files import load_tensors
from data_prep.vocabulary import VocabularyTraining, train

STEPS = 12


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

    def write(path: str, sha256: str, size: int = 60, sentence_task: str = "sop") -> None:
        manifest = Manifest(
            files=[{"name": os.path.basename(path), "examples": 50, "bytes": os.path.getsize(path), "sha256": ""}],
            num_examples=50,
            max_seq_length=16,
            max_predictions_per_seq=4,
            sentence_task=sentence_task,
            compression="none",
            vocabulary={"file": "vocabulary.model", "sha256": sha256, "size": size},
        )
        with open(f"{path}.manifest.json", "w") as file:
            file.write(manifest.to_json())

    return write


@pytest.fixture
def settings(write_records, small_config, tmp_path) -> PretrainingSettings:
    """Of a run of twelve steps that takes three checkpoints."""
    config_file = str(tmp_path / "config.json")
    dataclasses.replace(small_config, num_hidden_layers=1).to_json_file(config_file)
    return PretrainingSettings(
        albert_config_file=config_file,
        input_file=write_records("train", 50),
        output_dir=str(tmp_path / "run"),
        max_seq_length=16,
        max_predictions_per_seq=4,
        train_batch_size=8,
        eval_batch_size=8,
        num_train_steps=STEPS,
        num_warmup_steps=1,
        learning_rate=0.01,
        save_checkpoints_steps=4,
        log_steps=3,
        random_seed=1,
        resolved_flags="--seed\n",
    )


@pytest.fixture(scope="session")
def _finished_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("finished") / "run"


@pytest.fixture
def finished(settings, _finished_folder) -> PretrainingSettings:
    """`settings`, of a run that is over: it is made once, and every test has a copy."""
    if not _finished_folder.exists():
        run(dataclasses.replace(settings, output_dir=str(_finished_folder)))
    shutil.copytree(_finished_folder, settings.output_dir)
    return settings


@pytest.fixture(scope="session")
def small_vocabulary(tmp_path_factory) -> str:
    """A sentencepiece model of made-up words."""
    folder = tmp_path_factory.mktemp("vocabulary")
    rng = random.Random(0)
    words = _words("bdfg") + _words("klmn")
    corpus = folder / "corpus.txt"
    corpus.write_text("\n".join(" ".join(rng.choices(words, k=8)) for _ in range(400)), encoding="utf-8")
    train(VocabularyTraining(str(corpus), str(folder / "small"), vocab_size=60))
    return str(folder / "small.model")


def _words(consonants: str) -> list[str]:
    return [first + vowel + second + vowel for first in consonants for second in consonants for vowel in "aeiou"]


@pytest.fixture
def finetuning_settings(tmp_path, small_config, small_vocabulary) -> FinetuningSettings:
    """Of a run of twelve steps on texts of one word or seven, few lengths to compile for; the words tell the label."""
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
        train_batch_size=8,
        eval_batch_size=8,
        num_train_steps=STEPS,
        num_warmup_steps=1,
        learning_rate=0.003,
        save_checkpoints_steps=4,
        log_steps=4,
        random_seed=1,
        resolved_flags="--seed\n",
        num_workers=1,
    )
