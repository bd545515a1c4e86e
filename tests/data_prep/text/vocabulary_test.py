"""Vocabulary training: official pieces and ids, the same bytes each time, the text form, and bad input."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.vocabulary_file import parse_model
from data_prep.text.lost_letters import LostLetters
from data_prep.text.sentence_files import SentenceSplitting, split_files
from data_prep.text.text_reading import TextReading
from data_prep.text.vocabulary import (
    FIRST_PIECES,
    VocabularyTraining,
    cut_long_sentence,
    train,
    vocabulary_text,
)
from tests.support.sentencepiece_classes import published_class


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> str:
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 6))) for _ in range(300)]
    lines = [" ".join(rng.choices(words, k=8)) + rng.choice([".", "", " (É)"]) for _ in range(1500)]
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n\n".join(lines), encoding="utf-8")
    return str(path)


def error_of(**settings) -> str:
    with pytest.raises(InputError) as caught:
        train(VocabularyTraining(**settings))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_special_pieces_come_first_in_the_official_order(corpus, tmp_path):
    assert train(VocabularyTraining(corpus, str(tmp_path / "v"), vocab_size=150)) == 1500
    lines = (tmp_path / "v.vocab").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t") for line in lines[:13]] == [[piece, "0"] for piece in FIRST_PIECES]
    tokenizer = AlbertTokenizer(str(tmp_path / "v.model"))
    assert tokenizer.vocab_size == len(lines) == 150
    assert [tokenizer.id_to_piece(i) for i in range(150)] == [line.split("\t")[0] for line in lines]


def test_the_official_settings_are_those_inside_the_published_model(shared):
    model = (shared / "data" / "albert_vocab" / "spiece.model").read_bytes()
    proto = published_class("sentencepiece_model_pb2", "ModelProto").FromString(model)
    assert tuple(piece.piece for piece in proto.pieces[:13]) == FIRST_PIECES
    assert tuple(proto.trainer_spec.control_symbols) == FIRST_PIECES[2:5]
    assert tuple(proto.trainer_spec.user_defined_symbols) == FIRST_PIECES[5:]


def test_the_text_form_is_the_published_one(shared):
    folder = shared / "data" / "albert_vocab"
    proto = parse_model((folder / "spiece.model").read_bytes(), "spiece.model")
    assert vocabulary_text(proto) == (folder / "30k-clean.vocab").read_text(encoding="utf-8")


def test_our_trainer_settings_are_the_official_ones(corpus, tmp_path, shared):
    train(VocabularyTraining(corpus, str(tmp_path / "v"), vocab_size=150))
    model_class = published_class("sentencepiece_model_pb2", "ModelProto")
    ours = model_class.FromString((tmp_path / "v.model").read_bytes())
    published = model_class.FromString((shared / "data" / "albert_vocab" / "spiece.model").read_bytes())
    differing = {
        field.name
        for field, value in published.trainer_spec.ListFields()
        if getattr(ours.trainer_spec, field.name) != value
    }
    assert differing == {"input", "model_prefix", "vocab_size"}
    assert ours.normalizer_spec.name == published.normalizer_spec.name


def test_training_again_gives_the_same_bytes(corpus, tmp_path):
    for name in ("a", "b"):
        train(VocabularyTraining(corpus, str(tmp_path / name), vocab_size=120, input_sentence_size=700))
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
    assert (tmp_path / "a.vocab").read_bytes() == (tmp_path / "b.vocab").read_bytes()


def test_a_sample_is_the_same_in_every_process(corpus, tmp_path):
    train(VocabularyTraining(corpus, str(tmp_path / "here"), vocab_size=120, input_sentence_size=100))
    command = [
        *(sys.executable, "-m", "data_prep.train_vocabulary", f"--input_file={corpus}", "--vocab_size=120"),
        *("--input_sentence_size=100", f"--model_prefix={tmp_path / 'there'}"),
    ]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert "more than --input_sentence_size=100: reading again" in told
    assert "120 pieces from 1500 sentences" in told
    assert (tmp_path / "here.model").read_bytes() == (tmp_path / "there.model").read_bytes()


def test_a_sample_is_of_the_whole_corpus(tmp_path, monkeypatch):
    (tmp_path / "c.txt").write_text("".join(f"sentence {number}\n" for number in range(1000)))
    taken = []

    def take(sentence_iterator, **_):
        taken.clear()
        try:
            taken.extend(sentence_iterator)
        except Exception:
            raise RuntimeError("as sentencepiece does") from None
        raise RuntimeError("enough")

    monkeypatch.setattr("sentencepiece.SentencePieceTrainer.train", take)
    for size, kept in ((1, 1), (400, 400), (999, 999), (1000, 1000), (5000, 1000)):
        with pytest.raises(RuntimeError, match="enough"):
            train(VocabularyTraining(str(tmp_path / "c.txt"), str(tmp_path / "v"), input_sentence_size=size))
        numbers = [int(sentence.split()[1]) for sentence in taken]
        assert len(numbers) == len(set(numbers)) == kept
        assert numbers == sorted(numbers)
        assert kept == 1 or abs(sum(numbers) / kept - 499.5) < 50


def test_sentences_are_cleaned_by_the_switches_first(tmp_path):
    (tmp_path / "c.txt").write_text("ÀBC ÀB\n" * 200, encoding="utf-8")
    cased = TextCleaning(do_lower_case=False, keep_accents=True, normalization="NFKC")
    for cleaning, letters in ((TextCleaning(), "abc"), (cased, "ÀBC")):
        train(VocabularyTraining(str(tmp_path / "c.txt"), str(tmp_path / "v"), vocab_size=17, cleaning=cleaning))
        pieces = (tmp_path / "v.vocab").read_text(encoding="utf-8").splitlines()[13:]
        assert {line.split("\t")[0] for line in pieces} == {"▁", *letters}


@pytest.mark.parametrize(
    "text, word_pieces, expected",
    [
        ("नमस्ते दुनिया। आप कैसे हैं?", False, "% of the Devanagari letters become other letters"),
        ("नमस्ते दुनिया। आप कैसे हैं?", True, "% of the Devanagari letters"),
        ("Какой хороший день, мой герой.", False, "% of the Cyrillic letters"),
        ("Xin chào thế giới, bạn khỏe không", False, "% of the Latin letters"),
        ("がんばってください", True, "% of the Hiragana letters"),
        ("The café serves naïve people without any other accents in their words.", False, None),
        ("مَرْحَبًا بالعالم", False, None),
        ("أنا إلى المسؤول", False, "% of the Arabic letters"),
        ("한국어 문장 中文", False, None),
    ],
)
def test_letters_that_cleaning_changes_are_told_of(text, word_pieces, expected):
    def told(**switches) -> str | None:
        letters = LostLetters(TextCleaning(**switches), word_pieces)
        letters.add(text * 20)
        return letters.describe()

    found = told()
    assert found is None if expected is None else expected in found
    assert told(keep_accents=True) is None


def test_training_warns_of_such_letters(tmp_path, caplog):
    (tmp_path / "c.txt").write_text("мой герой пой\n" * 100, encoding="utf-8")
    for kind, size in (("sentencepiece", 22), ("wordpiece", 20)):
        caplog.clear()
        train(VocabularyTraining(str(tmp_path / "c.txt"), str(tmp_path / "v"), kind=kind, vocab_size=size))
        assert "Cyrillic letters become other letters" in caplog.text


def test_a_sample_has_no_say_in_word_pieces(tmp_path, caplog):
    (tmp_path / "c.txt").write_text("one two three\n" * 100, encoding="utf-8")
    train(
        VocabularyTraining(
            str(tmp_path / "c.txt"), str(tmp_path / "v"), kind="wordpiece", vocab_size=20, input_sentence_size=50
        )
    )
    assert "--input_sentence_size=50 has no effect with --kind=wordpiece" in caplog.text


def test_long_sentences_are_cut_at_spaces_and_lose_nothing():
    for sentence in ("ab cde " * 3000, "字" * 5000, "x" * 9000, "a " + "é" * 4191 + " b", "short"):
        parts = list(cut_long_sentence(sentence, 4192))
        assert all(0 < len(part.encode("utf-8")) <= 4192 for part in parts)
        assert "".join("".join(parts).split()) == "".join(sentence.split())
    assert list(cut_long_sentence("aaa bbb ccc", 7)) == ["aaa", " bbb", " ccc"]


def test_a_sample_may_be_larger_than_any_corpus(corpus, tmp_path):
    assert train(VocabularyTraining(corpus, str(tmp_path / "v"), vocab_size=120, input_sentence_size=10**12)) == 1500


def test_a_vocabulary_too_large_for_the_corpus_says_what_it_allows(corpus, tmp_path):
    message = error_of(input_file=corpus, model_prefix=str(tmp_path / "v"), vocab_size=30_000)
    assert "--vocab_size=30000 is too large for this corpus of 1500 sentences" in message
    largest = int(message.split("at most ")[1].split(".")[0])
    train(VocabularyTraining(corpus, str(tmp_path / "v"), vocab_size=largest))


def test_a_vocabulary_too_large_for_the_sample_asks_for_a_larger_one(corpus, tmp_path):
    settings = {"input_file": corpus, "model_prefix": str(tmp_path / "v"), "input_sentence_size": 5}
    message = error_of(**settings, vocab_size=300)
    assert "--vocab_size=300 is too large for a sample of 5 sentences" in message
    assert message.endswith("or a larger --input_sentence_size")


def test_bad_input_is_one_line_and_leaves_nothing(corpus, tmp_path):
    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "latin.txt").write_bytes(b"text\ncaf\xe9\n")
    (tmp_path / "a.jsonl").write_text("{}")
    prefix = str(tmp_path / "out" / "v")
    assert "there is no text" in error_of(input_file=str(tmp_path / "empty.txt"), model_prefix=prefix)
    assert "line 2 is not UTF-8 at byte 8" in error_of(input_file=str(tmp_path / "latin.txt"), model_prefix=prefix)
    assert "add --split_sentences" in error_of(input_file=str(tmp_path / "a.jsonl"), model_prefix=prefix)
    assert "no file matches" in error_of(input_file=str(tmp_path / "none*"), model_prefix=prefix)
    assert "too small" in error_of(input_file=corpus, model_prefix=prefix, vocab_size=15)
    assert list((tmp_path / "out").iterdir()) == []


def test_settings_are_checked():
    for settings, message in (
        ({"vocab_size": 13}, "--vocab_size must be at least 14"),
        ({"vocab_size": 10_000_001}, "--vocab_size must be at most 10,000,000"),
        ({"character_coverage": 0.5}, r"--character_coverage must lie in \[0.98, 1\]. Received 0.5"),
        ({"input_sentence_size": 0}, "--input_sentence_size must be at least 1. Received 0"),
        ({"model_prefix": "folder/"}, "--model_prefix must end in a file name"),
    ):
        with pytest.raises(InputError, match=message):
            VocabularyTraining(**{"input_file": "a.txt", "model_prefix": "v", **settings})


def test_an_output_that_cannot_be_written_is_found_before_training(corpus, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        train(VocabularyTraining(corpus, str(tmp_path / "file" / "v"), vocab_size=150))


def test_raw_text_gives_the_vocabulary_of_its_sentences(corpus, tmp_path):
    lines = [line for line in Path(corpus).read_text(encoding="utf-8").split("\n") if line]
    with (tmp_path / "raw.jsonl").open("w", encoding="utf-8") as raw:
        for start in range(0, len(lines), 10):
            raw.write(json.dumps({"paragraphs": ["# heading", *lines[start : start + 10]]}) + "\n")
    split_files(SentenceSplitting(str(tmp_path / "raw.jsonl"), str(tmp_path / "split.txt")))
    train(VocabularyTraining(str(tmp_path / "split.txt"), str(tmp_path / "a"), vocab_size=150))
    reading = TextReading(split_sentences=True)
    train(VocabularyTraining(str(tmp_path / "raw.jsonl"), str(tmp_path / "b"), vocab_size=150, reading=reading))
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
