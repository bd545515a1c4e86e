"""The signature of a fine-tuned multiple-choice model: from a text, a question and options to the option that fits.

Shapes: B batch, N options, S sequence.
"""

import tensorflow as tf

from albert_tf.exports.finetuned_module import CHOOSE, FinetunedModule
from albert_tf.tokenization.in_graph import cut_rows

_BLANK = "_"

_NO_ROOM = "max_seq_length has no room for a question and option; it must be at least max_qa_length + 3"


class MultipleChoiceModule(FinetunedModule):
    """ "choice" int32 [B], counted from 0, and "probabilities" float32 [B, N]."""

    signature = CHOOSE

    def _id_specs(self):
        return [
            tf.TensorSpec([None, None, None], tf.int32, name=name)
            for name in ("input_ids", "input_mask", "segment_ids")
        ]

    def _from_ids(self, input_ids, input_mask, segment_ids):
        """The model's logits for int32 [B, N, S] each."""
        shape = tf.shape(input_ids)
        flat = (tf.reshape(ids, [-1, shape[2]]) for ids in (input_ids, segment_ids))
        input_ids, segment_ids = (tf.reshape(ids, shape) for ids in self._checked(*flat))
        return self._head({"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids})

    def _predict(self, article, question, options):
        shape = tf.shape(options)
        same = tf.debugging.assert_equal(
            [tf.size(article), tf.size(question)],
            shape[0],
            message="As many questions as rows of options.",
        )
        with tf.control_dependencies([same]):
            questions = tf.repeat(question, shape[1])
        asked = self.tokenizer.encode(_join(questions, tf.reshape(options, [-1])))
        # Of question and option the end is kept, of the article the beginning.
        most = self._settings.max_qa_length
        asked = asked[:, -most:] if most > 0 else asked[:, :0]
        lengths = tf.cast(asked.row_lengths(), tf.int32)
        tf.debugging.assert_less(lengths, self.max_seq_length - 2, message=_NO_ROOM)
        context = tf.gather(self.tokenizer.encode(article), tf.repeat(tf.range(shape[0]), shape[1]))
        packed = self._pack_parts(cut_rows(context, tf.cast(self.max_seq_length - 3 - lengths, tf.int64)), asked)
        rows = {name: tf.reshape(ids, [shape[0], shape[1], tf.shape(ids)[1]]) for name, ids in packed.items()}
        logits = self.from_ids(**rows)["logits"]
        return {
            "choice": tf.argmax(logits, axis=-1, output_type=tf.int32),
            "probabilities": tf.nn.softmax(logits),
        }

    def _pack_parts(self, first, second):
        """[CLS] first [SEP] second [SEP], which fit already, padded to the longest."""
        tokenizer = self.tokenizer
        cls, sep = (tf.fill([first.nrows(), 1], piece_id) for piece_id in (tokenizer.cls_id, tokenizer.sep_id))
        parts = [tf.concat([cls, first, sep], axis=1), tf.concat([second, sep], axis=1)]
        ids = tf.concat(parts, axis=1)
        return {
            "input_ids": ids.to_tensor(tokenizer.pad_id),
            "input_mask": tf.ones_like(ids).to_tensor(0),
            "segment_ids": tf.concat([tf.zeros_like(parts[0]), tf.ones_like(parts[1])], axis=1).to_tensor(0),
        }


def _join(questions: tf.Tensor, options: tf.Tensor) -> tf.Tensor:
    """Puts each option in the blank of its question, after one without; as multiple_choice.join_question has it."""
    parts = tf.strings.split(questions, _BLANK)
    starts = tf.gather(tf.cast(parts.row_starts(), tf.int32), parts.value_rowids())
    is_first = tf.range(tf.size(parts.values)) == starts
    filled = tf.where(is_first, parts.values, tf.gather(options, parts.value_rowids()) + parts.values)
    in_blank = tf.strings.reduce_join(parts.with_values(filled), axis=1)
    return tf.where(parts.row_lengths() > 1, in_blank, questions + " " + options)
