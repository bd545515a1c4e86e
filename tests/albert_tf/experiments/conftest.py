"""An experiment in a file, small enough to read, and the steps that it comes to."""

import json

import pytest

from albert_tf.experiments.corpus import Corpus
from albert_tf.experiments.experiment import read_experiment
from albert_tf.experiments.grid import make_units
from albert_tf.experiments.steps import Given

BASE = {
    "model": "albert_tiny",
    "records": {"max_seq_length": 32, "max_predictions_per_seq": 5, "do_lower_case": False},
    "pretraining": {"train_batch_size": 8, "num_warmup_steps": 1},
    "budget": {"steps": 10},
}
VALUES = {
    "question": "Which?",
    "base": BASE,
    "rows": {"first": {}, "second": {"config": {"num_hidden_layers": 1}}},
    "seeds": [1, 2],
}


@pytest.fixture
def write(tmp_path):
    """Writes an experiment's file; returns its path."""

    def write_file(**changes) -> str:
        path = tmp_path / "which.json"
        path.write_text(json.dumps({**VALUES, **changes}))
        return str(path)

    return write_file


@pytest.fixture
def units(write):
    """The units of an experiment's file with changes."""
    corpus = Corpus(Given("train.txt", "t"), Given("held_out.txt", "h"), Given("v.model", "v"), 100)

    def make(corpus=corpus, data=(), num_train_steps=None, **changes):
        return make_units(read_experiment(write(**changes), num_train_steps=num_train_steps), corpus, dict(data))

    return make
