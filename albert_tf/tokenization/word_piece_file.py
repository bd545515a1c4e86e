"""A WordPiece vocabulary as a file: one piece a line, the line's number from 0 being its id."""

import codecs
from collections.abc import Mapping
from typing import Any

from albert_tf.runtime.errors import InputError

# Before a piece that goes on with a word.
INSIDE = "##"
# In the order of pad, unk, cls, sep, mask.
WORD_PIECE_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def word_pieces_of(model: Mapping[str, Any], name: str) -> bytes:
    """The contents of the vocab.txt of a tokenizer.json.

    Args:
        model: the file's object of that name.
        name: the file's path, for errors.

    Raises:
        InputError: pieces of another form, or ids with gaps.
    """
    if model.get("continuing_subword_prefix", INSIDE) != INSIDE:
        raise InputError(f"{name}: `continuing_subword_prefix` must be {INSIDE!r}; give a vocab.txt")
    vocab = model.get("vocab")
    ids = vocab if isinstance(vocab, dict) else {}
    pieces = sorted(ids, key=lambda piece: ids[piece] if isinstance(ids[piece], int) else -1)
    if not pieces or [ids[piece] for piece in pieces] != list(range(len(pieces))):
        raise InputError(f"{name}: `vocab` must give every piece an id, from 0 without gaps; give a vocab.txt")
    if torn := next((piece for piece in pieces if "\n" in piece or "\r" in piece), None):
        raise InputError(f"{name}: the piece {torn!r} holds the end of a line, which no vocab.txt can")
    return "".join(f"{piece}\n" for piece in pieces).encode("utf-8", "surrogatepass")


def parse_pieces(contents: bytes, name: str) -> list[str]:
    """The pieces of a vocab.txt, checked.

    Args:
        contents: of the file.
        name: its path, for errors.

    Raises:
        InputError: no UTF-8, a piece twice, or one of WORD_PIECE_SPECIALS missing.
    """
    if contents.startswith(codecs.BOM_UTF8):
        raise InputError(f"{name} begins with a byte order mark; save it as UTF-8 without one")
    try:
        lines = contents.decode("utf-8").rstrip("\r\n").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not UTF-8 at byte {error.start}, and so no vocab.txt of WordPiece; a model of sentencepiece "
            "must have a name that ends in .model"
        ) from None
    pieces = [line.rstrip("\r") for line in lines]
    missing = [piece for piece in WORD_PIECE_SPECIALS if piece not in pieces]
    if missing:
        raise InputError(f"{name} is no vocab.txt of WordPiece: {_why(pieces, missing)}")
    if "" in pieces:
        raise InputError(
            f"{name}: line {pieces.index('') + 1} is blank, and all ids after it may be off; copy it again"
        )
    first: dict[str, int] = {}
    for number, piece in enumerate(pieces, 1):
        if first.setdefault(piece, number) != number:
            raise InputError(f"{name}: lines {first[piece]} and {number} are the same piece, {piece!r}; copy it again")
    return pieces


def _why(pieces: list[str], missing: list[str]) -> str:
    """The reason why these pieces are missing."""
    if "\t" in pieces[0]:
        return "it looks like sentencepiece's list of pieces; give the .model file beside it"
    if {piece.strip() for piece in pieces}.issuperset(missing):
        return "its lines begin or end in white space; remove that"
    return f"no line is {', '.join(missing)}; give another"
