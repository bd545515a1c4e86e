"""A small WordPiece vocabulary: letters, halves of words, punctuation, a few ideographs."""

from pathlib import Path

SYLLABLES = tuple(first + vowel for first in "bdfgklmn" for vowel in "aeiou")
LETTERS = tuple("abcdefghijklmnopqrstuvwxyzαβσςжé0123456789中文Z")


def write_word_pieces(path: Path) -> str:
    """Writes a vocab.txt, and returns its path."""
    pieces = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *SYLLABLES, *(f"##{s}" for s in SYLLABLES)]
    pieces += [*LETTERS, *(f"##{letter}" for letter in LETTERS), *"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~。、", "hello"]
    path.write_text("\n".join(dict.fromkeys(pieces)) + "\n", encoding="utf-8")
    return str(path)
