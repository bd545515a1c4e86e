"""Sentences where a text marks none: phrases of scripts without full stops, and pieces of what is too long."""

import re
import unicodedata
from collections.abc import Callable, Iterator

# Characters that a phrase has at least: a space in Thai also parts names and items of a list.
_SHORTEST_PHRASE = 40
_THAI, _LAO = "\u0e01-\u0e5b", "\u0e81-\u0edf"
# Thai and Lao have no full stop; sentences and clauses end in a space. The signs for repetition and for "and so on"
# stand after a space too, and belong to what is before it.
_SPACE_IN_THAI = re.compile(rf"(?<=[{_THAI}])\s+(?=[{_THAI}])(?![\u0e2f\u0e46])")
_SPACE_IN_LAO = re.compile(rf"(?<=[{_LAO}])\s+(?=[{_LAO}])(?![\u0eaf\u0ec6])")
# The full stops of Khmer and of Tibetan, which sentencex does not know.
# That of Khmer also stands at both ends of its "and so on"; that of Tibetan mostly twice, with a space between.
_KHMER_END = re.compile(r"(?<=[\u17d4\u17d5])\s*(?![\u17d4\u17d5\s]|\u179b\u17d4)")
_SHAD = r"[\u0f0d-\u0f11]"
_TIBETAN_END = re.compile(rf"(?<={_SHAD})\s+(?!{_SHAD})|(?<={_SHAD} {_SHAD})(?![\u0f0d-\u0f11\s])")
# By language, of what sentencex leaves whole: where a sentence ends, and how long one is at least.
_ENDS = {
    **{"th": (_SPACE_IN_THAI, _SHORTEST_PHRASE), "lo": (_SPACE_IN_LAO, _SHORTEST_PHRASE)},
    **{"km": (_KHMER_END, 1), "bo": (_TIBETAN_END, 1), "dz": (_TIBETAN_END, 1)},
}
# A comma that parts no digits.
_COMMA = re.compile(r"[,;](?!\d)|(?<!\d)[,;]")
# Where a sentence that is too long is cut, best first: after what ends a clause, at a space, after a comma without one.
# Each takes the characters that fit and one more, and gives a place before that, or after it if it is a space.
_CUTS: tuple[Callable[[str], int], ...] = (
    lambda head: max(head.rfind("; "), *(head.rfind(mark, 0, -1) for mark in "；：")) + 1,
    lambda head: max(head.rfind(", "), *(head.rfind(mark, 0, -1) for mark in "，、،؛")) + 1,
    lambda head: head.rfind(" ") + 1,
    lambda head: max((found.end() for found in _COMMA.finditer(head) if found.end() < len(head)), default=0),
)
# What joins emoji, and what colours one.
_JOINER, _SKIN_TONES = "\u200d", "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
# Nothing shorter than this share of the longest is cut off.
_LEAST_SHARE = 0.5


def cut_phrases(sentence: str, language: str) -> list[str]:
    """The sentences in what a splitter of sentences left whole, by the rules of languages that need their own.

    >>> cut_phrases("ខ្ញុំសុខសប្បាយ។ អ្នកសុខសប្បាយ។", "km")
    ['ខ្ញុំសុខសប្បាយ។', 'អ្នកសុខសប្បាយ។']

    Args:
        sentence: white space collapsed.
        language: its code, "th" or "th-TH".
    """
    rule = _ENDS.get(language.lower().partition("-")[0])
    if rule is None:
        return [sentence]
    ends, shortest = rule
    phrases: list[str] = []
    start = 0
    for end in ends.finditer(sentence):
        if end.start() - start >= shortest:
            phrases.append(sentence[start : end.start()])
            start = end.end()
    rest = sentence[start:]
    if phrases and len(rest) < shortest:
        phrases[-1] = f"{phrases[-1]} {rest}" if rest else phrases[-1]
        return phrases
    return [*phrases, rest]


def cut_to_length(sentence: str, longest: int) -> Iterator[str]:
    """Cuts a sentence of more than `longest` characters: after a comma or the like, at a space, else anywhere.

    >>> list(cut_to_length("one two, three four five", 12))
    ['one two,', 'three four', 'five']

    Args:
        sentence: white space collapsed.
        longest: in characters; 0: nothing is too long.
    """
    start = 0
    while longest and len(sentence) - start > longest:
        # A space after the last character that fits is a place too.
        head = sentence[start : start + longest + 1]
        places = (cut(head) for cut in _CUTS)
        place = next((place for place in places if place >= longest * _LEAST_SHARE), 0) or _whole_characters(head)
        yield head[:place].strip()
        start += place
    rest = sentence[start:].strip()
    if rest:
        yield rest


def _whole_characters(head: str) -> int:
    """The last place before the end of a text that parts no letter from its marks, and no joined emoji."""
    place = len(head) - 1
    while place > len(head) // 2 and (_goes_on(head[place]) or head[place - 1] == _JOINER):
        place -= 1
    return place


def _goes_on(character: str) -> bool:
    return character == _JOINER or unicodedata.category(character).startswith("M") or character in _SKIN_TONES
