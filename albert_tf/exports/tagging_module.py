"""The signatures of a fine-tuned token classification: from words, or a text that is cut at white space, to tags.

The windows over a long sentence, and which of them counts for a word, are those of tasks.token_classification.

Shapes: B batch, W words, S positions of a window.
"""

import tensorflow as tf

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.exports.finetuned_module import TAG, FinetunedModule
from albert_tf.exports.text_module import SERVING_DEFAULT, texts_spec
from albert_tf.exports.window_context import most_context_window, window_rows
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.text_cleaning import character_class

TAG_TEXT = "tag_text"


class TaggingModule(FinetunedModule):
    """ "tags" string [B, W], "" after the last word of a row; from a text also the "words".

    Args:
        model, tokenizer, task, max_seq_length: see FinetunedModule.
    """

    signature = TAG

    def __init__(self, model, tokenizer: Tokenizer, task: FinetunedTask, max_seq_length: int):
        super().__init__(model, tokenizer, task, max_seq_length)
        self.predict_text = tf.function(self._predict_text, input_signature=[texts_spec("text")], autograph=False)

    def signatures(self):
        """The signatures of every fine-tuned model, and one that takes texts, which is the default."""
        return {**super().signatures(), SERVING_DEFAULT: self.predict_text, TAG_TEXT: self.predict_text}

    def _predict_text(self, text):
        cleaned = tf.strings.regex_replace(text, character_class(str.isspace) + "+", " ")
        words = tf.strings.split(tf.strings.strip(cleaned), " ")
        words = tf.ragged.boolean_mask(words, words != "").to_tensor("")
        return {"words": words, **self.predict(words)}

    def _predict(self, words):
        tags = tf.map_fn(self._tags, words, fn_output_signature=tf.int32, parallel_iterations=1)
        names = tf.constant([*self.label_names, ""])
        return {"tags": tf.gather(names, tags)}

    def _tags(self, words):
        """Numbers of the tags of one sentence's words, string [W]; after its last word, one beyond the last tag."""
        count = tf.reduce_max(tf.concat([[0], tf.cast(tf.where(words != "")[:, 0], tf.int32) + 1], 0))
        room = self.max_seq_length - 2
        pieces = self.tokenizer.encode(words[:count])
        unknown = tf.fill([count, 1], self.tokenizer.unk_id)
        unknown = tf.ragged.boolean_mask(
            tf.RaggedTensor.from_tensor(unknown), tf.RaggedTensor.from_tensor(pieces.row_lengths()[:, tf.newaxis] == 0)
        )
        pieces = tf.concat([pieces, unknown], axis=1)[:, :room]
        starts = tf.cast(pieces.row_splits, tf.int32)
        firsts, ends = self._windows(starts, room)
        window_starts = tf.gather(starts, firsts)
        lengths = tf.gather(starts, ends) - window_starts
        logits = self.from_ids(**window_rows(pieces.values, window_starts, lengths, self.tokenizer))["logits"]
        window = tf.gather(most_context_window(window_starts, lengths, starts[-1]), starts[:-1])
        places = starts[:-1] - tf.gather(window_starts, window) + 1
        tags = tf.argmax(tf.gather_nd(logits, tf.stack([window, places], -1)), axis=-1, output_type=tf.int32)
        return tf.concat([tags, tf.fill([tf.size(words) - count], len(self.label_names))], 0)

    def _windows(self, starts, room):
        """int32 [windows], the first word of each and the one after its last; as token_classification cuts them."""
        count = tf.size(starts) - 1

        def end_of(first):
            return tf.searchsorted(starts, starts[first : first + 1] + room, side="right")[0] - 1

        def next_window(firsts, ends):
            first, end = firsts[-1], ends[-1]
            following = tf.searchsorted(starts, starts[first : first + 1] + self._settings.doc_stride, side="left")[0]
            first = tf.minimum(tf.maximum(following, first + 1), end)
            return tf.concat([firsts, [first]], 0), tf.concat([ends, [end_of(first)]], 0)

        return tf.while_loop(
            lambda firsts, ends: ends[-1] < count,
            next_window,
            (tf.constant([0]), end_of(tf.constant(0))[tf.newaxis]),
            shape_invariants=(tf.TensorShape([None]), tf.TensorShape([None])),
        )
