"""Attention in training as TensorFlow is fastest at it; backend hands it on.

The products stay with TensorFlow's own library, what is between them are compiled functions (see tensorflow_chains.py).

Shapes: B batch, S sequence, P positions, H hidden, N heads, D = H / N, R parts, n anything.
"""

import functools

import tensorflow as tf

from albert_tf.kernels.dropping import drop
from albert_tf.kernels.tensorflow_chains import column_sum, compiled, row_sum
from albert_tf.kernels.tensorflow_gradients import custom_gradient


@functools.cache
def compile_split(function, transposed):
    """A matrix with a bias added, taken apart in one pass, and put together in one for the gradient.

    Args:
        function: of (x [B, S, n], bias float32 [n]) to [R, ...], moving x + bias about.
        transposed: of the R gradients to x's. Both live as long as the program.

    Returns:
        function of the same arguments to a list of R tensors.
    """
    forward, backward = compiled(function), compiled(transposed)

    @custom_gradient
    def split(x, bias):
        parts = forward(x, bias)

        def gradient(*upstream):
            x_gradient = backward(*upstream)
            return x_gradient, column_sum(x_gradient, bias.dtype)

        # TensorFlow sees no shape that comes out of a compiled function, and makes scale and mask a part of the
        # product that makes the scores only where it knows all shapes.
        return tf.unstack(tf.ensure_shape(parts, parts.shape)), gradient

    return split


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


def attend(query, key, value, attention_bias, scale, dropout, layout):
    """Dropout(softmax(scale * query @ key^T + attention_bias)) @ value, softmax in float32.

    Of what is as large as the scores only the probabilities are kept for the gradient. That of softmax needs the sums
    over the keys of probability times its gradient: they are those of output times its gradient over D, which is
    fewer than S (Dao et al., 2022, arXiv 2205.14135, appendix B.2).

    Args:
        query: float [B, N, P, D].
        key, value: float [B, N, S, D] in query's dtype.
        attention_bias: float32 [B, 1, 1, S], which gets no gradient.
        scale: Python float.
        dropout: (rate, list of at most one bool [B, N, P, S], False for the probabilities to drop).
        layout: (function [B, N, P, D] -> [B, P, H], function of that and N that undoes it).

    Returns:
        float [B, P, H] in query's dtype.
    """
    (rate, keep), (merge, part) = dropout, layout

    def dropped(probabilities):
        return _compiled_drop(probabilities, rate, keep) if keep else probabilities

    @custom_gradient
    def chain(query, key, value):
        scores = tf.matmul(query, key, transpose_b=True) * scale + tf.cast(attention_bias, query.dtype)
        probabilities = tf.nn.softmax(scores)
        context = merge(tf.matmul(dropped(probabilities), value))

        def gradient(upstream):
            size = query.shape[-1]
            inner = _inner_products(*(tf.reshape(x, [-1, size]) for x in (context, upstream)))
            inner = part(tf.reshape(inner, [*tf.unstack(tf.shape(context)[:2]), -1]), query.shape[1])
            upstream = part(upstream, query.shape[1])
            shares = tf.matmul(upstream, value, transpose_b=True)
            scores = _scores_gradient(probabilities, shares, inner, scale, rate, keep)
            with tf.control_dependencies([upstream]):
                value_gradient = tf.matmul(dropped(probabilities), upstream, transpose_a=True)
            return tf.matmul(scores, key), tf.matmul(scores, query, transpose_a=True), value_gradient

        return context, gradient

    return chain(query, key, value)
