"""Scripts of the world, as cutting text needs them: which are written without spaces between words."""

import unicodedata

# Thai, Lao, Tibetan, Burmese, Khmer with their extensions; kana and bopomofo, ideographs (Unicode's blocks).
_UNSPACED = (
    *((0x0E00, 0x0E7F), (0x0E80, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19FF)),
    *((0x1A20, 0x1AAF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F), (0x3005, 0x3007), (0x3040, 0x312F), (0x31A0, 0x31FF)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x3FFFF)),
)


def is_unspaced(character: str) -> bool:
    """Tells whether a character is of a script that puts no spaces between words.

    >>> [is_unspaced(character) for character in "中かไक한a"]
    [True, True, True, False, False, False]
    """
    return any(first <= ord(character) <= last for first, last in _UNSPACED)


def starts_spaced_word(piece: str, space: str) -> bool:
    """Tells whether a piece starts a word, where words are what stands between spaces and punctuation, in any alphabet.

    A piece with a character of a script without spaces is a word of its own; letters, digits and marks of others go on
    with the word before them.

    Args:
        piece: of a sentencepiece vocabulary.
        space: what stands for a space at its start.
    """
    if piece.startswith(space) or any(map(is_unspaced, piece)):
        return True
    return all(unicodedata.category(character)[0] in "PS" for character in piece)


def is_joint(before: str, after: str) -> bool:
    """Tells whether a line end between two characters stands for nothing, and not for a space.

    So it is between two of Chinese and Japanese, punctuation among them (the CSS Text Module, level 3, section 4.1.2).

    >>> is_joint("中", "文"), is_joint("。", "「"), is_joint("中", "a"), is_joint("한", "국")
    (True, True, False, False)
    """
    return _is_wide(before) and _is_wide(after)


def _is_wide(character: str) -> bool:
    if unicodedata.east_asian_width(character) not in "FWH" or unicodedata.category(character)[0] not in "LMP":
        return False
    return not unicodedata.name(character, "").startswith(("HANGUL", "HALFWIDTH HANGUL"))
