"""A small vocabulary and a small corpus for the tests of data creation."""

import random

import pytest

from data_prep.text.vocabulary import VocabularyTraining, train

_RNG = random.Random(0)
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
_WORDS = ["".join(_RNG.choices(_SYLLABLES, k=_RNG.randint(1, 3))) for _ in range(200)]


def made_up_text(documents: int, seed: int = 0) -> str:
    """Documents of 1 to 12 sentences of made-up words, with a blank line after each."""
    rng = random.Random(seed)
    texts = []
    for _ in range(documents):
        for _ in range(rng.randint(1, 12)):
            texts.append(" ".join(rng.choices(_WORDS, k=rng.randint(3, 12))) + rng.choice(".!?"))
        texts.append("")
    return "\n".join(texts)


@pytest.fixture(scope="session")
def small_vocabulary(tmp_path_factory) -> str:
    """The path of a sentencepiece model of 150 pieces."""
    folder = tmp_path_factory.mktemp("vocabulary")
    corpus = folder / "corpus.txt"
    corpus.write_text(made_up_text(300))
    train(VocabularyTraining(str(corpus), str(folder / "small"), vocab_size=150))
    return str(folder / "small.model")


@pytest.fixture
def small_corpus(tmp_path) -> str:
    """The path of a text of 60 documents."""
    path = tmp_path / "corpus.txt"
    path.write_text(made_up_text(60, seed=1))
    return str(path)
