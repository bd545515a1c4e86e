"""The formulas outside training as TensorFlow makes the fewest kernels of them.

A bias is added to the product itself, of which TensorFlow makes it and an activation a part; chains stay in the compute
dtype. LayerNorm's statistics and the inside of softmax are float32 here too. Arguments and results are those of
formulas.py.
"""

import math

import tensorflow as tf
from keras import ops

from albert_tf.kernels.formulas import attention_at_by, merge_heads, part_heads, self_attention_by

# Positions by heads: with more, keys and values of all tokens are the fewer products.
_MOST_QUERIES = 16


def project(x, kernel, bias=None, activation=None):
    """activation(x @ kernel + bias); see formulas.project."""
    flat = ops.matmul(ops.reshape(x, (-1, ops.shape(kernel)[0])), kernel)
    if bias is not None:
        flat = tf.nn.bias_add(flat, ops.cast(bias, flat.dtype))
    if activation is not None:
        flat = activation(flat)
    return ops.reshape(flat, (*ops.shape(x)[:-1], kernel.shape[1]))


def project_heads(x, kernel, bias, num_heads, count):
    """See formulas.project_heads."""
    return ops.unstack(part_heads(project(x, kernel, bias), num_heads, count), num=count, axis=0)


def attend_heads(query, key, value, bias):
    """Attention whose heads are not yet side by side: float [B, N, P, D]."""
    scale = 1.0 / math.sqrt(query.shape[-1])
    # A turned key costs nothing: TensorFlow makes it, the scale and the bias a part of the product.
    scores = ops.matmul(query, ops.swapaxes(key, 2, 3)) * scale + ops.cast(bias, query.dtype)
    # Keras's own softmax warns of an axis of 1, which a text of one token has by right.
    return ops.matmul(tf.nn.softmax(scores), value)


def attention(query, key, value, bias, rate=0.0, keep=()):
    """See formulas.attention; nothing is dropped."""
    return merge_heads(attend_heads(query, key, value, bias))


self_attention = self_attention_by(project_heads, attention)
attention_at = attention_at_by(project_heads, attention)


def attention_at_few(wanted, x, kernel, bias, num_heads, seen, rate=0.0, keep=()):
    """See formulas.attention_at; without keys and values of all tokens, for few positions of a known number.

    A head's query q is multiplied by the key W_k x of every token x: q (W_k x) is (q W_k) x, and the sum of p W_v x is
    W_v times that of p x. So there are two products for each head of each position, in place of two for each token. The
    bias of the keys adds the same to all scores of a query, and so nothing to their softmax.
    """
    positions, width = wanted.shape[1], kernel.shape[0]
    if positions is None or positions * num_heads > _MOST_QUERIES:
        return attention_at(wanted, x, kernel, bias, num_heads, seen, rate, keep)
    own = tf.repeat(tf.eye(num_heads, dtype=x.dtype), width // num_heads, axis=1)
    query = project(wanted, kernel[:, :width], bias[:width])[:, :, tf.newaxis] * own
    # The small factor is turned, not the kernel.
    query = tf.matmul(kernel[:, width : 2 * width], tf.reshape(query, [-1, width]), transpose_b=True)
    query = tf.transpose(tf.reshape(query, [width, -1, positions * num_heads]), [1, 0, 2])
    scores = tf.matmul(query, x, transpose_a=True, transpose_b=True) * (1.0 / math.sqrt(width // num_heads))
    seen = seen[:, 0] if seen.shape[2] == 1 else tf.repeat(seen[:, 0], num_heads, axis=1)
    context = tf.matmul(tf.nn.softmax(scores + tf.cast(seen, x.dtype)), x)
    context = project(context, kernel[:, 2 * width :], bias[2 * width :])
    return tf.reduce_sum(tf.reshape(context, [-1, positions, num_heads, width]) * own, axis=2)


def add_projection(x, kernel, bias, residual, norm, rate=0.0, keep=()):
    """See formulas.add_projection; nothing is dropped."""
    return _layer_norm(residual + project(x, kernel, bias), *norm)


def feed_forward(x, inner, outer, activation, norm, rate=0.0, keep=()):
    """See formulas.feed_forward; nothing is dropped."""
    return add_projection(project(x, *inner, activation), *outer, x, norm)


def _layer_norm(x, gamma, beta, epsilon):
    """LayerNorm over the last axis, its statistics in float32, which TensorFlow makes one kernel: [..., H]."""
    width = x.shape[-1]
    # Each row is a channel of its own: what Keras 2 did, and the pattern that TensorFlow looks for.
    flat = tf.reshape(x, [-1, width])
    rows = tf.shape(flat)[0]
    nothing = tf.constant([], tf.float32)
    normalised = tf.raw_ops.FusedBatchNormV3(
        x=tf.reshape(flat, [1, rows, width, 1]),
        scale=tf.fill([rows], 1.0),
        offset=tf.fill([rows], 0.0),
        mean=nothing,
        variance=nothing,
        epsilon=epsilon,
        data_format="NCHW",
        is_training=True,
    ).y
    normalised = tf.reshape(normalised, tf.shape(flat)) * tf.cast(gamma, x.dtype) + tf.cast(beta, x.dtype)
    return tf.reshape(normalised, tf.shape(x))
