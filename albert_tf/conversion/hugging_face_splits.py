"""Places at which the tokenizers library must cut a text before it looks for pieces, to find the official ones.

Its Unigram model has no digit-comma rule, and finds the names of special pieces in ordinary text.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sentencepiece

from albert_tf.tokenization.base import SPACE
from albert_tf.tokenization.special_pieces import UNK
from albert_tf.tokenization.tokenizer import AlbertTokenizer

_DIGITS = "0123456789"
# For a piece "1," that stands inside a number: what may stand before it.
_DIGIT_BEFORE = "9"
# Up to so many digits after a comma the piece that goes across it, "1,2", is often only the beginning of a number.
_SHORT = 2
# The names of pieces that are bytes start so.
_BYTE_START = "<0x"
# What may follow a number and change how it is cut: nothing, or thousands, since "600,000" is a piece.
_ENDS = ("", ",000")


def splits(tokenizer: AlbertTokenizer, processor: sentencepiece.SentencePieceProcessor, special: Iterable[str]):
    """The steps of the pre-tokenizer after the one that makes words.

    Args:
        tokenizer: whose ids are wanted.
        processor: of the same vocabulary, without the digit-comma rule.
        special: names of special pieces that cleaning leaves as they are.

    Returns:
        objects of JSON.
    """
    pieces = [processor.id_to_piece(piece_id) for piece_id in range(processor.get_piece_size())]
    commas = _comma_pattern(tokenizer, processor, pieces)
    names = [pattern for name in special if (pattern := _name_pattern(name, pieces))]
    if tokenizer.byte_values:
        names.append(_byte_pattern([piece for place, piece in enumerate(pieces) if place not in tokenizer.byte_values]))
    return [*_split(commas, "Isolated"), *_split("|".join(names), "MergedWithPrevious")]


def _split(pattern: str, behavior: str) -> list[dict[str, Any]]:
    if not pattern:
        return []
    return [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}]


def _comma_pattern(
    tokenizer: AlbertTokenizer, processor: sentencepiece.SentencePieceProcessor, pieces: Sequence[str]
) -> str:
    """Matches the commas that the digit-comma rule parts from their numbers.

    The rule takes a piece such as "▁18," apart wherever it is the best one. In "18,500" it may not be, if "8,500" is a
    piece too: so the pattern leaves out the digits after which sentencepiece decides for a piece across the comma.
    """
    ids, ends = tokenizer.digit_comma_table()
    ruled = [piece for piece_id, piece in enumerate(pieces) if ids[ends[piece_id]] != piece_id]
    across: defaultdict[str, set[str]] = defaultdict(set)
    for piece in pieces:
        for match in re.finditer(r"\d,(?=.)", piece):
            for start in range(match.start() + 1):
                across[piece[start : match.end()]].add(piece[match.end() :])
    befores: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for piece in ruled:
        rests = set[str]().union(*(across[piece[start:]] for start in range(len(piece) - 1)))
        is_inside = not piece.startswith(SPACE) and SPACE + piece in ruled
        before = re.escape(piece)
        befores[tuple(_lost(processor, piece, sorted(rests)))].append(f"[^{SPACE}]{before}" if is_inside else before)
    if not befores:
        return ""
    contexts = [
        f"(?<={'|'.join(found)})" + (f"(?!{'|'.join(lost)})" if lost else "") for lost, found in sorted(befores.items())
    ]
    # The comma first, which is found fast.
    return f",(?:{'|'.join(contexts)})"


def _lost(processor: sentencepiece.SentencePieceProcessor, piece: str, rests: Sequence[str]) -> list[str]:
    """Patterns of what follows a piece "18," where a piece across the comma is chosen; rests are the ends of such."""
    longer = {
        rest: [rest + one + two for one in _DIGITS for two in ("", *_DIGITS)] if len(rest) <= _SHORT else []
        for rest in rests
    }
    texts = sorted({*rests, *(text for found in longer.values() for text in found)})
    alone, in_thousands = (_are_cut(processor, piece, [text + more for text in texts]) for more in _ENDS)
    ends = {(False, False): r"(?!\d)", (False, True): rf"(?!\d|{_ENDS[1]})", (True, False): rf"{_ENDS[1]}(?!\d)"}
    cases = zip(alone, in_thousands, strict=True)
    return [re.escape(text) + ends[case] for text, case in zip(texts, cases, strict=True) if case in ends]


def _are_cut(processor: sentencepiece.SentencePieceProcessor, piece: str, rests: Sequence[str]) -> list[bool]:
    """Tells of each text that goes on after a piece whether it is cut where the piece ends."""
    start = piece if piece.startswith(SPACE) else f"{SPACE}{_DIGIT_BEFORE}{piece}"
    found = processor.encode([start[1:] + rest for rest in rests], out_type=str)
    return [len(start) in itertools.accumulate(map(len, pieces)) for pieces in found]


def _name_pattern(name: str, pieces: Collection[str]) -> str:
    """Matches the beginning of a name, to be cut off where that changes nothing else, if there is such a place.

    No other piece may go across, and two unknown characters, which are one unknown piece, must stay together.
    """
    known = frozenset(pieces)
    if name == UNK and not known.intersection(name):
        return ""  # one unknown piece in any case
    places = range(1, len(name))
    free = [place for place in places if not any(name[place - 1 : place + 1] in piece != name for piece in pieces)]
    apart = [place for place in free if known.intersection(name[place - 1 : place + 1])]
    place = next(iter([*apart, *free, 1]))
    return f"{re.escape(name[:place])}(?={re.escape(name[place:])})"


def _byte_pattern(pieces: Sequence[str]) -> str:
    """Matches the beginning of what spells the name of a byte, <0x41>, at a place that no piece crosses if there is."""
    places = range(1, len(_BYTE_START))
    free = [at for at in places if not any(_BYTE_START[at - 1 : at + 1] in piece for piece in pieces)]
    place = next(iter([*free, 1]))
    return f"{_BYTE_START[:place]}(?={_BYTE_START[place:]}[0-9A-F]{{2}}>)"
