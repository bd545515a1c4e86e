"""Training of a WordPiece vocabulary: what it holds, the same bytes each time, the command, and bad input."""

import random

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.basic_words import split_words
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.word_piece_file import WORD_PIECE_SPECIALS
from albert_tf.tokenization.word_pieces import WordPieceTokenizer
from data_prep.text.vocabulary import WORDPIECE, VocabularyTraining, train

pytest.importorskip("tokenizers")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 6))) for _ in range(300)]
    lines = [" ".join(rng.choices(words, k=8)).capitalize() + rng.choice([".", "", " (É)"]) for _ in range(800)]
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n".join([*lines, "字"]), encoding="utf-8")
    return path


def trained(corpus, prefix, **settings):
    count = train(VocabularyTraining(str(corpus), str(prefix), kind=WORDPIECE, **{"vocab_size": 200, **settings}))
    assert count == len(corpus.read_text(encoding="utf-8").split("\n"))
    return WordPieceTokenizer(f"{prefix}.txt")


def test_special_pieces_come_first_and_every_word_is_known(corpus, tmp_path):
    tokenizer = trained(corpus, tmp_path / "v", character_coverage=1.0)
    assert tuple(tokenizer.pieces[:5]) == WORD_PIECE_SPECIALS
    assert tokenizer.vocab_size == 200
    for line in corpus.read_text(encoding="utf-8").split("\n"):
        assert tokenizer.unk_id not in tokenizer.encode(line)
        pieces = [tokenizer.id_to_piece(piece_id) for piece_id in tokenizer.encode(line)]
        assert len(pieces) < sum(map(len, split_words(line))) or len(line) < 3
        assert "".join(pieces).replace("▁", "") == "".join(split_words(line))


def test_training_again_gives_the_same_bytes(corpus, tmp_path):
    trained(corpus, tmp_path / "a")
    trained(corpus, tmp_path / "b")
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()


def test_characters_beyond_the_coverage_get_no_piece(corpus, tmp_path):
    tokenizer = trained(corpus, tmp_path / "v", character_coverage=0.9999)
    assert tokenizer.piece_to_id("字") == tokenizer.unk_id
    assert tokenizer.piece_to_id("a") != tokenizer.unk_id


def test_words_are_cut_with_the_switches_of_cleaning(corpus, tmp_path):
    tokenizer = trained(corpus, tmp_path / "v", cleaning=TextCleaning(do_lower_case=False), character_coverage=1.0)
    assert tokenizer.piece_to_id("É") != tokenizer.unk_id


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vocab_size": 30_000}, "is too large for this corpus, which allows at most"),
        ({"vocab_size": 20}, "is too small: .* characters, .* and special pieces alone"),
        ({"cleaning": TextCleaning(normalization="NFKC")}, "go with a sentencepiece vocabulary"),
    ],
)
def test_settings_that_do_not_suit_are_one_line_and_leave_nothing(corpus, tmp_path, settings, message):
    with pytest.raises(InputError, match=message) as error:
        trained(corpus, tmp_path / "v", **settings)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_no_text_is_one_line(tmp_path):
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(InputError, match="there is no text"):
        train(VocabularyTraining(str(tmp_path / "empty.txt"), str(tmp_path / "v"), kind=WORDPIECE))
