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
    starts = tf.range(_number_of(count, room, stride)) * stride
    return starts, tf.minimum(room, count - starts)


def windows_of_texts(pieces: tf.RaggedTensor, room: int, stride: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The windows over several texts, one text's after another's.

    Args:
        pieces: int32 [B, (T)].
        room, stride: the most pieces of a window, and those between the starts of two.

    Returns:
        int32 [W]: the text of each window, its start among the pieces of all texts, and its length.
    """
    stride = min(room, stride)
    counts = tf.cast(pieces.row_lengths(), tf.int32)
    numbers = _number_of(counts, room, stride)
    text = tf.repeat(tf.range(tf.size(counts)), numbers)
    starts = tf.ragged.range(numbers).values * stride
    lengths = tf.minimum(room, tf.gather(counts, text) - starts)
    return text, tf.gather(tf.cast(pieces.row_starts(), tf.int32), text) + starts, lengths


def _number_of(count, room, stride):
    """The number of windows over so many pieces."""
    return 1 + tf.maximum(0, count - room + stride - 1) // stride


def window_rows(ids: tf.Tensor, starts: tf.Tensor, lengths: tf.Tensor, tokenizer: Tokenizer) -> dict[str, tf.Tensor]:
    """[CLS] window [SEP] for each window, int32 [W, S], padded to the longest.

    Args:
        ids: int32 [T].
        starts, lengths: int32 [W], in pieces.
        tokenizer: which has the ids of [CLS], [SEP] and padding.
    """
    places = tf.range(tf.reduce_max(tf.concat([[0], lengths], 0)) + 2)[tf.newaxis] - 1
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
