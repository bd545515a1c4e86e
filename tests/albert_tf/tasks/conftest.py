"""Shared by the tests of the tasks: a vocabulary, a file written for a test, and scores as a task gives them."""

import json
import random
import string

import pytest

from albert_tf.tasks.split_files import SplitFiles
from albert_tf.tasks.squad import SquadTask
from albert_tf.tokenization.tokenizer import AlbertTokenizer


@pytest.fixture(scope="session")
def tokenizer(train_pieces) -> AlbertTokenizer:
    """A vocabulary of 120 pieces that knows every lower-case ASCII character."""
    rng = random.Random(0)
    characters = string.ascii_lowercase + string.digits + string.punctuation
    words = ["the", "of", "and", "to", "in", "was", "is", "paris", "river", "city"]
    words += ["who", "where", "film", "good", "bad"]
    sentences = [" ".join([*rng.choices(words, k=12), *rng.sample(characters, 6)]) for _ in range(2000)]
    return AlbertTokenizer(train_pieces(sentences, vocab_size=120))


@pytest.fixture
def write(tmp_path):
    """A function of (name, text or bytes) that writes a file below tmp_path and returns its path."""

    def write_file(name: str, contents: str | bytes) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return str(path)

    return write_file


PARAGRAPH = "The river was in the city of paris and the film was good."


def squad(*questions, context=PARAGRAPH):
    """A file of one paragraph; questions are (id, question, answers, impossible), None answers: no labels."""
    qas = []
    for qas_id, question, answers, impossible in questions:
        qa = {"id": qas_id, "question": question}
        if answers is not None:
            qa |= {"answers": [{"text": text, "answer_start": context.find(text)} for text in answers]}
            qa |= {"is_impossible": True} if impossible else {}
        qas.append(qa)
    return {"version": "v", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": qas}]}]}


@pytest.fixture
def squad_contents():
    """The function `squad`."""
    return squad


@pytest.fixture
def make_squad(write, tmp_path):
    """A function of (task name, questions ...) that writes train, dev and test files and returns the task."""

    def make_task(name, *questions, **options):
        contents = json.dumps(squad(*questions))
        for split in ("train", "dev", "test"):
            write(f"squad/{split}-v1.1.json", contents)
        return SquadTask(name, SplitFiles(str(tmp_path / "squad"), ("{split}-v*.json",)), **options)

    return make_task
