"""Attention in training as TensorFlow is fastest at it, its gradient written out; see tensorflow_training.

Shapes: B batch, S sequence, P positions, H hidden, N heads, D = H / N, n anything.
"""

import math

import tensorflow as tf
from keras import ops

from albert_tf.kernels.formulas import drop, merge_heads, part_heads
from albert_tf.kernels.tensorflow_compiling import compiled, row_sum
from albert_tf.kernels.tensorflow_gradients import custom_gradient


@compiled
def _inner_products(context, upstream):
    """float [n, D] twice -> float32 [n, 1]."""
    return row_sum(tf.cast(context, tf.float32) * tf.cast(upstream, tf.float32))


_compiled_drop = compiled(drop)


@compiled
def _scores_gradient(probabilities, upstream, inner, scale, rate, keep):
    dtype = probabilities.dtype
    probabilities, upstream = tf.cast(probabilities, tf.float32), tf.cast(upstream, tf.float32)
    return tf.cast(scale * probabilities * (drop(upstream, rate, keep) - inner), dtype)


def _part(x, num_heads):
    """float [B, S, H] -> [B, N, S, D]."""
    return ops.squeeze(part_heads(x, num_heads, 1), axis=0)


def attention(query, key, value, bias, rate=0.0, keep=()):
    """See formulas.attention.

    Of what is as large as the scores only the probabilities are kept for the gradient. That of softmax needs the sums
    over the keys of probability times its gradient: they are those of output times its gradient over D, which is
    fewer than S (Dao et al., 2022, arXiv 2205.14135, appendix B.2).
    """
    scale, keep = 1.0 / math.sqrt(query.shape[-1]), list(keep)

    def dropped(probabilities):
        return _compiled_drop(probabilities, rate, keep) if keep else probabilities

    @custom_gradient
    def chain(query, key, value):
        scores = tf.matmul(query, key, transpose_b=True) * scale + tf.cast(bias, query.dtype)
        probabilities = tf.nn.softmax(scores)
        context = merge_heads(tf.matmul(dropped(probabilities), value))

        def gradient(upstream):
            size = query.shape[-1]
            inner = _inner_products(*(tf.reshape(x, [-1, size]) for x in (context, upstream)))
            inner = _part(tf.reshape(inner, [*tf.unstack(tf.shape(context)[:2]), -1]), query.shape[1])
            upstream = _part(upstream, query.shape[1])
            shares = tf.matmul(upstream, value, transpose_b=True)
            scores = _scores_gradient(probabilities, shares, inner, scale, rate, keep)
            with tf.control_dependencies([upstream]):
                value_gradient = tf.matmul(dropped(probabilities), upstream, transpose_a=True)
            return tf.matmul(scores, key), tf.matmul(scores, query, transpose_a=True), value_gradient

        return context, gradient

    return chain(query, key, value)
