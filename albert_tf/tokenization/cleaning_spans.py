"""Cleaning of a text that knows where each character of the result comes from; linear in the text's length.

Cleaning works on segments that do not influence one another: a character with the combining marks after it. The
characters that come out of a segment stand for all of it, so a dropped accent belongs to its letter, and both letters
of a ligature to the ligature.
"""

import functools
import unicodedata
from collections.abc import Callable

import numpy as np

from albert_tf.tokenization.text_cleaning import (
    LONE_SURROGATES,
    REPLACEMENT_CHARACTER,
    TextCleaning,
    clean_text,
)

_LAST_CODE_POINT = 0x10FFFF


def clean_text_with_spans(text: str, cleaning: TextCleaning) -> tuple[str, np.ndarray, np.ndarray]:
    """Cleans a text as `clean_text` does, and finds where each character of the result comes from.

    Returns:
        (cleaned, starts, ends): character i of the cleaned text comes from text[starts[i] : ends[i]].
    """
    characters, starts, ends = _collapse_white_space(text)
    if cleaning.replace_quotes:
        characters, starts, ends = _replace_quotes(characters, starts, ends)
    if not all(character.isascii() for character in characters):
        characters, starts, ends = normalize_segments(
            characters, starts, ends, lambda segment: _normalize_segment(segment, cleaning), cleaning.normalization
        )
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


def normalize_segments(
    characters: list[str],
    starts: list[int],
    ends: list[int],
    normalize: Callable[[str], str],
    normalization: str = "NFKD",
) -> tuple[list[str], list[int], list[int]]:
    """Applies a Unicode normalisation segment by segment; what comes out of one stands for all of it.

    Args:
        characters, starts, ends: each character, and the place it comes from.
        normalize: of the text of a segment.
        normalization: by which characters depend on those before them: "NFKD", which canonical ones do not add to, or
            "NFKC".
    """
    found: list[str] = []
    found_starts: list[int] = []
    found_ends: list[int] = []
    place = 0
    while place < len(characters):
        end = place + 1
        while end < len(characters) and _continues(characters[end], normalization):
            end += 1
        segment = "".join(characters[place:end])
        normalized = segment if segment.isascii() else normalize(segment)
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
