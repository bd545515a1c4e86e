"""A WordPiece vocabulary as a file: one piece a line, the line's number from 0 being its id."""

from albert_tf.runtime.errors import InputError

# Before a piece that goes on with a word.
INSIDE = "##"
# In the order of pad, unk, cls, sep, mask.
WORD_PIECE_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def parse_pieces(contents: bytes, name: str) -> list[str]:
    """The pieces of a vocab.txt, checked.

    Args:
        contents: of the file.
        name: its path, for errors.

    Raises:
        InputError: no UTF-8, a piece twice, or one of WORD_PIECE_SPECIALS missing.
    """
    try:
        lines = contents.decode("utf-8").rstrip("\r\n").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 at byte {error.start}; give the vocab.txt of the model") from None
    pieces = [line.rstrip("\r") for line in lines]
    missing = [piece for piece in WORD_PIECE_SPECIALS if piece not in pieces]
    if missing:
        hint = "sentencepiece's list is not enough, give its .model file" if "\t" in lines[0] else "give a vocab.txt"
        raise InputError(f"{name} is no WordPiece vocabulary, for it lacks {', '.join(missing)}; {hint}")
    first: dict[str, int] = {}
    for number, piece in enumerate(pieces, 1):
        if first.setdefault(piece, number) != number:
            raise InputError(
                f"{name}: lines {first[piece]} and {number} are the same piece, {piece!r}; ids would differ"
            )
    return pieces
