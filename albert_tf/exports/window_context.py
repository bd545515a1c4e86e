"""Choice of the window with the most context around a piece, among several windows over a text, as a graph."""

import tensorflow as tf

from albert_tf.tasks.squad_windows import LENGTH_WEIGHT


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
