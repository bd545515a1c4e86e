"""Masks drawn when an example is read: different ones every epoch, by the rules of data_prep/examples/masking.py.

B examples, S max_seq_length, P max_predictions_per_seq, W words of the longest example, T = S pieces of text (tokens
without [CLS] and [SEP]).

The official procedure goes through the words in random order. Each opens a window of 1 to n words; a window too long
for what is left of the budget loses words at its end, one that does not fit even so, or touches a masked piece, is
given up; it ends when the budget is used up or every word has had its turn. Step by step that is as many steps as the
slowest example of a batch has words. Here one step takes one window of every example instead, which changes nothing:

- A random key for every word puts the words in random order (all orders are as likely, and keys of 52 bits do not
  collide in practice).
- Between one window that is taken and the next, neither the masks nor the budget change. So every word between the two
  in the order was given up in the very state that the earlier window left, and the next window is that of the word
  with the least key, beyond the key of the last one, whose window fits in this state.

Each step takes a piece at least, so there are at most P steps, each some arithmetic on [B, W] arrays.

What is drawn for an example depends on the seed and on the example's number in the training stream alone.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.inputs.example_draws import ExampleDraws
from albert_tf.records.masking_rules import (
    KEEP_SHARE,
    MASK_SHARE,
    MaskingRules,
    PieceIds,
)
from albert_tf.records.names import LABEL, WEIGHTS_FEATURE
from albert_tf.records.unmasked_records import UnmaskedBatch

_NEVER = 2.0  # beyond every key


class DynamicMasker:
    """Hides words of the examples of a batch."""

    def __init__(self, rules: MaskingRules, ids: PieceIds, max_seq_length: int, seed: int, stream: str = "training"):
        """Takes the rules, the vocabulary, S, and what decides the draws: a seed, and what the examples are for."""
        self.rules, self.ids, self.max_seq_length = rules, ids, max_seq_length
        self._draws = ExampleDraws(f"masks/{stream}/{seed}", 2 * (max_seq_length + rules.max_predictions_per_seq))
        self._budgets = rules.budgets(np.arange(max_seq_length + 1)).astype(np.int32)
        self._replacements = ids.replacements(with_specials=rules.reference_quirks).astype(np.int32)

    def mask(self, batch: UnmaskedBatch, first_example: Any) -> dict:
        """Masks examples that follow one another in the stream.

        Args:
            batch: the examples.
            first_example: int64 scalar, the number of the first one in the stream.

        Returns:
            What pretraining_records.parse_batch returns.
        """
        length, predictions = self.max_seq_length, self.rules.max_predictions_per_seq
        draws = self._draws.draw(first_example, tf.shape(batch.labels)[0])
        order, wish, chance, choice = tf.split(draws, [length, length, predictions, predictions], axis=1)
        has_second = batch.lengths > batch.first_lengths
        text_lengths = (batch.lengths - 2 - tf.cast(has_second, tf.int32))[:, None]
        middles = batch.first_lengths[:, None] - 2
        in_text = tf.range(length) < text_lengths
        opens = self._find_words(batch.boundary, middles) & in_text
        starts = _positions(opens, length + 1)
        keys = tf.where(starts < text_lengths, order[:, : tf.shape(starts)[1]], _NEVER)
        starts = tf.minimum(starts, text_lengths)
        sizes = self._window_sizes(starts, middles, text_lengths, wish)
        covered = _choose(starts, keys, sizes, tf.gather(self._budgets, batch.lengths)[:, None])
        word_of = tf.maximum(tf.cumsum(tf.cast(opens, tf.int32), axis=1) - 1, 0)
        hidden = tf.gather(covered, word_of, batch_dims=1) & in_text
        return self._show(batch, _to_tokens(hidden, middles), chance, choice)

    def _find_words(self, boundary, middles):
        """Marks the pieces of text that start a word: bool [B, T], with any value after the end of the text."""
        if not self.rules.do_whole_word_mask:
            return tf.ones_like(boundary)
        places = tf.range(self.max_seq_length)
        # Token 1 is the first piece; from the second segment on there is one [SEP] more before each.
        first, second = (tf.pad(boundary[:, skip:], [[0, 0], [0, skip]]) for skip in (1, 2))
        return tf.where(places < middles, first, second) | (places == 0)

    def _window_sizes(self, starts, middles, text_lengths, wish):
        """The pieces that windows from each word have, for 1, 2, ... words; no more words than it wants.

        Returns:
            int32 [B, W], ngram of them, each at least as large as the one before.
        """
        ngram, words = self.rules.ngram, tf.shape(starts)[1]
        stops = text_lengths if self.rules.reference_quirks else tf.where(starts < middles, middles, text_lengths)
        wish = wish[:, :words]
        following = tf.concat([starts, tf.tile(text_lengths, [1, ngram])], axis=1)
        sizes = [tf.minimum(following[:, 1 : 1 + words], stops) - starts]
        for more, border in enumerate(self.rules.ngram_borders(), 2):
            longer = tf.minimum(following[:, more : more + words], stops) - starts
            sizes.append(tf.where(wish >= border, longer, sizes[-1]))
        return sizes

    def _show(self, batch: UnmaskedBatch, hidden, chance, choice) -> dict:
        """The batch with something else in the place of the hidden tokens, and what they were.

        Args:
            batch: the examples.
            hidden: bool [B, S], tokens to predict.
            chance: float64 [B, P], decides whether a prediction is shown as [MASK], unchanged, or as a random piece.
            choice: float64 [B, P], which piece that is.
        """
        rows, length, predictions = batch.labels.shape[0], self.max_seq_length, self.rules.max_predictions_per_seq
        counts = tf.reduce_sum(tf.cast(hidden, tf.int32), axis=1)
        real = tf.sequence_mask(counts, predictions)
        positions = tf.where(real, _positions(hidden, 0, predictions), 0)
        originals = tf.where(real, tf.gather(batch.input_ids, positions, batch_dims=1), 0)
        number = tf.cast(choice * len(self._replacements), tf.int32)
        others = tf.where(chance < KEEP_SHARE, originals, tf.gather(self._replacements, number))
        shown = tf.where(chance < MASK_SHARE, self.ids.mask_id, others)
        tokens = tf.range(length)
        fixed = {
            "input_ids": tf.tensor_scatter_nd_update(batch.input_ids, tf.where(hidden), tf.boolean_mask(shown, real)),
            "input_mask": tf.cast(tokens < batch.lengths[:, None], tf.int32),
            "segment_ids": tf.cast(
                (tokens >= batch.first_lengths[:, None]) & (tokens < batch.lengths[:, None]), tf.int32
            ),
            "masked_lm_positions": positions,
            "masked_lm_ids": originals,
            WEIGHTS_FEATURE: tf.cast(real, tf.float32),
            LABEL: batch.labels,
        }
        widths = {name: [predictions] if "masked" in name else [length] for name in fixed} | {LABEL: []}
        return {name: tf.ensure_shape(value, [rows, *widths[name]]) for name, value in fixed.items()}


def _positions(chosen, fill: int, width: int | None = None):
    """Places where each row of a bool [B, N] is true, ascending: int32 [B, width, or the most of a row], filled up."""
    places = tf.cast(tf.where(chosen), tf.int32)
    rows = tf.shape(chosen)[0]
    ragged = tf.RaggedTensor.from_value_rowids(places[:, 1], places[:, 0], rows, validate=False)
    return ragged.to_tensor(default_value=fill, shape=[None, width])


def _choose(starts, keys, sizes, budgets):
    """Takes windows of words until the budgets are used up, as the head of this file explains.

    Args:
        starts: int32 [B, W], the first piece of each word.
        keys: float64 [B, W], its place in the random order; _NEVER where there is no word.
        sizes: int32 [B, W] for windows of 1, 2, ... words.
        budgets: int32 [B, 1], pieces to hide.

    Returns:
        bool [B, W], the words to hide.
    """

    def take(left, last, free):
        size = sizes[0]
        for longer in sizes[1:]:
            size = tf.where(longer <= left, longer, size)
        fits = (keys > last) & (size <= left) & (starts + size <= free)
        candidates = tf.where(fits, keys, _NEVER)
        word = tf.argmin(candidates, axis=1, output_type=tf.int32)[:, None]
        key, begin, taken = (tf.gather(values, word, batch_dims=1) for values in (candidates, starts, size))
        found = key < _NEVER
        end = tf.where(found, begin + taken, 0)
        return (
            tf.where(found, left - taken, 0),
            key,
            tf.where(starts < end, tf.minimum(free, tf.maximum(starts, begin)), free),
        )

    # The first hidden piece at or after each word, beyond the end if there is none.
    free = tf.fill(tf.shape(starts), tf.int32.max)
    state = (budgets, tf.fill(tf.shape(budgets), tf.constant(-1.0, tf.float64)), free)
    *_, free = tf.while_loop(lambda left, *_: tf.reduce_any(left > 0), take, state)
    return free == starts


def _to_tokens(hidden, middles):
    """Moves marks of pieces of text, bool [B, T], to tokens: one place on after [CLS], and one more after [SEP]."""
    places = tf.range(tf.shape(hidden)[1]) - 1
    first, second = (tf.pad(hidden[:, :-skip], [[0, 0], [skip, 0]]) for skip in (1, 2))
    return tf.where(places < middles, first, second & (places > middles))
