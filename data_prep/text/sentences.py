"""The sentences of raw text: of a paragraph, of a JSON line, of a text with blank lines.

Sentences are found by sentencex (Wikimedia's segmenter, about 300 languages); docs/tokenization.md says why.
"""

import functools
import json
import re
from collections.abc import Iterable, Iterator

import sentencex

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import refuse_repeats
from albert_tf.tokenization.scripts import is_joint
from albert_tf.tokenization.text_cleaning import LONE_SURROGATES, REPLACEMENT_CHARACTER
from data_prep.text.long_sentences import cut_phrases, cut_to_length

# A line that starts so, at the start of a paragraph of JSON lines, is a heading.
_HEADING = re.compile(r"#{1,6}(?:[^\S\n]+|(?=\n))")
# A line end with the characters before and after it.
_LINE_END = re.compile(r"(\S)[^\S\n]*\n\s*(?=(\S))")
# A longer paragraph goes through sentencex in pieces, whose time grows with the square of the length where no space
# follows a stop, as in Chinese, and which takes a quotation mark without its fellow for one of the next quotation.
_LONGEST_PIECE = 10_000
# Of a piece, what ends in its last characters is found again with what follows.
_UNDECIDED = 2_000
_BLANK_LINE = re.compile(r"\n\s*\n")
# A language with a script, a region or both, and the languages of this form that are others than they begin with.
_VARIETY = re.compile(r"([a-z]{2,3})(-[a-z]{4})?(-([a-z]{2}|\d{3}))?")
_NO_VARIETIES = frozenset({"nds-nl", "roa-tara"})


def split_paragraph(paragraph: str, language: str = "en", longest: int = 0) -> list[str]:
    """The sentences of one paragraph, white space collapsed.

    Line breaks inside it are only spaces, and between two characters of Chinese or Japanese nothing at all.

    >>> split_paragraph("Dr. Smith came.  He\\nstayed.")
    ['Dr. Smith came.', 'He stayed.']

    Args:
        paragraph: any text.
        language: of the text, a code; see cut_phrases for those with rules of their own.
        longest: a sentence of more characters is cut; 0: none is.
    """
    text = _without_line_ends(LONE_SURROGATES.sub(REPLACEMENT_CHARACTER, paragraph))
    found = _segments(code_of(language), " ".join(text.split()))
    sentences = (" ".join(sentence.split()) for sentence in found)
    return [
        part
        for sentence in sentences
        if sentence
        for phrase in cut_phrases(sentence, language)
        for part in cut_to_length(phrase, longest)
    ]


def _segments(code: str, text: str) -> Iterator[str]:
    """The parts of a text that sentencex makes, of a long one piece by piece."""
    start, length = 0, _LONGEST_PIECE
    while len(text) - start > length:
        end, parts = start, []
        for part in sentencex.segment(code, text[start : start + length]):
            end += len(part)
            if end > start + length - _UNDECIDED:
                break
            parts.append(part)
        # A sentence that is longer than a piece needs a longer one.
        length = _LONGEST_PIECE if parts else 2 * length
        start += sum(map(len, parts))
        yield from parts
    yield from sentencex.segment(code, text[start:])


@functools.cache
def code_of(language: str) -> str:
    """The code by which sentencex knows a language; by any other it takes English rules without a word.

    >>> code_of("DE"), code_of("de-DE"), code_of("zh-Hant-TW"), code_of("zh-min-nan")
    ('de', 'de', 'zh', 'zh-min-nan')
    """
    code = language.lower()
    variety = _VARIETY.fullmatch(code)
    return variety[1] if variety and code not in _NO_VARIETIES else code


def _without_line_ends(text: str) -> str:
    """The text without the line ends, and the white space around them, that stand for nothing."""
    if text.isascii() or "\n" not in text:
        return text
    return _LINE_END.sub(lambda end: end[1] + ("" if is_joint(end[1], end[2]) else " "), text)


def paragraphs_of_json(line: str, where: str, keep_headings: bool) -> Iterator[str]:
    """The paragraphs of a document in JSON: of its "text", between blank lines, or its "paragraphs".

    Args:
        line: a JSON object.
        where: file and line, for errors.
        keep_headings: whether a heading (a line "# ...") is a paragraph of its own, or is left out.

    Raises:
        InputError: not such an object.
    """
    return _without_headings(_paragraphs_of_document(line, where), keep_headings)


def paragraphs_of_text(text: str, keep_headings: bool) -> Iterator[str]:
    """Paragraphs, which stand between blank lines; headings as in paragraphs_of_json."""
    return _without_headings(_BLANK_LINE.split(text), keep_headings)


def _without_headings(paragraphs: Iterable[str], keep_headings: bool) -> Iterator[str]:
    for paragraph in paragraphs:
        text = paragraph.lstrip("\r\n")
        # In Markdown the text may begin on the next line.
        while heading := _HEADING.match(text):
            title, _, text = text[heading.end() :].partition("\n")
            if keep_headings:
                yield title
        yield text


def _paragraphs_of_document(line: str, where: str) -> list[str]:
    try:
        document = json.loads(line, object_pairs_hook=refuse_repeats)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON ({error}); each line must be one JSON object") from None
    if isinstance(document, dict) and isinstance(document.get("text"), str):
        return _BLANK_LINE.split(document["text"])
    paragraphs = document.get("paragraphs") if isinstance(document, dict) else None
    if not isinstance(paragraphs, list) or not all(isinstance(paragraph, str) for paragraph in paragraphs):
        raise InputError(
            f'{where} has no text; a document is {{"paragraphs": ["...", ...]}} or {{"text": "..."}}. '
            f"Received {line[:60]!r}"
        )
    return paragraphs
