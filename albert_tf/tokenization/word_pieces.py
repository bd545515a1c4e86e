"""Text to ids with a WordPiece vocabulary, that of BERT and of the Chinese ALBERT (tokenization.py, FullTokenizer)."""

import functools
import hashlib
import re
from collections.abc import Iterable

import numpy as np

from albert_tf.tokenization.base import SPACE, Tokenizer, check_text, check_texts
from albert_tf.tokenization.basic_words import (
    check_switches,
    is_ideograph,
    space_tokens,
    words_of_token,
    words_with_spans,
)
from albert_tf.tokenization.special_pieces import MASK
from albert_tf.tokenization.word_piece_file import INSIDE, WORD_PIECE_SPECIALS, parse_pieces

# A word of more characters is unknown as a whole (WordpieceTokenizer of tokenization.py).
MAX_WORD_CHARACTERS = 200
# No space comes before these in a text.
_CLOSING = frozenset(".,;:!?)]}%")
# Tokens whose ids are kept, those of a text's commonest words.
_CACHED_TOKENS = 200_000


class WordPieceTokenizer(Tokenizer):
    """Cuts a text into words, and each word into the longest pieces of a WordPiece vocabulary, from its start on.

    >>> WordPieceTokenizer("vocab.txt").encode("Hello world")  # doctest: +SKIP
    [7592, 2088]

    Arguments and attributes are those of every Tokenizer; the file is a vocab.txt, one piece a line, with
    WORD_PIECE_SPECIALS. normalization and replace_quotes have to be the defaults.
    """

    ending = ".txt"

    def _load(self) -> None:
        check_switches(self.cleaning)
        self.pieces = parse_pieces(self.model_bytes, self.model_file)
        self.sha256 = hashlib.sha256(self.model_bytes).hexdigest()
        self.vocab_size = len(self.pieces)
        self._ids = {piece: piece_id for piece_id, piece in enumerate(self.pieces)}
        special_ids = (self._ids[name] for name in WORD_PIECE_SPECIALS)
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = special_ids
        self.byte_values = {}
        self._shown = [_shown(piece) for piece in self.pieces]
        self._longest = max(len(piece) for piece in self.pieces)
        self._ids_of_tokens: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without [CLS] and [SEP].

        A text never yields the id of a special piece: "[MASK]" in it is three pieces of ordinary text.

        Raises:
            InputError: it is no text.
        """
        check_text(text)
        known, ids = self._ids_of_tokens, []
        for token in space_tokens(text):
            if token not in known:
                if len(known) >= _CACHED_TOKENS:
                    known.clear()
                known[token] = [
                    piece_id for word in words_of_token(token, self.cleaning) for piece_id in self._cut(word)
                ]
            ids += known[token]
        return ids

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of each text, as by `encode`."""
        return [self.encode(text) for text in check_texts(texts)]

    def encode_with_masks(self, text: str) -> list[int]:
        """As `encode`, but each literal "[MASK]" is one mask_id; with do_lower_case any case of "[mask]" counts."""
        check_text(text)
        parts = re.split(re.escape(MASK), text, flags=re.IGNORECASE if self.cleaning.do_lower_case else 0)
        ids = self.encode(parts[0])
        for part in parts[1:]:
            ids += [self.mask_id, *self.encode(part)]
        return ids

    def clean_with_spans(self, text: str) -> tuple[str, np.ndarray, np.ndarray]:
        """The words with spaces between them, and where each character comes from; see words_with_spans."""
        return words_with_spans(text, self.cleaning)

    def encode_with_spans(self, cleaned: str) -> tuple[list[int], list[int], list[int]]:
        """The ids of words with spaces between them, and which of the characters each piece stands for.

        Returns:
            (ids, starts, ends): piece i stands for cleaned[starts[i] : ends[i]].
        """
        ids: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        for word in re.finditer(r"\S+", cleaned):
            place, pieces = word.start(), self._cut(word[0])
            for piece_id in pieces:
                piece = self.pieces[piece_id]
                length = len(word[0]) if piece_id == self.unk_id else len(piece.removeprefix(INSIDE) or piece)
                ids.append(piece_id)
                starts.append(place)
                place += length
                ends.append(place)
        return ids, starts, ends

    def id_to_piece(self, piece_id: int) -> str:
        """The piece as it is shown: "▁word", "ing" for "##ing". Raises IndexError outside 0 .. vocab_size - 1."""
        if piece_id < 0:
            raise IndexError(piece_id)
        return self._shown[int(piece_id)]

    def piece_to_id(self, piece: str) -> int:
        """The id of a piece as the vocabulary has it ("word", "##ing"), unk_id for one that it lacks."""
        return self._ids.get(piece, self.unk_id)

    @functools.cached_property
    def word_starts(self) -> np.ndarray:
        """bool [V]: whether each piece starts a word (create_pretraining_data.py, _is_start_piece_bert)."""
        return np.array([not piece.startswith(INSIDE) for piece in self.pieces], dtype=bool)

    def _cut(self, word: str) -> list[int]:
        """The longest pieces from the start on; unk_id alone where no pieces make up the word."""
        if len(word) > MAX_WORD_CHARACTERS:
            return [self.unk_id]
        ids: list[int] = []
        place, before = 0, ""
        while place < len(word):
            for end in range(min(len(word), place + self._longest), place, -1):
                piece_id = self._ids.get(before + word[place:end])
                if piece_id is not None:
                    break
            else:
                return [self.unk_id]
            ids.append(piece_id)
            place, before = end, INSIDE
        return ids


def _shown(piece: str) -> str:
    """A piece with SPACE at its start if a space comes before it: not inside a word, nor where none is written."""
    if piece in WORD_PIECE_SPECIALS and piece != WORD_PIECE_SPECIALS[1]:
        return piece
    if len(piece) > len(INSIDE) and piece.startswith(INSIDE):
        return piece.removeprefix(INSIDE)
    joins = len(piece) == 1 and (piece in _CLOSING or is_ideograph(piece))
    return piece if joins else SPACE + piece
