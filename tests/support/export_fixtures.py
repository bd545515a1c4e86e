"""Fixtures of every test of export: checkpoints of small untrained models with a small vocabulary."""

import dataclasses
import random
from pathlib import Path

import keras
import numpy as np
import pytest

from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder, write_weights
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import named_weights
from albert_tf.tokenization.tokenizer import AlbertTokenizer

VOCAB_SIZE, FINETUNED_LENGTH = 120, 24
HEADS_ASKED = {
    "classification": ("classification", ("good", "bad"), ("text",), "classification"),
    "pair": ("classification", ("good", "bad"), ("text", "text_pair"), "mnli"),
    "multi_label": ("multi_label", ("a", "b", "c"), ("text",), "classification"),
    "regression": ("regression", (), ("text", "text_pair?"), "sts-b"),
    "multiple_choice": ("multiple_choice", (), ("article", "question", "options"), "race"),
    "span": ("span", (), ("question", "context"), "squad_v1"),
    "span_beam": ("span_beam", (), ("question", "context"), "squad_v2"),
    "token_classification": ("token_classification", ("O", "B-X"), ("words?", "text?"), "token_classification"),
    "entities": ("token_classification", ("O", "B-X", "I-X"), ("text",), "entities"),
    "span_categories": ("span_categories", ("X", "Y"), ("text",), "span_categories"),
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
def save_finetuned(export_vocabulary, small_config):
    """A function that writes a checkpoint of a head with random weights into a folder, and returns its model."""

    def save(folder: Path, head, labels=(), fields=("text",), name="mine", options=None, early_exit=False, **settings):
        keras.utils.set_random_seed(3)
        changes = {"vocab_size": VOCAB_SIZE, "max_position_embeddings": 64, "initializer_range": 0.3}
        no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        config = dataclasses.replace(small_config, **changes, **no_dropout)
        own = {"max_seq_length": FINETUNED_LENGTH, "max_span_length": 4, **settings}
        model = make_finetuning_model(
            config, head, len(labels), early_exit=early_exit, max_span_length=own["max_span_length"]
        )
        if head == "span_categories":
            # Half of all spans are found, where a model that learns begins with next to none, and widths tell.
            model.span_categories.bias.assign(np.zeros(len(labels)))
            widths = model.span_categories.width_bias
            widths.assign(np.random.default_rng(3).normal(scale=0.05, size=widths.shape))
        for number, exit_head in enumerate(model.exits.heads if early_exit else ()):
            # Of exits that were trained, none of which is without a bias.
            exit_head.bias.assign(np.random.default_rng(number).normal(scale=0.01, size=exit_head.bias.shape))
        folder.mkdir()
        tokenizer = AlbertTokenizer(export_vocabulary)
        task = FinetunedTask(head, len(labels) or 1, tuple(labels), name, fields, own, options=options or {})
        task = dataclasses.replace(task, early_exit=early_exit)
        vocabulary = {"file": "small.model", "sha256": tokenizer.sha256, "size": tokenizer.vocab_size}
        weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
        write_weights(str(folder), config, weights, vocabulary, task)
        (folder / "small.model").write_bytes(Path(export_vocabulary).read_bytes())
        return model

    return save
