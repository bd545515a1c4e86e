"""The signature of a fine-tuned model that finds spans, which may overlap: from a text to their labels and places.

The rules of tasks.span_pieces, as a graph. The outputs are those of entities.

Shapes: B batch, N spans of the text with most, S positions of a window, T pieces of a text, W pieces of the longest
span, C labels.
"""

import tensorflow as tf

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.exports.entity_module import EntityModule
from albert_tf.exports.window_context import cut_windows, window_rows
from albert_tf.tasks.span_pieces import span_stride
from albert_tf.tokenization.base import Tokenizer


class SpanCategoriesModule(EntityModule):
    """ "entities" and "labels" string [B, N], "starts" and "ends" int32 [B, N], "scores" float32 [B, N].

    After a text's last span stand "" and 0.

    Args:
        model, tokenizer, task, max_seq_length: see FinetunedModule.

    Raises:
        InputError: max_seq_length leaves no room for windows over the longest spans.
    """

    def __init__(self, model, tokenizer: Tokenizer, task: FinetunedTask, max_seq_length: int):
        super().__init__(model, tokenizer, task, max_seq_length)
        self._stride = span_stride(self._settings)

    def _find(self, text):
        """The spans of one text, string []."""
        ids, starts, ends = self.aligner.align(text)
        count, widest = tf.size(ids), self._settings.max_span_length
        firsts, lengths = cut_windows(count, self._settings.max_seq_length - 2, self._stride)
        logits = self.from_ids(**window_rows(ids, firsts, lengths, self.tokenizer))["logits"]
        places = tf.range(count)
        window = tf.clip_by_value((places - widest) // self._stride, 0, tf.size(firsts) - 1)
        scores = tf.gather_nd(logits, tf.stack([window, places - tf.gather(firsts, window) + 1], -1))
        begins, finishes = _span_ends(starts, ends, tf.strings.length(text, unit="UTF8_CHAR"))
        last = places[:, tf.newaxis] + tf.range(widest)[tf.newaxis]
        # One more, for spans that would reach beyond the text.
        can_end = tf.gather(tf.concat([finishes, [False]], 0), tf.minimum(last, count))
        chosen = tf.where((scores > 0) & (begins[:, tf.newaxis] & can_end)[:, :, tf.newaxis])
        first, more, label = tf.unstack(tf.cast(chosen, tf.int32), axis=1)
        return {
            "labels": tf.gather(tf.constant(list(self.label_names)), label),
            "starts": tf.gather(starts, first),
            "ends": tf.gather(ends, first + more),
            "scores": tf.sigmoid(tf.gather_nd(scores, chosen)),
        }


def _span_ends(starts: tf.Tensor, ends: tf.Tensor, length: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pieces at which a span can begin, and end, as tasks.span_pieces.span_ends has them: bool [T] each.

    Args:
        starts, ends: int32 [T], the characters of each piece.
        length: int32 scalar, of the text.
    """
    visible = tf.where(ends > starts)
    of_starts, of_ends = (tf.gather_nd(values, visible) for values in (starts, ends))
    is_first = of_starts > tf.concat([[-1], of_starts], 0)[:-1]
    is_last = of_ends < tf.concat([of_ends, [length + 1]], 0)[1:]
    shape = tf.cast(tf.shape(starts), tf.int64)
    begins, finishes = (tf.scatter_nd(visible, tf.cast(value, tf.int32), shape) for value in (is_first, is_last))
    return begins > 0, finishes > 0
