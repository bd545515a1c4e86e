"""Windows over a text, and the one with the most context around a piece, as a graph.

Shapes: W windows, T pieces of the text, S positions of a window.
"""

import tensorflow as tf

from albert_tf.tasks.squad_windows import LENGTH_WEIGHT
from albert_tf.tokenization.base import Tokenizer


def cut_windows(count: tf.Tensor, room: tf.Tensor | int, stride: int) -> tuple[tf.Tensor, tf.Tensor]:
    """int32 [W] starts and lengths of the windows over so many pieces, as tasks.squad_windows.cut_windows has them."""
    tf.debugging.assert_positive(room, message="max_seq_length leaves no room for a text.")
    stride = tf.minimum(room, stride)
    number = 1 + tf.maximum(0, count - room + stride - 1) // stride
    starts = tf.range(number) * stride
    return starts, tf.minimum(room, count - starts)


def window_rows(ids: tf.Tensor, starts: tf.Tensor, lengths: tf.Tensor, tokenizer: Tokenizer) -> dict[str, tf.Tensor]:
    """[CLS] window [SEP] for each window, int32 [W, S], padded to the longest.

    Args:
        ids: int32 [T].
        starts, lengths: int32 [W], in pieces.
        tokenizer: which has the ids of [CLS], [SEP] and padding.
    """
    places = tf.range(tf.reduce_max(lengths) + 2)[tf.newaxis] - 1
    starts, lengths = starts[:, tf.newaxis], lengths[:, tf.newaxis]
    in_window = (places >= 0) & (places < lengths)
    # One more, for a text without pieces.
    pieces = tf.gather(tf.concat([ids, [tokenizer.pad_id]], 0), tf.where(in_window, places + starts, 0))
    ends = tf.where(places == lengths, tokenizer.sep_id, tokenizer.pad_id)
    others = tf.where(places < 0, tokenizer.cls_id, ends)
    input_ids = tf.where(in_window, pieces, others)
    mask = tf.cast(places <= lengths, tf.int32)
    return {"input_ids": input_ids, "input_mask": mask, "segment_ids": tf.zeros_like(input_ids)}


def most_context_window(starts: tf.Tensor, lengths: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """The window that counts for each piece; as tasks.squad_windows.max_context has it.

    Args:
        starts, lengths: int32 [windows], in pieces.
        count: int32 scalar, pieces of the text.

    Returns:
        int32 [count].
    """
    places = tf.range(count)[tf.newaxis] - starts[:, tf.newaxis]
    lengths = lengths[:, tf.newaxis]
    context = tf.cast(tf.minimum(places, lengths - 1 - places), tf.float64)
    context += LENGTH_WEIGHT * tf.cast(lengths, tf.float64)
    return tf.argmax(tf.where((places >= 0) & (places < lengths), context, -1.0), axis=0, output_type=tf.int32)
