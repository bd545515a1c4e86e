"""A small untrained model with a small vocabulary, exported once for all tests of export."""

import random
from pathlib import Path

import keras
import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.training.checkpoint_state import TrainingState
from albert_tf.training.checkpoints import CheckpointFolder
from data_prep.vocabulary import VocabularyTraining, train

VOCAB_SIZE, LONGEST, MAX_SEQ_LENGTH = 120, 24, 20


class _NoMoments:
    """What a checkpoint asks of an optimizer, for a model that was never trained."""

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
def train_vocabulary(tmp_path_factory):
    """A function that trains a sentencepiece model on made-up words and returns its path."""

    def run(vocab_size: int, seed: int) -> str:
        folder = tmp_path_factory.mktemp("export_vocabulary")
        rng = random.Random(seed)
        syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
        words = ["".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(100)]
        sentences = [" ".join(rng.choices(words, k=8)) + ", 1995." for _ in range(500)]
        corpus = folder / "corpus.txt"
        corpus.write_text("\n".join(sentences), encoding="utf-8")
        train(VocabularyTraining(str(corpus), str(folder / "small"), vocab_size=vocab_size))
        return str(folder / "small.model")

    return run


@pytest.fixture(scope="session")
def export_vocabulary(train_vocabulary) -> str:
    return train_vocabulary(VOCAB_SIZE, seed=0)


@pytest.fixture(scope="session")
def tokenizer(export_vocabulary) -> AlbertTokenizer:
    return AlbertTokenizer(export_vocabulary)


@pytest.fixture(scope="session")
def model() -> AlbertForPretraining:
    """Weights large enough that every input gives other outputs."""
    keras.utils.set_random_seed(0)
    return AlbertForPretraining(
        AlbertConfig(
            vocab_size=VOCAB_SIZE,
            embedding_size=8,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=LONGEST,
            hidden_dropout_prob=0.1,
            initializer_range=0.3,
        )
    )


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory, model, tokenizer, save_checkpoint) -> str:
    """A run's folder that knows its vocabulary."""
    vocabulary = {"file": "small.model", "sha256": tokenizer.sha256, "size": VOCAB_SIZE}
    return save_checkpoint(tmp_path_factory.mktemp("run"), model, vocabulary)


@pytest.fixture(scope="session")
def exported(tmp_path_factory, checkpoint, export_vocabulary) -> Path:
    """The SavedModel."""
    from albert_tf.export.saved_model import ExportSettings, export_saved_model

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
