"""Text to ids with a sentencepiece vocabulary, as the official tokenization.py means it."""

import functools
import hashlib
from collections.abc import Callable, Iterable

import numpy as np
import sentencepiece

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.base import SPACE, Tokenizer, check_text, check_texts
from albert_tf.tokenization.byte_pieces import byte_values
from albert_tf.tokenization.cleaning_spans import clean_text_with_spans
from albert_tf.tokenization.scripts import starts_spaced_word
from albert_tf.tokenization.sentencepiece_messages import new_text
from albert_tf.tokenization.special_pieces import CLS, MASK, REQUIRED_PIECES, SEP
from albert_tf.tokenization.text_cleaning import clean_text
from albert_tf.tokenization.vocabulary_file import is_word_pieces, mask_model, parse_model, plain_model

# Punctuation that the official create_pretraining_data.py lists. ' < = > are not in it.
LISTED_PUNCTUATION = frozenset('!"#$%&()*+,-./:;?@[\\]^_`{|}~')
_ENGLISH_OR_PUNCTUATION = LISTED_PUNCTUATION | frozenset("abcdefghijklmnopqrstuvwxyz")


class AlbertTokenizer(Tokenizer):
    """Cleans a text and cuts it into the pieces of a sentencepiece vocabulary.

    >>> AlbertTokenizer("spiece.model").encode("Hello world")  # doctest: +SKIP
    [10975, 126]

    Arguments and attributes are those of every Tokenizer; the file is a sentencepiece model with REQUIRED_PIECES.
    """

    ending = ".model"

    def _load(self) -> None:
        if is_word_pieces(self.model_file):
            raise InputError(
                f"{self.model_file} is named as a WordPiece vocabulary: albert_tf.WordPieceTokenizer reads it, and "
                "albert_tf.load_tokenizer either kind"
            )
        proto = parse_model(self.model_bytes, self.model_file)
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=plain_model(proto))
            # Every piece once: one that is not UTF-8 would be noticed in the middle of a text.
            self._replacements = digit_comma_replacements(self._processor)
        except (RuntimeError, UnicodeDecodeError) as error:
            raise InputError(f"the vocabulary {self.model_file} is damaged: {error}; copy it again") from None
        self.byte_values = byte_values(proto)
        self._mask_processor: sentencepiece.SentencePieceProcessor | None = None
        self.sha256 = hashlib.sha256(self.model_bytes).hexdigest()
        self.vocab_size = self._processor.get_piece_size()
        self.unk_id = self._processor.unk_id()
        self.pad_id, self.cls_id, self.sep_id, self.mask_id = map(self.piece_to_id, REQUIRED_PIECES)
        self._replaced_ids = frozenset(self._replacements)

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without [CLS] and [SEP].

        A text never yields the id of a control piece: "[MASK]" in it is four pieces of ordinary text.

        Raises:
            InputError: it is no text.
        """
        check_text(text)
        return self._apply_digit_comma_rule(self._processor.encode(clean_text(text, self.cleaning)))

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of each text, as by `encode`, in one call of sentencepiece on one thread."""
        cleaned = [clean_text(text, self.cleaning) for text in check_texts(texts)]
        return [self._apply_digit_comma_rule(ids) for ids in self._processor.encode(cleaned, num_threads=1)]

    def encode_pieces(self, text: str) -> list[str]:
        """The pieces of a text; a character that the vocabulary lacks stands for itself."""
        processor = self._processor
        pieces: list[str] = []
        for piece in processor.encode(clean_text(text, self.cleaning), out_type=str):
            replacement = self._replacements.get(processor.piece_to_id(piece))
            pieces += [piece] if replacement is None else map(processor.id_to_piece, replacement)
        return pieces

    def clean_with_spans(self, text: str) -> tuple[str, np.ndarray, np.ndarray]:
        """The cleaned text, and where each of its characters comes from; see clean_text_with_spans."""
        return clean_text_with_spans(text, self.cleaning)

    def encode_with_spans(self, cleaned: str) -> tuple[list[int], list[int], list[int]]:
        """The ids of a text that is cleaned already, as by `encode`, and which of its characters each stands for.

        Returns:
            (ids, starts, ends): piece i stands for cleaned[starts[i] : ends[i]], a space before it included.
        """
        message = new_text()
        message.ParseFromString(self._processor.encode(cleaned, out_type="serialized_proto"))
        # sentencepiece counts bytes of UTF-8.
        sizes = np.fromiter((len(character.encode()) for character in cleaned), np.int64, len(cleaned))
        ends_in_bytes = np.cumsum(sizes)
        ids: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        for piece in message.pieces:
            start, end = np.searchsorted(ends_in_bytes, (piece.begin, piece.end), side="right").tolist()
            replacement = self._replacements.get(piece.id, (piece.id,))
            ids += replacement
            if len(replacement) > 1:
                # The pieces in its place stand for its characters, one after the other.
                lengths = [len(self.id_to_piece(new_id).lstrip(SPACE)) for new_id in replacement]
                places = np.minimum(end - sum(lengths) + np.cumsum(lengths), end).tolist()
                starts += [start, *places[:-1]]
                ends += places
            else:
                starts.append(start)
                ends.append(end)
        return ids, starts, ends

    def encode_with_masks(self, text: str) -> list[int]:
        """As `encode`, but each literal "[MASK]" is one mask_id, in place of the piece that stood there.

        "un[MASK]able." is pieces of "un", [MASK], "able", "." without spaces between; "a [MASK] b" masks a
        whole word. With do_lower_case any case of "[mask]" counts.
        """
        check_text(text)
        if self._mask_processor is None:
            proto = parse_model(self.model_bytes, self.model_file)
            self._mask_processor = sentencepiece.SentencePieceProcessor(model_proto=mask_model(proto))
        cleaned = clean_text(text, self.cleaning)
        if self.cleaning.do_lower_case:
            cleaned = cleaned.replace(MASK.lower(), MASK)
        ids = self._mask_processor.encode(cleaned)
        space_id = self.piece_to_id(SPACE)
        kept = [
            piece_id
            for piece_id, following in zip(ids, [*ids[1:], self.unk_id])
            if not (piece_id == space_id and following == self.mask_id)
        ]
        return self._apply_digit_comma_rule(kept)

    def id_to_piece(self, piece_id: int) -> str:
        """The piece of an id. Raises IndexError outside 0 .. vocab_size - 1."""
        return self._processor.id_to_piece(int(piece_id))

    def piece_to_id(self, piece: str) -> int:
        """The id of a piece, unk_id for a piece that the vocabulary lacks."""
        return self._processor.piece_to_id(piece)

    @functools.cached_property
    def word_starts(self) -> np.ndarray:
        """bool [V]: whether each piece starts a word, by `starts_word`; so do [CLS], [SEP] and [MASK].

        A byte goes on with the word before it: a character, or a word, that is all bytes is masked as a whole.
        """
        return self._starts_by(starts_word)

    @functools.cached_property
    def spaced_word_starts(self) -> np.ndarray:
        """bool [V]: as word_starts, by `starts_spaced_word`."""
        return self._starts_by(lambda piece: starts_spaced_word(piece, SPACE))

    def _starts_by(self, starts_one: Callable[[str], bool]) -> np.ndarray:
        controls = (CLS, SEP, MASK)
        pieces = map(self.id_to_piece, range(self.vocab_size))
        starts = np.array([piece in controls or starts_one(piece) for piece in pieces], dtype=bool)
        starts[list(self.byte_values)] = False
        return starts

    def digit_comma_table(self) -> tuple[np.ndarray, np.ndarray]:
        """The digit-comma rule for a graph: what stands in place of each piece, usually itself.

        Returns:
            (ids, splits), int32 and int64 [V + 1]: piece i becomes ids[splits[i] : splits[i + 1]].
        """
        rows = [self._replacements.get(piece_id, (piece_id,)) for piece_id in range(self.vocab_size)]
        splits = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return np.concatenate([np.array(row, np.int32) for row in rows]), splits

    def _apply_digit_comma_rule(self, ids: list[int]) -> list[int]:
        if self._replaced_ids.isdisjoint(ids):
            return ids
        result: list[int] = []
        for piece_id in ids:
            result += self._replacements.get(piece_id, (piece_id,))
        return result


def starts_word(piece: str) -> bool:
    """Tells whether a piece starts a word, for whole-word masking (create_pretraining_data.py, is_start_piece).

    It does if it starts with a space, is one listed punctuation character, or holds any character other than English
    letters and listed punctuation: digits and foreign letters are words of their own, and so is what the official
    code asks for besides, a piece that starts with "<".
    """
    if piece.startswith(SPACE) or piece in LISTED_PUNCTUATION:
        return True
    return not all(character.lower() in _ENGLISH_OR_PUNCTUATION for character in piece)


def digit_comma_replacements(processor: sentencepiece.SentencePieceProcessor) -> dict[int, tuple[int, ...]]:
    """Finds what stands in place of pieces such as "1995,": the number's own pieces and a comma.

    The official tokenization.py (encode_pieces) encodes such a piece again when it comes; the vocabulary is
    finite, so all of them are worked out here once. Its Python 3 form has a fault (bytes compared with str);
    this is the rule as Hugging Face's tokenizer carries it out. Where that would make <unk> of a number (which no
    piece of the published vocabulary does), the piece is left as it is.

    Returns:
        {id of a piece that ends in a digit and a comma: ids in its place}.
    """
    found = {}
    for piece_id in range(processor.get_piece_size()):
        piece = processor.id_to_piece(piece_id)
        if len(piece) < 2 or piece[-1] != "," or not piece[-2].isdigit():
            continue
        new_pieces = processor.encode(piece[:-1].replace(SPACE, ""), out_type=str)
        if not piece.startswith(SPACE) and new_pieces and new_pieces[0].startswith(SPACE):
            new_pieces[0] = new_pieces[0][1:]
        ids = [processor.piece_to_id(new_piece) for new_piece in [*new_pieces, ","] if new_piece]
        if processor.unk_id() not in ids:
            found[piece_id] = tuple(ids)
    return found
