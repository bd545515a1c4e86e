"""Paragraphs as long as a book: the sentences of their parts, in time that grows with their length alone."""

import random

import pytest
import sentencex

from data_prep.text import sentences
from data_prep.text.sentences import split_paragraph

_PARTS = {
    "zh": (
        "他走进房间的时候，看见桌子上放着一封没有打开的信。",
        "「什么？！真的吗？」她问道……",
        "他说：“天气很好。走吧！”",
    ),
    "ja": ("彼は部屋に入った。", "「そうですか。わかりました！」と言った。", "本当？"),
    "en": (
        "He went in. ",
        'Dr. Smith said "No. I won\'t. Ever!" and left. ',
        "See e.g. p. 3 (vol. 2. ed.). ",
        "What?! Yes. ",
    ),
    "my": ("သူသွားသည်။", "ကောင်းပါသည်။"),
}


@pytest.mark.parametrize(("language", "parts"), _PARTS.items())
def test_a_long_paragraph_has_the_sentences_that_it_has_as_a_whole(language, parts):
    text = "".join(random.Random(1).choices(parts, k=3000)).strip()
    assert len(text) > 25_000
    assert split_paragraph(text, language) == [found.strip() for found in sentencex.segment(language, text)]


def test_no_piece_is_longer_than_its_sentence_makes_it(monkeypatch):
    lengths, segment = [], sentencex.segment

    def noting(language, text):
        lengths.append(len(text))
        return segment(language, text)

    monkeypatch.setattr(sentences.sentencex, "segment", noting)
    text = "他走进房间的时候，看见桌子上放着一封没有打开的信。" * 4000
    assert len(split_paragraph(text, "zh")) == 4000
    assert max(lengths) == 10_000
    assert sum(lengths) < 1.5 * len(text)


def test_a_sentence_longer_than_a_piece_is_found_whole():
    text = "字" * 50_000 + "。"
    assert split_paragraph("好。" + text + "好。", "zh") == ["好。", text, "好。"]
