"""Vectors beside those of sentence-transformers on the same folder: of an ALBERT, of a BERT, and of its own making."""

import numpy as np
import pytest

from albert_tf import door
from albert_tf.heads.pooling import Pooling
from albert_tf.heads.vector_dense import VectorDense
from albert_tf.serving.embedder import Embedder

pytestmark = pytest.mark.parity

# Of vectors of length 1: float32 of two engines differs by 1.2e-7 on one processor, by 1.6e-6 on another.
TOLERANCE = 1e-5
RANDOM = np.random.default_rng(3)
# Of the 24 hidden units of the models here.
DENSES = [
    VectorDense(
        size, activation, RANDOM.standard_normal((24, size), np.float32), RANDOM.standard_normal(size, np.float32)
    )
    for size, activation in ((36, "identity"), (8, "tanh"))
]
BERT = {"embedding_size": 24, "parameter_sharing": "none"}
TEXTS = ["babe dika tuko.", "bu", "", "Gafe, 1995 nilo!", "pomu rasi " * 20]


@pytest.fixture(scope="module")
def sentence_transformers(transformers):
    return pytest.importorskip("sentence_transformers", reason="install the parity extra")


def largest_error(sentence_transformers, folder):
    theirs = sentence_transformers.SentenceTransformer(folder, device="cpu").encode(TEXTS)
    return float(np.abs(Embedder(folder).embed(TEXTS) - theirs).max())


@pytest.mark.parametrize("config", [{}, BERT], ids=["ALBERT", "BERT"])
@pytest.mark.parametrize(
    "pooling",
    [Pooling(), Pooling("cls"), Pooling("mean", False), *(Pooling(dense=dense) for dense in DENSES)],
    ids=str,
)
def test_the_folder_that_we_write_gives_the_same_vectors(
    random_model, vocabulary_file, sentence_transformers, config, pooling, tmp_path
):
    model = random_model(**config)
    model.pooling = pooling
    folder = str(tmp_path / "model")
    door.save(model, folder, "sentence_transformers", vocabulary_file)
    assert largest_error(sentence_transformers, folder) < TOLERANCE * (1 if pooling.normalize else 10)


@pytest.mark.parametrize("dense", [None, *DENSES])
def test_the_folder_that_they_write_gives_the_same_vectors(
    random_model, vocabulary_file, sentence_transformers, dense, tmp_path
):
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    model = random_model()
    model.pooling = Pooling("cls", True, 9, dense)
    door.save(model, ours, "sentence_transformers", vocabulary_file)
    sentence_transformers.SentenceTransformer(ours, device="cpu").save(theirs)
    assert Embedder(theirs).pooling == Pooling("cls", True, 9, dense)
    assert largest_error(sentence_transformers, theirs) < TOLERANCE
