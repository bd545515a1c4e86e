"""Pieces that stand for single bytes, of which a sentencepiece vocabulary with byte fallback has one for each value.

A character that the vocabulary lacks is cut into the bytes of its UTF-8, where it would be <unk> otherwise.
"""

import itertools
import re
from collections.abc import Sequence

BYTE_VALUES = 256
_NAME = re.compile(r"<0x([0-9A-F]{2})>")


def byte_name(value: int) -> str:
    """The piece of a byte.

    >>> byte_name(228)
    '<0xE4>'
    """
    return f"<0x{value:02X}>"


def byte_value(piece: str) -> int | None:
    """The byte that a piece is named for; None for an ordinary name."""
    match = _NAME.fullmatch(piece)
    return int(match[1], 16) if match else None


def byte_values(proto) -> dict[int, int]:
    """The byte of each piece of a ModelProto that stands for one, by id; a piece is one by its type, not its name."""
    named = {piece_id: byte_value(row.piece) for piece_id, row in enumerate(proto.pieces) if row.type == row.BYTE}
    return {piece_id: value for piece_id, value in named.items() if value is not None}


def with_characters(pieces: Sequence[str], values: Sequence[int | None], errors: str = "replace") -> list[str]:
    """Puts the characters that bytes in a row make up in the place of the first of them, and nothing in the others'.

    >>> with_characters(["▁a", "<0xC3>", "<0xA9>"], [None, 0xC3, 0xA9])
    ['▁a', 'é', '']

    Args:
        pieces: in the order of a text.
        values: the byte that each stands for; None for an ordinary piece.
        errors: "replace": U+FFFD stands for bytes that make up no character; "keep": such a run stays as it is.
    """
    shown: list[str] = []
    for is_ordinary, group in itertools.groupby(zip(pieces, values, strict=True), key=lambda row: row[1] is None):
        rows = list(group)
        names = [piece for piece, _ in rows]
        if not is_ordinary:
            run = bytes(value for _, value in rows if value is not None)
            try:
                names = [run.decode(), *[""] * (len(rows) - 1)]
            except UnicodeDecodeError:
                if errors == "replace":
                    names = [run.decode(errors="replace"), *[""] * (len(rows) - 1)]
        shown += names
    return shown
