"""Vocabularies for these tests: a small one trained on the spot, and the published one."""

import random
from pathlib import Path

import pytest

from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.vocabulary_file import parse_model
from albert_tf.tokenization.word_pieces import WordPieceTokenizer
from tests.support.word_pieces import write_word_pieces

# The published vocabulary has 141 pieces of this kind; too small a corpus brings forth none.
NUMBERS_WITH_COMMA = ("▁1995,", "1995,", "▁7,", "7,")


@pytest.fixture(scope="session")
def small_model(train_pieces) -> str:
    """A vocabulary trained on 2,000 sentences of made-up words, with NUMBERS_WITH_COMMA added."""
    rng = random.Random(0)
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(200)]
    starts, ends = ["in 1995, ", "in 2001, ", "7, 8, ", ""], [".", "!", f"'s ({words[0]})"]
    sentences = [rng.choice(starts) + " ".join(rng.choices(words, k=8)) + rng.choice(ends) for _ in range(2000)]
    model = Path(train_pieces(sentences, vocab_size=200))
    proto = parse_model(model.read_bytes(), str(model))
    for piece in ("▁1995", "1995", "▁7", "▁55", "55,", *NUMBERS_WITH_COMMA):
        proto.pieces.add(piece=piece, score=-1.0)
    model.write_bytes(proto.SerializeToString())
    return str(model)


@pytest.fixture(scope="session")
def small_tokenizer(small_model) -> AlbertTokenizer:
    return AlbertTokenizer(small_model)


@pytest.fixture(scope="session")
def word_piece_file(tmp_path_factory) -> str:
    return write_word_pieces(tmp_path_factory.mktemp("word_pieces") / "vocab.txt")


@pytest.fixture(scope="session")
def word_pieces(word_piece_file) -> WordPieceTokenizer:
    return WordPieceTokenizer(word_piece_file)
