"""Places of pieces in a text: by hand for what cleaning changes, and for random text against the tokenizer itself."""

import random

import numpy as np
import pytest

from albert_tf.tokenization.alignment import align
from albert_tf.tokenization.cleaning_spans import clean_text_with_spans
from albert_tf.tokenization.text_cleaning import TextCleaning, clean_text
from albert_tf.tokenization.tokenizer import AlbertTokenizer

OPTIONS = [
    {},
    {"do_lower_case": False, "replace_quotes": True},
    {"keep_accents": True},
    {"keep_accents": True, "normalization": "NFKC", "replace_quotes": True},
    {"normalization": "NFKC"},
]
# Letters, accents of both kinds, ligatures, Hangul in both forms, marks that compose, what is dropped, what is a space.
CHARACTERS = (
    "abcZ 12,.'`\"()-\t\n\u00a0éÉñ\u0301\u0327ﬁﬂ①½日本한국가\u1100\u1161\u11a8ΣσİıŁ\u200b\u00ad\ufffd\u2581\0"
    "\ud800\U0001f600ßЖ１９,ह\u093f\u09c7\u09be…™Å\u212b\u00a8"
)


def recovered(aligned, wanted):
    """The texts that the pieces of each occurrence of `wanted` stand for."""
    places = [i for i in range(len(aligned.text)) if aligned.text.startswith(wanted, i)]
    assert places
    return {aligned.text_of(*aligned.pieces_of(place, place + len(wanted))) for place in places}


@pytest.mark.parametrize("options", OPTIONS)
def test_random_text_is_cleaned_and_cut_as_by_the_tokenizer(small_model, options):
    tokenizer, rng = AlbertTokenizer(small_model, **options), random.Random(0)
    for _ in range(400):
        text = "".join(rng.choices(CHARACTERS, k=rng.randint(0, 30)))
        cleaned, starts, ends = clean_text_with_spans(text, tokenizer.cleaning)
        assert cleaned == clean_text(text, tokenizer.cleaning)
        assert len(cleaned) == len(starts) == len(ends)
        aligned = align(tokenizer, text)
        assert aligned.ids == tokenizer.encode(text)
        assert len(aligned.ids) == len(aligned.starts) == len(aligned.ends)
        assert (aligned.starts <= aligned.ends).all()
        assert (np.diff(aligned.starts) >= 0).all()
        assert (np.diff(aligned.ends) >= 0).all()
        assert not len(aligned.ends) or 0 <= aligned.starts[0] <= aligned.ends[-1] <= len(text)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("Caf\u00e9 x", [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]),
        # A letter and its accent are one segment, a ligature is both its letters.
        ("e\u0301\ufb01", [(0, 2), (2, 3), (2, 3)]),
        (" a \t\n b ", [(1, 2), (2, 6), (6, 7)]),
        ("a\0b", [(0, 2), (2, 3)]),
        ("\u00bd", [(0, 1), (0, 1), (0, 1)]),
    ],
)
def test_characters_come_from_where_they_stood(text, spans):
    cleaned, starts, ends = clean_text_with_spans(text, TextCleaning())
    assert list(zip(starts.tolist(), ends.tolist())) == spans
    assert len(cleaned) == len(spans)


def test_a_doubled_quote_is_one_character():
    cleaned, starts, ends = clean_text_with_spans("``a''", TextCleaning(replace_quotes=True))
    assert cleaned == '"a"'
    assert list(zip(starts.tolist(), ends.tolist())) == [(0, 2), (2, 3), (3, 5)]


@pytest.mark.parametrize(
    "word", ["Caf\u00e9", "Cafe\u0301", "\ufb01nal", "Z\u00fcrich", "\u0130stanbul", "1995", "\u00bd", "x"]
)
def test_words_are_recovered_with_all_their_characters(official_tokenizer, word):
    text = f"In 1995, we\u00a0 saw  \t{word}, and ({word})\u0007 the {word}."
    assert recovered(align(official_tokenizer, text), word) == {word}


@pytest.mark.parametrize("word", ["\u65e5\u672c", "\ud55c\uad6d"])
def test_words_without_pieces_are_recovered_from_the_unknown_piece(official_tokenizer, word):
    aligned = align(official_tokenizer, f"a {word} b")
    assert recovered(aligned, word) == {word}
    assert official_tokenizer.unk_id in aligned.ids


def test_a_number_and_its_comma_have_a_place_each(small_tokenizer):
    aligned = align(small_tokenizer, "1995, 7,")
    spans = [aligned.text[start:end] for start, end in zip(aligned.starts, aligned.ends) if end > start]
    assert spans == ["1995", ",", "7", ","]


def test_part_of_a_piece_is_held_by_the_whole_piece(official_tokenizer):
    aligned = align(official_tokenizer, "the sixth day")
    first, last = aligned.pieces_of(4, 7)
    assert aligned.text_of(first, last) == "sixth"


def test_white_space_is_held_by_no_piece(official_tokenizer):
    aligned = align(official_tokenizer, "  \u200b ")
    assert aligned.pieces_of(0, 2) is None
    assert align(official_tokenizer, "").pieces_of(0, 0) is None


def test_time_grows_with_the_length_and_not_with_its_square(official_tokenizer):
    import time

    def seconds(text):
        start = time.process_time()
        align(official_tokenizer, text)
        return time.process_time() - start

    seconds("warm up")
    sentence = "Th\u00e9 riv\u00e9r flows through 1,995 cities. "
    short, long = (min(seconds(sentence * count) for _ in range(3)) for count in (200, 2000))
    assert long < 40 * short
