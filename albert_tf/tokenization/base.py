"""The interface of a tokenizer, whatever its vocabulary is: text to ids and back, and the inputs of a model."""

import abc
import operator
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.given_values import items_of
from albert_tf.runtime.settings import StrPath
from albert_tf.tokenization.byte_pieces import with_characters
from albert_tf.tokenization.packing import pack_batch
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.vocabulary_file import (
    REBUILT_NAME,
    WORD_PIECE_NAME,
    is_tokenizer_json,
    model_name,
    read_model,
)

# Stands for the space before a word in what is shown of a piece, as sentencepiece writes it.
SPACE = "\N{LOWER ONE EIGHTH BLOCK}"


class Tokenizer(abc.ABC):
    """A vocabulary that text is cut with.

    Objects can be pickled; they carry the vocabulary with them. Nothing here imports tensorflow.

    Attributes:
        ending: of the names of files of this kind of vocabulary.
        model_file: the path it was read from.
        model_bytes: the contents of that file.
        sha256: the file's SHA-256, in hexadecimal.
        cleaning: the switches of text cleaning.
        vocab_size: number of pieces.
        pad_id, unk_id, cls_id, sep_id, mask_id: ids of the pieces that stand for no text.
        byte_values: the byte of each piece that stands for a single one, by id; empty without byte fallback.
    """

    ending: ClassVar[str]
    model_file: str
    model_bytes: bytes
    sha256: str
    cleaning: TextCleaning
    vocab_size: int
    pad_id: int
    unk_id: int
    cls_id: int
    sep_id: int
    mask_id: int
    byte_values: dict[int, int]

    def __init__(
        self,
        model_file: StrPath,
        do_lower_case: bool = True,
        *,
        keep_accents: bool = False,
        normalization: str = "NFKD",
        replace_quotes: bool = False,
    ):
        """Reads the vocabulary.

        Args:
            model_file: the vocabulary, local or remote.
            do_lower_case, keep_accents, normalization, replace_quotes: see TextCleaning.

        Raises:
            InputError: the file is missing, damaged, of another kind of vocabulary, or lacks a piece that is needed.
        """
        self.model_file = str(model_file)
        self.cleaning = TextCleaning(do_lower_case, keep_accents, normalization, replace_quotes)
        self.model_bytes = read_model(self.model_file)
        self._load()

    @abc.abstractmethod
    def _load(self) -> None:
        """Makes everything of model_bytes and cleaning."""

    @abc.abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text, without [CLS] and [SEP]."""

    @abc.abstractmethod
    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of each text, as by `encode`; raises InputError for a single text, or for what is none."""

    @abc.abstractmethod
    def encode_with_masks(self, text: str) -> list[int]:
        """As `encode`, but each literal "[MASK]" is one mask_id."""

    @abc.abstractmethod
    def clean_with_spans(self, text: str) -> tuple[str, np.ndarray, np.ndarray]:
        """The text that is cut, and where each of its characters comes from: (cleaned, starts, ends)."""

    @abc.abstractmethod
    def encode_with_spans(self, cleaned: str) -> tuple[list[int], list[int], list[int]]:
        """The ids of a text that is cleaned already, and which of its characters each stands for."""

    @abc.abstractmethod
    def id_to_piece(self, piece_id: int) -> str:
        """The piece of an id, with SPACE at its start if a space comes before it in a text."""

    def shown_pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces of ids that follow one another, by `id_to_piece`; bytes are shown as what they make up together.

        Returns:
            as many texts as ids: the characters of bytes in a row at the first of them, "" at the others.
        """
        pieces = [self.id_to_piece(piece_id) for piece_id in ids]
        return with_characters(pieces, [self.byte_values.get(piece_id) for piece_id in ids])

    @abc.abstractmethod
    def piece_to_id(self, piece: str) -> int:
        """The id of a piece, unk_id for a piece that the vocabulary lacks."""

    @property
    @abc.abstractmethod
    def word_starts(self) -> np.ndarray:
        """bool [V]: whether each piece starts a word, for whole-word masking; so do [CLS], [SEP] and [MASK]."""

    @property
    def spaced_word_starts(self) -> np.ndarray:
        """bool [V]: word_starts where words are what spaces and punctuation part, of whatever alphabet."""
        return self.word_starts

    def digit_comma_table(self) -> tuple[np.ndarray, np.ndarray]:
        """The pieces that stand in place of each, usually itself.

        Returns:
            (ids, splits), int32 and int64 [V + 1]: piece i becomes ids[splits[i] : splits[i + 1]].
        """
        return np.arange(self.vocab_size, dtype=np.int32), np.arange(self.vocab_size + 1, dtype=np.int64)

    @property
    def file_name(self) -> str:
        """The name, without a folder, under which the vocabulary is kept."""
        if is_tokenizer_json(self.model_file):
            # The file may be gone by now.
            return WORD_PIECE_NAME if self.ending == ".txt" else REBUILT_NAME
        return model_name(self.model_file)

    def describe(self) -> dict[str, Any]:
        """{"file" (no folder), "sha256", "size"} of the vocabulary."""
        return {"file": self.file_name, "sha256": self.sha256, "size": self.vocab_size}

    def __call__(
        self,
        texts: str | Sequence[str],
        pairs: str | Sequence[str] | None = None,
        max_length: int = 512,
        with_masks: bool = False,
    ) -> dict[str, np.ndarray]:
        """Makes the inputs of a model of texts, or of pairs of texts, padded to the longest.

        >>> load_tokenizer("spiece.model")(["Hello world", "Hi"])["input_mask"].tolist()  # doctest: +SKIP
        [[1, 1, 1, 1], [1, 1, 1, 0]]

        Args:
            texts: one text or several.
            pairs: the second text of each; None: there are none.
            max_length: ids of a sequence at most, [CLS] and [SEP] included; the longer text of a pair is cut first.
            with_masks: whether "[MASK]" in a text is mask_id, as by `encode_with_masks`; else it is ordinary text.

        Returns:
            "input_ids", "input_mask" and "segment_ids", int32 [B, S].

        Raises:
            InputError: what is no text, no texts at all, a different number of pairs, or no room for a piece.
        """
        return pack_batch(self, texts, pairs, max_length, with_masks)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; [CLS], [SEP], [MASK] and <unk> are shown as such, <pad> is left out.

        Raises:
            InputError: an id is none of the vocabulary's, or `ids` is not those of one text.
        """
        size = self.vocab_size
        kept = [piece_id for piece_id in map(_whole, items_of(ids, "ids")) if piece_id != self.pad_id]
        if wrong := [piece_id for piece_id in kept if not 0 <= piece_id < size]:
            raise InputError(f"`ids` must lie between 0 and {size - 1}. Received {wrong[0]}.")
        special = (self.cls_id, self.sep_id, self.mask_id)
        pieces = [
            SPACE + piece if piece_id in special else piece
            for piece_id, piece in zip(kept, self.shown_pieces(kept), strict=True)
        ]
        return "".join(pieces).replace(SPACE, " ").strip()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("model_file", "model_bytes", "cleaning")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._load()


def _whole(piece_id: Any) -> int:
    try:
        # Numbers of NumPy, TensorFlow and JAX are whole numbers too.
        return operator.index(piece_id)
    except TypeError:
        raise InputError(
            f"`ids` must be whole numbers, those of one text. Received {reprlib.repr(piece_id)} among them."
        ) from None


def check_text(text: object) -> None:
    """Raises InputError for what is no text."""
    if not isinstance(text, str):
        raise InputError(f"`text` must be a text. Received {reprlib.repr(text)}.")


def check_texts(texts: Iterable[str]) -> list[str]:
    """Several texts as a list; raises InputError for a text that stands alone, and for what is none."""
    if isinstance(texts, str):
        raise InputError(f"a list of texts was expected; received {reprlib.repr(texts)}")
    found: list[str] = items_of(texts, "texts")
    for text in found:
        check_text(text)
    return found
