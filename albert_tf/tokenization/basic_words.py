"""Cutting of a text into words as BERT does it, before WordPiece cuts these (BasicTokenizer of tokenization.py).

Control characters are dropped; Chinese characters and punctuation are words of their own; with lower-casing go accents.
"""

import unicodedata
from collections.abc import Callable, Iterable

import numpy as np

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.cleaning_spans import normalize_segments
from albert_tf.tokenization.text_cleaning import LONE_SURROGATES, OFFICIAL_CLEANING, REPLACEMENT_CHARACTER, TextCleaning

# Ideographs, not all of what is written in Chinese, Japanese and Korean (tokenization.py, _is_chinese_char).
_IDEOGRAPHS = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F)),
    *((0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)
# Signs of ASCII that Unicode calls symbols count as punctuation too.
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def check_switches(cleaning: TextCleaning) -> None:
    """Raises InputError for switches of cleaning that only go with a sentencepiece vocabulary."""
    official = OFFICIAL_CLEANING
    if cleaning.normalization != official.normalization or cleaning.replace_quotes != official.replace_quotes:
        raise InputError(
            "--normalization and --replace_quotes go with a sentencepiece vocabulary; for a WordPiece vocabulary leave "
            "them out"
        )


def is_ideograph(character: str) -> bool:
    """Tells whether a character is a word of its own for being Chinese."""
    return any(first <= ord(character) <= last for first, last in _IDEOGRAPHS)


def is_punctuation(character: str) -> bool:
    """Tells whether a character is a word of its own for being punctuation."""
    return character in _ASCII_PUNCTUATION or unicodedata.category(character).startswith("P")


def is_dropped(character: str) -> bool:
    """Tells whether a character is dropped: controls and formats, but no white space of a line, and U+FFFD."""
    if character in "\t\n\r":
        return False
    return character == REPLACEMENT_CHARACTER or unicodedata.category(character) in ("Cc", "Cf")


def is_accent(character: str) -> bool:
    """Tells whether a character goes where accents go."""
    return unicodedata.category(character) == "Mn"


def split_words(text: str, cleaning: TextCleaning = OFFICIAL_CLEANING) -> list[str]:
    """The words of a text.

    >>> split_words("Ünïted 中文, don't!")
    ['united', '中', '文', ',', 'don', "'", 't', '!']

    Args:
        text: any string.
        cleaning: with do_lower_case accents go too, unless keep_accents; without it all letters stay as they are.
    """
    return [word for token in space_tokens(text) for word in words_of_token(token, cleaning)]


def space_tokens(text: str) -> list[str]:
    """The text parted at spaces, and around ideographs: what words_of_token then cuts."""
    return LONE_SURROGATES.sub(REPLACEMENT_CHARACTER, text).translate(_SPACED).split()


def words_of_token(token: str, cleaning: TextCleaning) -> list[str]:
    """The words of one of space_tokens."""
    if cleaning.do_lower_case:
        token = token.lower()
        if not cleaning.keep_accents and not token.isascii():
            token = _without_accents(token)
    return token.translate(_PARTED).split()


def words_with_spans(text: str, cleaning: TextCleaning) -> tuple[str, np.ndarray, np.ndarray]:
    """The words of a text with white space between them, and where each character of it comes from.

    Returns:
        (words, starts, ends): character i of the words comes from text[starts[i] : ends[i]]; a space that parts two
        words of which the text has none between has the place of a neighbour.
    """
    places = list(range(len(text)))
    spans = (LONE_SURROGATES.sub(REPLACEMENT_CHARACTER, text), places, [place + 1 for place in places])
    characters, starts, ends = _replaced(_SPACED.__getitem__, *spans)
    if cleaning.do_lower_case:
        lower = "".join(characters).lower()
        # Lower-casing may lengthen a character, and the form of a sigma depends on its neighbours.
        lengths = [len(character.lower()) for character in characters]
        characters, starts, ends = list(lower), _repeated(starts, lengths), _repeated(ends, lengths)
        if not cleaning.keep_accents:
            characters, starts, ends = normalize_segments(characters, starts, ends, _without_accents)
    characters, starts, ends = _replaced(_PARTED.__getitem__, characters, starts, ends)
    words = "".join(characters)
    if words.split() != split_words(text, cleaning):
        raise AssertionError(f"the alignment cuts {text!r} otherwise than the tokenizer")
    return words, np.asarray(starts, np.int64), np.asarray(ends, np.int64)


def _without_accents(text: str) -> str:
    return "".join(character for character in unicodedata.normalize("NFD", text) if not is_accent(character))


def _replaced(
    replacement: Callable[[int], str], characters: Iterable[str], starts: list[int], ends: list[int]
) -> tuple[list[str], list[int], list[int]]:
    """The characters with what `replacement` says of each code point in its place."""
    replaced = [replacement(ord(character)) for character in characters]
    lengths = [len(characters) for characters in replaced]
    return list("".join(replaced)), _repeated(starts, lengths), _repeated(ends, lengths)


def _repeated(values: list[int], times: list[int]) -> list[int]:
    return [value for value, count in zip(values, times, strict=True) for _ in range(count)]


class _Table(dict[int, str]):
    """A table for str.translate that finds what stands for a character when it is first met."""

    def __init__(self, replacement: Callable[[str], str]):
        super().__init__()
        self._replacement = replacement

    def __missing__(self, code: int) -> str:
        self[code] = self._replacement(chr(code))
        return self[code]


def _spaced(character: str) -> str:
    if is_dropped(character):
        return ""
    if character.isspace():
        return " "
    return f" {character} " if is_ideograph(character) else character


def _parted(character: str) -> str:
    return f" {character} " if is_punctuation(character) else character


_SPACED, _PARTED = _Table(_spaced), _Table(_parted)
