"""The small model that comes with the project: it is the one that its card describes, and texts of one meaning meet."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

import albert_tf

FOLDER = Path(__file__).resolve().parents[2] / "models" / "small_vectors"
# Of each, the second means much the same as the first, and the third shares words with it.
TRIPLETS = [
    (
        "How do I read a file line by line?",
        "Iterating over the lines of a text file.",
        "He stood in line for hours to file a complaint.",
    ),
    ("The child fell asleep at once.", "The little boy was soon sleeping.", "The child asked for more bread at once."),
    ("Who wrote the novel?", "The author of the book.", "The novel was sold for two pounds."),
]


@pytest.fixture(scope="module")
def embedder():
    return albert_tf.Embedder(str(FOLDER))


def test_the_card_is_of_these_weights():
    weights = (FOLDER / "model.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest() in (FOLDER / "README.md").read_text()


def test_texts_of_one_meaning_are_nearer_than_those_of_one_wording(embedder):
    vectors = embedder([text for triplet in TRIPLETS for text in triplet]).reshape(len(TRIPLETS), 3, -1)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1.0, atol=1e-5)
    assert vectors.shape[-1] == 384
    cosines = np.einsum("td,tkd->tk", vectors[:, 0], vectors[:, 1:])
    assert (cosines[:, 0] > cosines[:, 1] + 0.1).all(), cosines
