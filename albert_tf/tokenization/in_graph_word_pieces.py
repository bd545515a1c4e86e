"""The WordPiece tokenizer as a graph (tensorflow-text), so that a SavedModel can take strings.

Same ids as WordPieceTokenizer; docs/tokenization.md lists where the two may differ.
"""

import re
import unicodedata

import tensorflow as tf
import tensorflow_text as tf_text

from albert_tf.tokenization.basic_words import is_accent, is_dropped, is_ideograph, is_punctuation
from albert_tf.tokenization.special_pieces import MASK
from albert_tf.tokenization.text_cleaning import REPLACEMENT_CHARACTER, TextCleaning, character_class
from albert_tf.tokenization.word_piece_file import INSIDE, WORD_PIECE_SPECIALS
from albert_tf.tokenization.word_pieces import MAX_WORD_CHARACTERS, WordPieceTokenizer

# Longest word in bytes; and what makes one longer, which is then unknown as a whole.
_MAX_BYTES = 4 * MAX_WORD_CHARACTERS
_TOO_LONG = "-" * _MAX_BYTES


class InGraphWordPieces(tf.Module):
    """Strings to ids inside a tf.function; kept as an attribute of a tf.Module it is saved with it, vocabulary and all.

    Args:
        tokenizer: the same in Python.

    Attributes:
        cleaning: the switches of text cleaning.
        vocab_size, pad_id, unk_id, cls_id, sep_id, mask_id: as the tokenizer's.
        dropped_belong_to_the_one_before: whether the place of a character takes in what is dropped after it.
    """

    dropped_belong_to_the_one_before = False

    def __init__(self, tokenizer: WordPieceTokenizer):
        super().__init__(name="tokenizer")
        self.cleaning: TextCleaning = tokenizer.cleaning
        for name in ("vocab_size", "pad_id", "unk_id", "cls_id", "sep_id", "mask_id"):
            setattr(self, name, getattr(tokenizer, name))
        self._pieces = tf_text.FastWordpieceTokenizer(
            tokenizer.pieces,
            suffix_indicator=INSIDE,
            max_bytes_per_word=_MAX_BYTES,
            token_out_type=tf.int32,
            unknown_token=WORD_PIECE_SPECIALS[1],
            no_pretokenization=True,
        )

    def clean(self, texts: tf.Tensor) -> tf.Tensor:
        """The words of texts with white space around them: string of any shape, to the same shape."""
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        # Before white space, of which Unicode calls some characters controls.
        texts = tf.strings.regex_replace(texts, r"\x00", "")
        texts = tf.strings.regex_replace(texts, character_class(is_dropped), "")
        texts = tf.strings.regex_replace(texts, character_class(str.isspace), " ")
        texts = _surrounded(texts, character_class(is_ideograph))
        if self.cleaning.do_lower_case:
            texts = tf.strings.lower(texts, encoding="utf-8")
            if not self.cleaning.keep_accents:
                texts = tf_text.normalize_utf8(texts, "NFD")
                texts = tf.strings.regex_replace(texts, character_class(is_accent), "")
        return _surrounded(texts, character_class(is_punctuation))

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """WordPieceTokenizer.encode of each text: string [B] -> int32 [B, (length)]."""
        words = tf.strings.split(self.clean(texts), " ")
        words = tf.ragged.boolean_mask(words, tf.strings.length(words) > 0)
        ids = words.with_values(self._pieces.tokenize(_marked_if_long(words.values)))
        return ids.merge_dims(1, 2)

    def encode_with_masks(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """WordPieceTokenizer.encode_with_masks of each text: string [B] -> int32 [B, (length)]."""
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        # Cleaning drops this character, so once dropped it can mark the places.
        texts = tf.strings.regex_replace(texts, REPLACEMENT_CHARACTER, "")
        case = "(?i)" if self.cleaning.do_lower_case else ""
        texts = tf.strings.regex_replace(texts, case + re.escape(MASK), REPLACEMENT_CHARACTER)
        parts = tf.strings.split(texts, REPLACEMENT_CHARACTER)
        rows = parts.value_rowids()
        is_later = tf.cast(tf.concat([tf.zeros_like(rows[:1], tf.bool), rows[1:] == rows[:-1]], 0), tf.int64)
        masks = tf.RaggedTensor.from_row_lengths(tf.fill([tf.reduce_sum(is_later)], self.mask_id), is_later)
        return parts.with_values(tf.concat([masks, self.encode(parts.values)], 1)).merge_dims(1, 2)

    def encode_cleaned_with_offsets(self, text: tf.Tensor):
        """The pieces of one cleaned text, string [].

        Returns:
            (ids, starts, ends), int32 [T]; starts and ends count bytes of the text.
        """
        words, places, _ = tf_text.WhitespaceTokenizer().tokenize_with_offsets(text)
        ids, starts, ends = self._pieces.tokenize_with_offsets(_marked_if_long(words))
        rows = ids.value_rowids()
        word_places = tf.gather(tf.cast(places, tf.int32), rows)
        lengths = tf.gather(tf.strings.length(words), rows)
        ends = tf.minimum(tf.cast(ends.values, tf.int32), lengths)
        return ids.values, word_places + tf.cast(starts.values, tf.int32), word_places + ends

    def drops(self, characters: tf.Tensor) -> tf.Tensor:
        """Tells which characters leave no trace: string [N] -> bool [N]."""
        is_dropped_here = tf.strings.regex_full_match(characters, character_class(is_dropped))
        return is_dropped_here | (characters == "\0")

    def separates(self, characters: tf.Tensor) -> tf.Tensor:
        """Tells which characters are white space: string [N] -> bool [N]."""
        return tf.strings.regex_full_match(characters, character_class(_separates))

    def clean_characters(self, characters: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Cleans characters one by one.

        Args:
            characters: string [N], none of them white space or dropped.

        Returns:
            what comes of each, string [N]; whether it belongs to the one before it, bool [N].
        """
        if not self.cleaning.do_lower_case or self.cleaning.keep_accents:
            return self.clean(characters), tf.zeros_like(characters, tf.bool)
        decomposed = tf_text.normalize_utf8(characters, "NFKD")
        continues = tf.strings.regex_full_match(decomposed, character_class(unicodedata.combining) + "(?s:.)*")
        stands_alone = tf.strings.regex_full_match(characters, character_class(is_ideograph))
        after_such = tf.concat([tf.zeros_like(stands_alone[:1]), stands_alone[:-1]], 0)
        return self.clean(characters), continues & ~after_such

    def replace_digit_commas(self, ids: tf.Tensor) -> tf.RaggedTensor:
        """Puts every piece in its own place: int32 [T] -> [T, (1)]."""
        return tf.RaggedTensor.from_tensor(ids[:, tf.newaxis])


def _separates(character: str) -> bool:
    return character.isspace() and not is_dropped(character)


def _surrounded(texts: tf.Tensor, characters: str) -> tf.Tensor:
    """The texts with spaces around the characters of a class."""
    return tf.strings.regex_replace(texts, f"({characters})", r" \1 ")


def _marked_if_long(words: tf.Tensor) -> tf.Tensor:
    """The words, those of more than MAX_WORD_CHARACTERS made so long that they are unknown."""
    too_long = tf.strings.length(words, unit="UTF8_CHAR") > MAX_WORD_CHARACTERS
    return tf.where(too_long, words + _TOO_LONG, words)
