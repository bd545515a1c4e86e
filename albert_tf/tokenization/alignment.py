"""Spans of the text that its pieces stand for, through cleaning and sentencepiece; linear in the text's length.

Cleaning works on segments that do not influence one another: a character with the combining marks after it. The
characters that come out of a segment stand for all of it, so a dropped accent belongs to its letter, and both letters
of a ligature to the ligature.
"""

import dataclasses
import functools
import unicodedata

import numpy as np

from albert_tf.tokenization.text_cleaning import (
    LONE_SURROGATES,
    REPLACEMENT_CHARACTER,
    TextCleaning,
    clean_text,
)
from albert_tf.tokenization.tokenizer import SPACE, AlbertTokenizer

_LAST_CODE_POINT = 0x10FFFF


@dataclasses.dataclass(frozen=True)
class AlignedText:
    """A text cut into pieces, each with its place in the text.

    Attributes:
        text: as it was given.
        ids: of the pieces.
        starts, ends: int32 [pieces]; piece i stands for text[starts[i] : ends[i]], white space and control
            characters at its edges left out. Pieces that stand for nothing visible have an empty span. Neither array
            ever falls.
    """

    text: str
    ids: list[int]
    starts: np.ndarray
    ends: np.ndarray

    def pieces_of(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last piece of the fewest that hold text[start:end]; None if no piece has anything of it."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, end, side="left")) - 1
        while first <= last and self.starts[first] == self.ends[first]:
            first += 1
        while first <= last and self.starts[last] == self.ends[last]:
            last -= 1
        return (first, last) if first <= last else None

    def text_of(self, first: int, last: int) -> str:
        """The text that the pieces from the first to the last stand for."""
        return self.text[self.starts[first] : self.ends[last]]


def align(tokenizer: AlbertTokenizer, text: str) -> AlignedText:
    """The pieces of a text, the same as `tokenizer.encode` gives, with their places."""
    cleaned, starts, ends = clean_text_with_spans(text, tokenizer.cleaning)
    ids, piece_starts, piece_ends = tokenizer.encode_with_spans(cleaned)
    visible = np.array([is_visible(character) for character in cleaned], bool)
    # For every place in the cleaned text the next visible character and the last one before it.
    places = np.arange(len(cleaned))
    following = np.append(np.where(visible, places, len(cleaned)), len(cleaned))
    following = np.minimum.accumulate(following[::-1])[::-1]
    preceding = np.append(-1, np.maximum.accumulate(np.where(visible, places, -1)))
    first, last = following[piece_starts], preceding[piece_ends]
    begins = np.append(starts, len(text))[first]
    finishes = np.append(ends, 0)[last]
    begins = np.maximum.accumulate(begins)
    finishes = np.maximum(begins, np.where(first <= last, finishes, begins))
    return AlignedText(text, ids, begins.astype(np.int32), np.maximum.accumulate(finishes).astype(np.int32))


@functools.lru_cache(maxsize=65536)
def is_visible(character: str) -> bool:
    """Tells whether sentencepiece's usual rules (nmt_nfkc) keep a character, and not as a space."""
    dropped = character.isspace() or character in (SPACE, REPLACEMENT_CHARACTER)
    return not dropped and unicodedata.category(character) not in ("Cc", "Cf")


def clean_text_with_spans(text: str, cleaning: TextCleaning) -> tuple[str, np.ndarray, np.ndarray]:
    """Cleans a text as `clean_text` does, and finds where each character of the result comes from.

    Returns:
        (cleaned, starts, ends): character i of the cleaned text comes from text[starts[i] : ends[i]].
    """
    characters, starts, ends = _collapse_white_space(text)
    if cleaning.replace_quotes:
        characters, starts, ends = _replace_quotes(characters, starts, ends)
    if not all(character.isascii() for character in characters):
        characters, starts, ends = _normalize(characters, starts, ends, cleaning)
    cleaned = "".join(characters)
    if cleaning.do_lower_case:
        # Lower-casing may lengthen a character, and the form of a sigma depends on its neighbours.
        repeats = [len(character.lower()) for character in characters]
        cleaned, starts, ends = cleaned.lower(), np.repeat(starts, repeats), np.repeat(ends, repeats)
    if cleaned != clean_text(text, cleaning):
        raise AssertionError(f"the alignment cleans {text!r} otherwise than the tokenizer")
    return cleaned, np.asarray(starts, np.int64), np.asarray(ends, np.int64)


def _collapse_white_space(text: str) -> tuple[list[str], list[int], list[int]]:
    """One space for every run of white space, none at the edges; a NUL belongs to the character before it."""
    characters, starts, ends = [], [], []
    space_start = None
    for place, character in enumerate(text):
        if character == "\0":
            if ends and ends[-1] == place:
                ends[-1] = place + 1
        elif character.isspace():
            space_start = place if space_start is None else space_start
        else:
            if space_start is not None and characters:
                characters.append(" ")
                starts.append(space_start)
                ends.append(place)
            space_start = None
            characters.append(character)
            starts.append(place)
            ends.append(place + 1)
    return characters, starts, ends


def _replace_quotes(characters: list[str], starts: list[int], ends: list[int]):
    """`` and '' become one "; first the ones, then the others, as clean_text does it."""
    for quote in "`'":
        kept_characters, kept_starts, kept_ends = [], [], []
        place = 0
        while place < len(characters):
            doubled = characters[place : place + 2] == [quote, quote]
            kept_characters.append('"' if doubled else characters[place])
            kept_starts.append(starts[place])
            kept_ends.append(ends[place + doubled])
            place += 1 + doubled
        characters, starts, ends = kept_characters, kept_starts, kept_ends
    return characters, starts, ends


def _normalize(characters: list[str], starts: list[int], ends: list[int], cleaning: TextCleaning):
    """The Unicode part of cleaning, segment by segment."""
    found, found_starts, found_ends = [], [], []
    place = 0
    while place < len(characters):
        end = place + 1
        while end < len(characters) and _continues(characters[end], cleaning.normalization):
            end += 1
        segment = "".join(characters[place:end])
        normalized = segment if segment.isascii() else _normalize_segment(segment, cleaning)
        found += normalized
        found_starts += [starts[place]] * len(normalized)
        found_ends += [ends[end - 1]] * len(normalized)
        place = end
    return found, found_starts, found_ends


def _normalize_segment(segment: str, cleaning: TextCleaning) -> str:
    segment = LONE_SURROGATES.sub(REPLACEMENT_CHARACTER, segment)
    if not cleaning.keep_accents:
        segment = "".join(c for c in unicodedata.normalize("NFKD", segment) if not unicodedata.combining(c))
    return unicodedata.normalize(cleaning.normalization, segment)


@functools.lru_cache(maxsize=65536)
def _continues(character: str, normalization: str) -> bool:
    """Tells whether normalising a character depends on what precedes it: a mark, or the second half of a letter."""
    if character.isascii():
        return False
    first = unicodedata.normalize("NFKD", character)[0]
    return bool(unicodedata.combining(first)) or (normalization == "NFKC" and first in _second_halves())


@functools.cache
def _second_halves() -> frozenset[str]:
    """The characters that are no marks but are composed with the one before them: vowels of Hangul and a few more."""
    halves = {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    for code in range(_LAST_CODE_POINT + 1):
        decomposed = unicodedata.decomposition(chr(code)).split()
        if len(decomposed) == 2 and not decomposed[0].startswith("<"):
            halves.add(chr(int(decomposed[1], 16)))
    return frozenset(half for half in halves if not unicodedata.combining(half))
