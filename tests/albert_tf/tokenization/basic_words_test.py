"""Words as BERT cuts them: by hand for every rule, and their places."""

import random

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.basic_words import check_switches, split_words, words_with_spans
from albert_tf.tokenization.text_cleaning import TextCleaning

CASED = TextCleaning(do_lower_case=False)
KEPT = TextCleaning(keep_accents=True)
# Letters with and without accents, punctuation, ideographs, Hangul, what is dropped, what is a space.
CHARACTERS = "abcZ 12,.'`\"()-\t\n\x0b\x85\u00a0éÉñ\u0301\u0327ﬁ½日本한국\u1100\u1161"
CHARACTERS += "σΣİı\u200b\u00ad\ufffd\0\ud800😀ßЖ１,ह\u093f…\u2028"


@pytest.mark.parametrize(
    ("text", "cleaning", "words"),
    [
        ("Hello, World!", TextCleaning(), ["hello", ",", "world", "!"]),
        ("Hello, World!", CASED, ["Hello", ",", "World", "!"]),
        ("Ünïted É", TextCleaning(), ["united", "e"]),
        ("Ünïted É", KEPT, ["ünïted", "é"]),
        ("Ünïted É", CASED, ["Ünïted", "É"]),
        ("x中文y 한국", CASED, ["x", "中", "文", "y", "한국"]),
        ("don't $5^2~a", TextCleaning(), ["don", "'", "t", "$", "5", "^", "2", "~", "a"]),
        # Controls and formats go without a trace, the white space of lines parts words.
        ("a\x0bb\u200bc\0d\ufffde\tf\ng\u2028h\u3000i", TextCleaning(), ["abcde", "f", "g", "h", "i"]),
        ("\u0301", TextCleaning(), []),
        ("ﬁ ½", TextCleaning(), ["ﬁ", "½"]),
        ("ΟΔΟΣ ΟΔΟΣ.", KEPT, ["οδος", "οδος", "."]),
        ("\ud800x", TextCleaning(), ["x"]),
        ("", TextCleaning(), []),
    ],
)
def test_words_are_cut_by_the_rules(text, cleaning, words):
    assert split_words(text, cleaning) == words


@pytest.mark.parametrize("cleaning", [TextCleaning(), CASED, KEPT])
def test_words_with_places_are_the_words(cleaning):
    rng = random.Random(0)
    for _ in range(500):
        text = "".join(rng.choices(CHARACTERS, k=rng.randint(0, 30)))
        words, starts, ends = words_with_spans(text, cleaning)
        assert words.split() == split_words(text, cleaning)
        assert len(words) == len(starts) == len(ends)
        assert all(0 <= start < end <= len(text) for start, end in zip(starts, ends))


def test_a_word_stands_for_all_of_its_characters():
    text = "  Ünïted\u200b 中o\u0301."
    words, starts, ends = words_with_spans(text, TextCleaning())
    places = {}
    for word in words.split():
        at = words.index(word)
        places[word] = text[starts[at] : ends[at + len(word) - 1]]
    assert places == {"united": "Ünïted", "中": "中", "o": "o\u0301", ".": "."}


@pytest.mark.parametrize("switches", [{"normalization": "NFKC"}, {"replace_quotes": True}])
def test_switches_of_sentencepiece_are_refused(switches):
    with pytest.raises(InputError, match="go with a sentencepiece vocabulary"):
        check_switches(TextCleaning(**switches))
