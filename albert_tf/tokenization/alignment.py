"""Spans of the text that its pieces stand for, through cleaning and cutting; linear in the text's length."""

import dataclasses
import functools
import unicodedata

import numpy as np

from albert_tf.tokenization.base import SPACE, Tokenizer
from albert_tf.tokenization.text_cleaning import REPLACEMENT_CHARACTER


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


def align(tokenizer: Tokenizer, text: str) -> AlignedText:
    """The pieces of a text, the same as `tokenizer.encode` gives, with their places."""
    cleaned, starts, ends = tokenizer.clean_with_spans(text)
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
