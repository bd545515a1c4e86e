"""Text cleaning against values worked out from the official preprocess_text, and each switch by itself."""

import unicodedata

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning, clean_text


def by_the_official_steps(text: str) -> str:
    """preprocess_text of the official tokenization.py, step by step, in our own words."""
    collapsed = " ".join(text.strip().split())
    decomposed = unicodedata.normalize("NFKD", collapsed)
    return "".join(c for c in decomposed if unicodedata.combining(c) == 0).lower()


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  Hello \t\r\n World ", "hello world"),
        ("Crème BRÛLÉE", "creme brulee"),
        ("ﬁ ² Å ½", "fi 2 a 1⁄2"),
        ("a\u3000b\x85c\x1cd\u2028e", "a b c d e"),
        ("``quotes'' stay", "``quotes'' stay"),
        ("Straße ΟΔΟΣ", "straße οδος"),
        ("", ""),
        (" \n", ""),
    ],
)
def test_cleaning_follows_the_official_steps(text, cleaned):
    assert clean_text(text) == cleaned == by_the_official_steps(text)


def test_every_character_of_the_inhabited_planes_is_cleaned_as_the_official_steps_do():
    codes = [*range(1, 0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20)]
    texts = [f"a{chr(code)}b" for code in codes]
    assert [text for text in texts if clean_text(text) != by_the_official_steps(text)] == []


def test_nul_goes_and_lone_surrogates_become_replacement_characters():
    assert clean_text("a\0b\ud800\udfffc") == "ab\ufffd\ufffdc"


def test_case_can_be_kept():
    assert clean_text("Crème A", TextCleaning(do_lower_case=False)) == "Creme A"


def test_accents_can_be_kept():
    kept = clean_text("Crème がぎ", TextCleaning(keep_accents=True))
    assert kept == unicodedata.normalize("NFKD", "crème がぎ")


def test_nfkc_keeps_hangul_syllables_whole():
    assert clean_text("한국어 ①", TextCleaning(normalization="NFKC")) == "한국어 1"
    assert clean_text("한국어") != "한국어"


def test_nfkc_with_accents_kept_keeps_dakuten():
    assert clean_text("ガ ｶﾞ é", TextCleaning(keep_accents=True, normalization="NFKC")) == "ガ ガ é"


def test_quotes_can_be_replaced_as_hugging_face_does():
    assert clean_text("``A'' 'b'", TextCleaning(replace_quotes=True)) == "\"a\" 'b'"


def test_an_unknown_normalization_is_refused():
    with pytest.raises(InputError, match="one of NFKD, NFKC. Received 'NFD'"):
        TextCleaning(normalization="NFD")
