"""A small untrained model with a small vocabulary, exported once for all tests of export."""

import dataclasses
import random
import signal
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder, write_weights
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer

VOCAB_SIZE, LONGEST, MAX_SEQ_LENGTH = 120, 24, 20
FINETUNED_LENGTH = 24
# Seconds, far more than any case takes.
PATIENCE = 300
HEADS_ASKED = {
    "classification": ("classification", ("good", "bad"), ("text",), "classification"),
    "pair": ("classification", ("good", "bad"), ("text", "text_pair"), "mnli"),
    "multi_label": ("multi_label", ("a", "b", "c"), ("text",), "classification"),
    "regression": ("regression", (), ("text", "text_pair?"), "sts-b"),
    "multiple_choice": ("multiple_choice", (), ("article", "question", "options"), "race"),
    "span": ("span", (), ("question", "context"), "squad_v1"),
    "span_beam": ("span_beam", (), ("question", "context"), "squad_v2"),
    "token_classification": ("token_classification", ("O", "B-X"), ("words?", "text?"), "token_classification"),
}


class _NoMoments:
    """A stand-in for the optimizer of a model that was never trained, with moments of 0."""

    name = "lamb"

    def __init__(self, model):
        self._zeros = [np.zeros(variable.shape, np.float32) for variable in model.trainable_variables]

    def moments(self):
        return self._zeros, self._zeros


@pytest.fixture(scope="session")
def save_checkpoint():
    """A function that writes a run's folder with one checkpoint and returns its path."""

    def save(output_dir, model, vocabulary, sentence_task="sop") -> str:
        state = TrainingState(
            step=1,
            examples_seen=1,
            random_seed=0,
            input_files=[],
            optimizer="lamb",
            vocabulary=vocabulary,
            sentence_task=sentence_task,
        )
        CheckpointFolder(str(output_dir)).save(model, _NoMoments(model), state)
        return str(output_dir)

    return save


@pytest.fixture(scope="session")
def train_vocabulary(train_pieces):
    """A function that trains a sentencepiece model on made-up words and returns its path."""

    def run(vocab_size: int, seed: int) -> str:
        rng = random.Random(seed)
        syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
        words = ["".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(100)]
        sentences = [" ".join(rng.choices(words, k=8)) + ", 1995." for _ in range(500)]
        return train_pieces(sentences, vocab_size)

    return run


@pytest.fixture(scope="session")
def export_vocabulary(train_vocabulary) -> str:
    return train_vocabulary(VOCAB_SIZE, seed=0)


@pytest.fixture(scope="session")
def tokenizer(export_vocabulary) -> AlbertTokenizer:
    return AlbertTokenizer(export_vocabulary)


@pytest.fixture(scope="session")
def model(small_config) -> AlbertForPretraining:
    """Weights large enough that every input gives different outputs."""
    keras.utils.set_random_seed(0)
    changes = {"vocab_size": VOCAB_SIZE, "max_position_embeddings": LONGEST, "initializer_range": 0.3}
    return AlbertForPretraining(dataclasses.replace(small_config, attention_probs_dropout_prob=0.0, **changes))


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory, model, tokenizer, save_checkpoint) -> str:
    """A run's folder that knows its vocabulary."""
    vocabulary = {"file": "small.model", "sha256": tokenizer.sha256, "size": VOCAB_SIZE}
    return save_checkpoint(tmp_path_factory.mktemp("run"), model, vocabulary)


@pytest.fixture(scope="session")
def exported(tmp_path_factory, checkpoint, export_vocabulary) -> Path:
    """The SavedModel."""
    from albert_tf.serving.saved_model import export_saved_model
    from albert_tf.serving.settings import ExportSettings

    folder = tmp_path_factory.mktemp("export") / "saved_model"
    settings = ExportSettings(
        init_checkpoint=checkpoint,
        spm_model_file=export_vocabulary,
        output_dir=str(folder),
        max_seq_length=MAX_SEQ_LENGTH,
    )
    assert export_saved_model(settings) < 1e-5
    return folder


@pytest.fixture(scope="session")
def serving(exported):
    """The signatures of the loaded SavedModel."""
    import tensorflow as tf

    return tf.saved_model.load(str(exported)).signatures


@pytest.fixture(scope="session")
def save_finetuned(export_vocabulary, small_config):
    """A function that writes a checkpoint of a head with random weights into a folder, and returns its model."""

    def save(folder: Path, head, labels=(), fields=("text",), name="mine", **settings):
        keras.utils.set_random_seed(3)
        changes = {"vocab_size": VOCAB_SIZE, "max_position_embeddings": 64, "initializer_range": 0.3}
        no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        config = dataclasses.replace(small_config, **changes, **no_dropout)
        model = make_finetuning_model(config, head, len(labels))
        folder.mkdir()
        tokenizer, own = AlbertTokenizer(export_vocabulary), {"max_seq_length": FINETUNED_LENGTH, **settings}
        task = FinetunedTask(head, len(labels) or 1, tuple(labels), name, fields, own)
        vocabulary = {"file": "small.model", "sha256": tokenizer.sha256, "size": tokenizer.vocab_size}
        weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
        write_weights(str(folder), config, weights, vocabulary, task)
        (folder / "small.model").write_bytes(Path(export_vocabulary).read_bytes())
        return model

    return save


@pytest.fixture(scope="session")
def predictors(tmp_path_factory, save_finetuned):
    """{head: Predictor of an untrained model}."""
    from albert_tf.serving.predictor import Predictor

    folder = tmp_path_factory.mktemp("hostile")
    for name, asked in HEADS_ASKED.items():
        save_finetuned(folder / name, *asked)
    return {name: Predictor(str(folder / name)) for name in HEADS_ASKED}


@pytest.fixture(scope="session")
def exports(tmp_path_factory, save_finetuned, exported):
    """An export of a fine-tuned model, and one of a pre-trained model."""
    from albert_tf.serving.saved_model import export_saved_model
    from albert_tf.serving.settings import ExportSettings

    folder = tmp_path_factory.mktemp("hostile_export")
    save_finetuned(folder / "run", *HEADS_ASKED["classification"])
    saved = str(folder / "saved_model")
    export_saved_model(ExportSettings(init_checkpoint=str(folder / "run"), output_dir=saved))
    return {"finetuned": saved, "pretrained": str(exported)}


class _Cases:
    """Counts cases. Each must end in time, in a result or in an error of one line."""

    def __init__(self, title):
        self.title, self.answered, self.refused = title, 0, 0

    def run(self, function, *arguments):
        signal.signal(signal.SIGALRM, self._hang)
        signal.alarm(PATIENCE)
        try:
            result = function(*arguments)
        except (InputError, OSError) as error:
            # The command shows an OSError by its number and the file's name.
            assert "\n" not in str(error) and len(str(error)) < 1000, error
            self.refused += 1
            return None
        finally:
            signal.alarm(0)
        self.answered += 1
        return result

    def _hang(self, *_):
        raise AssertionError(f"{self.title}: a case goes on for more than {PATIENCE} seconds")

    def end(self, fewest, fewest_refused=1):
        answered, total = self.answered, self.answered + self.refused
        sys.stdout.write(f"\n{self.title}: {total} cases, {answered} answered, {self.refused} refused in one line\n")
        assert total >= fewest
        assert self.refused >= fewest_refused


@pytest.fixture
def count_cases():
    """A function of a title that returns a counter of a test's cases; `pytest -s` shows the counts."""
    return _Cases
