"""The tokenizer as a graph (tensorflow-text), so that a SavedModel can take strings.

Same ids as AlbertTokenizer; docs/tokenization.md lists where the two may differ, and how often.
"""

import unicodedata

import tensorflow as tf
import tensorflow_text as tf_text

from albert_tf.tokenization.base import SPACE, Tokenizer
from albert_tf.tokenization.in_graph_word_pieces import InGraphWordPieces
from albert_tf.tokenization.packing import room_for_text, truncated_lengths
from albert_tf.tokenization.special_pieces import MASK
from albert_tf.tokenization.text_cleaning import TextCleaning, character_class
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.vocabulary_file import mask_model, parse_model, plain_model
from albert_tf.tokenization.word_pieces import WordPieceTokenizer


class InGraphTokenizer(tf.Module):
    """Strings to ids inside a tf.function; kept as an attribute of a tf.Module it is saved with it, vocabulary and all.

    Attributes:
        cleaning: the switches of text cleaning.
        vocab_size, pad_id, unk_id, cls_id, sep_id, mask_id: as AlbertTokenizer's.
        dropped_belong_to_the_one_before: whether the place of a character takes in what is dropped after it.
    """

    dropped_belong_to_the_one_before = True

    def __init__(self, model_file: str, do_lower_case: bool = True, **switches):
        """Reads the vocabulary; the arguments and errors are AlbertTokenizer's."""
        super().__init__(name="tokenizer")
        self._load(AlbertTokenizer(model_file, do_lower_case, **switches))

    @classmethod
    def from_tokenizer(cls, tokenizer: AlbertTokenizer) -> "InGraphTokenizer":
        """The same tokenizer as a graph, without reading the file again."""
        in_graph = cls.__new__(cls)
        tf.Module.__init__(in_graph, name="tokenizer")
        in_graph._load(tokenizer)
        return in_graph

    def _load(self, tokenizer: AlbertTokenizer) -> None:
        self.cleaning: TextCleaning = tokenizer.cleaning
        for name in ("vocab_size", "pad_id", "unk_id", "cls_id", "sep_id", "mask_id"):
            setattr(self, name, getattr(tokenizer, name))
        self._space_id = tokenizer.piece_to_id(SPACE)
        # Each call changes the types of the pieces, so each takes a proto of its own.
        plain = plain_model(parse_model(tokenizer.model_bytes, tokenizer.model_file))
        with_mask = mask_model(parse_model(tokenizer.model_bytes, tokenizer.model_file))
        # Loading a SavedModel finds a vocabulary again by its name, in the whole process: two of one name, in one
        # SavedModel or in two, would both be the one that was loaded first.
        self._plain = tf_text.SentencepieceTokenizer(plain, tf.int32, name=f"plain_{tokenizer.sha256}")
        self._with_mask = tf_text.SentencepieceTokenizer(with_mask, tf.int32, name=f"with_mask_{tokenizer.sha256}")
        self._replacements = tf.RaggedTensor.from_row_splits(*tokenizer.digit_comma_table())

    def clean(self, texts: tf.Tensor) -> tf.Tensor:
        """clean_text on a string tensor of any shape. Bytes that are not UTF-8 become U+FFFD."""
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        texts = tf.strings.regex_replace(texts, r"\x00", "")
        texts = tf.strings.regex_replace(texts, character_class(str.isspace) + "+", " ")
        texts = tf.strings.strip(texts)
        if self.cleaning.replace_quotes:
            texts = tf.strings.regex_replace(texts, "``|''", '"')
        if not self.cleaning.keep_accents:
            texts = tf_text.normalize_utf8(texts, "NFKD")
            texts = tf.strings.regex_replace(texts, character_class(unicodedata.combining), "")
        texts = tf_text.normalize_utf8(texts, self.cleaning.normalization)
        return tf.strings.lower(texts, encoding="utf-8") if self.cleaning.do_lower_case else texts

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """AlbertTokenizer.encode of each text.

        Args:
            texts: string [B].

        Returns:
            int32 [B, (length)].
        """
        return self._apply_digit_comma_rule(self._plain.tokenize(self.clean(texts)))

    def encode_with_masks(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """AlbertTokenizer.encode_with_masks of each text: "[MASK]" becomes mask_id.

        Args:
            texts: string [B].

        Returns:
            int32 [B, (length)].
        """
        cleaned = self.clean(texts)
        if self.cleaning.do_lower_case:
            cleaned = tf.strings.regex_replace(cleaned, r"\[mask\]", MASK)
        ids = self._with_mask.tokenize(cleaned)
        values, rows = ids.values, ids.value_rowids()
        before_mask = tf.logical_and(values[1:] == self.mask_id, rows[1:] == rows[:-1])
        # One False for the last value; none when there is no value at all.
        before_mask = tf.concat([before_mask, tf.zeros_like(values[:1], tf.bool)], axis=0)
        dropped = tf.logical_and(values == self._space_id, before_mask)
        return self._apply_digit_comma_rule(tf.ragged.boolean_mask(ids, ids.with_values(~dropped)))

    def encode_cleaned_with_offsets(self, text: tf.Tensor):
        """The pieces of one cleaned text, string [], as they are before the rule about digits and commas.

        Returns:
            (ids, starts, ends), int32 [T]; starts and ends count bytes of the text.
        """
        ids, starts, ends = self._plain.tokenize_with_offsets(text)
        return ids, tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)

    def drops(self, characters: tf.Tensor) -> tf.Tensor:
        """Tells which characters leave no trace: string [N] -> bool [N]."""
        return characters == "\0"

    def separates(self, characters: tf.Tensor) -> tf.Tensor:
        """Tells which characters are white space: string [N] -> bool [N]."""
        return tf.strings.regex_full_match(characters, character_class(str.isspace))

    def clean_characters(self, characters: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Cleans characters one by one, as the published models' cleaning allows.

        Args:
            characters: string [N], none of them white space or dropped.

        Returns:
            what comes of each, string [N]; whether it belongs to the one before it, bool [N].
        """
        decomposed = tf_text.normalize_utf8(characters, "NFKD")
        marks = character_class(unicodedata.combining)
        continues = tf.strings.regex_full_match(decomposed, marks + "(?s:.)*")
        normalized = tf.strings.regex_replace(decomposed, marks, "")
        if self.cleaning.do_lower_case:
            normalized = tf.strings.lower(normalized, encoding="utf-8")
        return normalized, continues

    def replace_digit_commas(self, ids: tf.Tensor) -> tf.RaggedTensor:
        """Looks up what stands in place of each piece, usually itself: int32 [T] -> [T, (pieces)]."""
        return tf.gather(self._replacements, ids)

    def _apply_digit_comma_rule(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        return ids.with_values(tf.gather(self._replacements, ids.values)).merge_dims(1, 2)


def graph_of(tokenizer: Tokenizer) -> "InGraphTokenizer | InGraphWordPieces":
    """A tokenizer of either kind of vocabulary as a graph."""
    if isinstance(tokenizer, WordPieceTokenizer):
        return InGraphWordPieces(tokenizer)
    return InGraphTokenizer.from_tokenizer(tokenizer)


def pack_ragged(
    first_ids: tf.RaggedTensor,
    second_ids: tf.RaggedTensor | None,
    max_seq_length: int,
    cls_id: int,
    sep_id: int,
    pad_id: int = 0,
) -> dict[str, tf.Tensor]:
    """pack_pair for a batch, padded to its longest sequence.

    Args:
        first_ids: int32 [B, (length)].
        second_ids: the same, or None for single texts.
        max_seq_length: the most ids a sequence may have.
        cls_id: id of [CLS].
        sep_id: id of [SEP].
        pad_id: id that fills up the shorter sequences.

    Returns:
        {"input_ids", "input_mask", "segment_ids"}, each int32 [B, S], where S <= max_seq_length.
    """
    room = room_for_text(max_seq_length, pair=second_ids is not None)
    rows = first_ids.nrows()
    cls, sep = (tf.fill([rows, 1], tf.constant(piece_id, first_ids.dtype)) for piece_id in (cls_id, sep_id))
    if second_ids is None:
        input_ids = tf.concat([cls, first_ids[:, :room], sep], axis=1)
        segment_ids = tf.zeros_like(input_ids)
    else:
        # Row splits are int64, and in a graph a plain number would become int32.
        lengths = truncated_lengths(
            first_ids.row_lengths(),
            second_ids.row_lengths(),
            tf.constant(room, first_ids.row_splits.dtype),
            *(tf.minimum, tf.maximum),
        )
        first = tf.concat([cls, cut_rows(first_ids, lengths[0]), sep], axis=1)
        second = tf.concat([cut_rows(second_ids, lengths[1]), sep], axis=1)
        input_ids = tf.concat([first, second], axis=1)
        segment_ids = tf.concat([tf.zeros_like(first), tf.ones_like(second)], axis=1)
    return {
        "input_ids": input_ids.to_tensor(pad_id),
        "input_mask": tf.ones_like(input_ids).to_tensor(0),
        "segment_ids": segment_ids.to_tensor(0),
    }


def cut_rows(ids: tf.RaggedTensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    """The first lengths[i] values of row i."""
    positions = tf.ragged.range(ids.row_lengths())
    kept = positions.values < tf.gather(lengths, ids.value_rowids())
    return tf.ragged.boolean_mask(ids, ids.with_values(kept))
