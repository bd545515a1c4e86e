"""Spans of the text that its pieces stand for, as a TensorFlow graph: what alignment.align does in Python.

Written for the cleaning of the published models and for WordPiece, by which every character is cleaned for itself: with
sentencepiece normalization "NFKD" without accents. Places count code points, as Python's strings do.

Shapes: N characters of the text, M of the cleaned text, T pieces.
"""

import tensorflow as tf

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.alignment import is_visible
from albert_tf.tokenization.base import SPACE, Tokenizer
from albert_tf.tokenization.in_graph import InGraphTokenizer, InGraphWordPieces
from albert_tf.tokenization.text_cleaning import TextCleaning, character_class


class InGraphAligner(tf.Module):
    """Texts to ids with their places, inside a tf.function.

    Args:
        tokenizer: the vocabulary, as a graph.
        vocabulary: the same, for its pieces.

    Raises:
        InputError: the cleaning is one in which characters depend on their neighbours.
    """

    def __init__(self, tokenizer: InGraphTokenizer | InGraphWordPieces, vocabulary: Tokenizer):
        super().__init__(name="aligner")
        cleaning = tokenizer.cleaning
        published = TextCleaning(do_lower_case=cleaning.do_lower_case)
        if isinstance(tokenizer, InGraphTokenizer) and cleaning != published:
            raise InputError(
                "graphs find places in texts only with the published cleaning, not with --keep_accents, "
                "--replace_quotes or --normalization=NFKC; export_model --format=onnx (or litert) takes any, and "
                f"predict and serve answer from that. Received {cleaning}."
            )
        self._tokenizer = tokenizer
        pieces = (vocabulary.id_to_piece(piece_id) for piece_id in range(vocabulary.vocab_size))
        self._piece_lengths = [len(piece.lstrip(SPACE)) for piece in pieces]

    def align(self, text: tf.Tensor):
        """The pieces of one text.

        Args:
            text: string scalar, valid UTF-8.

        Returns:
            (ids, starts, ends), int32 [T]: as the attributes of alignment.AlignedText.
        """
        characters = tf.strings.unicode_split(text, "UTF-8")
        cleaned, of_character, starts, ends = self._clean(characters)
        ids, piece_starts, piece_ends = self._encode(cleaned)
        visible = tf.cast(
            tf.where(~tf.strings.regex_full_match(cleaned, character_class(_is_invisible)))[:, 0], tf.int32
        )
        count, length = tf.size(visible), tf.size(characters)
        first = tf.searchsorted(visible, piece_starts, side="left")
        last = tf.searchsorted(visible, piece_ends, side="left") - 1
        # The places of the visible characters, with what stands for "none" at the end of each.
        begins = tf.gather(tf.concat([tf.gather(starts, tf.gather(of_character, visible)), [length]], 0), first)
        finishes = tf.gather(
            tf.concat([tf.gather(ends, tf.gather(of_character, visible)), [0]], 0), tf.where(last < 0, count, last)
        )
        begins = _running_maximum(begins)
        finishes = tf.maximum(begins, tf.where(first <= last, finishes, begins))
        return ids, begins, _running_maximum(finishes)

    def _clean(self, characters):
        """The cleaned text, character by character, and where each comes from.

        Args:
            characters: string [N].

        Returns:
            (string [M]; int32 [M], number of the unit that each comes from; int32 [units] starts, ends). A unit is a
            character that is no white space.
        """
        is_space = self._tokenizer.separates(characters)
        is_dropped = self._tokenizer.drops(characters)
        places = tf.cast(tf.where(~(is_space | is_dropped))[:, 0], tf.int32)
        units = tf.gather(characters, places)
        spaces_up_to = tf.cumsum(tf.cast(is_space, tf.int32))
        spaces = tf.gather(spaces_up_to, places)
        has_space = tf.concat([tf.zeros_like(spaces[:1]), spaces[1:] - spaces[:-1]], 0) > 0
        ends = places + 1
        if self._tokenizer.dropped_belong_to_the_one_before:
            others = tf.cast(tf.where(~is_dropped)[:, 0], tf.int32)
            following = tf.searchsorted(others, places, side="right")
            ends = tf.gather(tf.concat([others, [tf.size(characters)]], 0), following)
        normalized, continues = self._tokenizer.clean_characters(units)
        continues &= ~has_space
        # A letter and the marks after it are one segment; its first unit has its start, all have its end.
        begins_segment = tf.concat([tf.ones_like(continues[:1]), ~continues[1:]], 0)
        segment = tf.cumsum(tf.cast(begins_segment, tf.int32)) - 1
        starts = tf.gather(tf.boolean_mask(places, begins_segment), segment)
        ends = tf.gather(tf.math.segment_max(ends, segment), segment)
        written = tf.strings.unicode_split(tf.where(has_space, " " + normalized, normalized), "UTF-8")
        return written.values, tf.cast(written.value_rowids(), tf.int32), starts, ends

    def _encode(self, cleaned):
        """Ids of a cleaned text, string [M], and which of its characters each stands for: int32 [T], three times."""
        text = tf.strings.reduce_join(cleaned)
        ids, starts, ends = self._tokenizer.encode_cleaned_with_offsets(text)
        ends_in_bytes = tf.cumsum(tf.strings.length(cleaned))
        starts, ends = (tf.searchsorted(ends_in_bytes, offsets, side="right") for offsets in (starts, ends))
        replaced = self._tokenizer.replace_digit_commas(ids)
        row = tf.cast(replaced.value_rowids(), tf.int32)
        lengths = tf.gather(tf.constant(self._piece_lengths), replaced.values)
        # Places of the pieces that stand for one, one after the other up to its end.
        lengths_so_far = tf.cumsum(lengths)
        row_ends = tf.cast(replaced.row_limits(), tf.int32) - 1
        rest = tf.gather(tf.gather(lengths_so_far, row_ends), row) - lengths_so_far
        several = tf.gather(replaced.row_lengths() > 1, row)
        new_ends = tf.where(several, tf.gather(ends, row) - rest, tf.gather(ends, row))
        is_first = tf.concat([tf.ones_like(row[:1], tf.bool), row[1:] != row[:-1]], 0)
        before = tf.concat([tf.zeros_like(new_ends[:1]), new_ends[:-1]], 0)
        return replaced.values, tf.where(is_first, tf.gather(starts, row), before), new_ends


def _is_invisible(character: str) -> bool:
    return not is_visible(character)


def _running_maximum(values):
    """The largest of each value and those before it, by doubling: int32 [T]."""

    def double(step, values):
        shifted = tf.concat([values[:step], values[:-step]], 0)
        return step * 2, tf.maximum(values, shifted)

    _, values = tf.while_loop(
        lambda step, values: step < tf.size(values),
        double,
        (tf.constant(1), values),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )
    return values
