"""The formulas in training as TensorFlow is fastest at them, with gradients written out.

TensorFlow runs an element-wise chain operation by operation, each a pass over memory, and keeps what each needs for its
gradient. Here a chain between two matrix products is one compiled function forwards and one backwards, which recomputes
what it needs from the chain's inputs. The products stay with TensorFlow's own library, which is faster at them than the
compiler is; a product's bias is added by the chain after it. Arguments and results are those of formulas.py.
"""

import functools

import tensorflow as tf
from keras import ops

from albert_tf.kernels import formulas
from albert_tf.kernels.formulas import attention_at_by, drop, part_heads, self_attention_by
from albert_tf.kernels.tensorflow_attention import attention
from albert_tf.kernels.tensorflow_compiling import column_sum, compiled, row_sum
from albert_tf.kernels.tensorflow_gradients import custom_gradient


def project_heads(x, kernel, bias, num_heads, count):
    """See formulas.project_heads; taken apart in one pass, and put together in one for the gradient."""
    return _take_apart(num_heads, count)(formulas.project(x, kernel), bias)


@functools.cache
def _take_apart(num_heads, count):
    @compiled
    def forward(x, bias):
        return part_heads(x + tf.cast(bias, x.dtype), num_heads, count)

    @compiled
    def backward(*parts):
        heads, length, size = ops.shape(parts[0])[1:]
        parts = [ops.transpose(part, (0, 2, 1, 3)) for part in parts]
        return ops.reshape(ops.stack(parts, axis=2), (-1, length, count * heads * size))

    @custom_gradient
    def take_apart(x, bias):
        parts = forward(x, bias)

        def gradient(*upstream):
            x_gradient = backward(*upstream)
            return x_gradient, column_sum(x_gradient, bias.dtype)

        # TensorFlow sees no shape that comes out of a compiled function, and makes scale and mask a part of the
        # product that makes the scores only where it knows all shapes.
        return tf.unstack(tf.ensure_shape(parts, parts.shape)), gradient

    return take_apart


self_attention = self_attention_by(project_heads, attention)
attention_at = attention_at_by(project_heads, attention)


def add_projection(x, kernel, bias, residual, norm, rate=0.0, keep=()):
    """See formulas.add_projection."""
    return _add_and_norm(formulas.project(x, kernel), bias, residual, norm, rate, keep)


def feed_forward(x, inner, outer, activation, norm, rate=0.0, keep=()):
    """See formulas.feed_forward; the activation is computed again for its gradient, not kept."""
    (kernel, bias), (outer_kernel, outer_bias) = inner, outer
    rows = ops.reshape(x, (-1, kernel.shape[0]))
    product = _activated_product(activation)(formulas.project(rows, kernel), bias, outer_kernel)
    return _add_and_norm(product, outer_bias, x, norm, rate, keep)


def _add_and_norm(x, bias, residual, norm, rate, keep):
    gamma, beta, epsilon = norm
    # The compiler is faster at the sums over all rows of a matrix than of several.
    rows, residual_rows = (ops.reshape(part, (-1, residual.shape[-1])) for part in (x, residual))
    normalise = _residual_norm(epsilon, rate if keep else 0.0)
    return ops.reshape(normalise(rows, bias, residual_rows, gamma, beta, *keep), ops.shape(residual))


@functools.cache
def _residual_norm(epsilon, rate):
    """LayerNorm(residual + Dropout(x + bias)): one pass forwards; what its gradients share is one, and each a product.

    The function takes x and residual [n, m], bias, gamma and beta [m], and the mask of what is kept, if there is one.
    """

    def add(x, bias, residual, keep):
        return tf.cast(residual, tf.float32) + drop(tf.cast(x, tf.float32) + bias, rate, keep)

    def row_mean(x):
        return row_sum(x) / x.shape[-1]

    @compiled
    def forward(x, bias, residual, gamma, beta, *keep):
        total = add(x, bias, residual, keep)
        mean = row_mean(total)
        scale = tf.math.rsqrt(row_mean(tf.square(total - mean)) + epsilon)
        return tf.cast((total - mean) * (scale * gamma) + beta, x.dtype), [mean, scale]

    @compiled
    def backward(x, bias, residual, gamma, keep, kept, upstream):
        mean, scale = kept
        normalised = (add(x, bias, residual, keep) - mean) * scale
        upstream = tf.cast(upstream, tf.float32)
        scaled = upstream * gamma
        common = row_mean(scaled) + normalised * row_mean(scaled * normalised)
        of_total = scale * (scaled - common)
        of_x = [tf.cast(drop(of_total, rate, keep), x.dtype)] if keep else []
        return [tf.cast(of_total, x.dtype), upstream * normalised, *of_x]

    @custom_gradient
    def norm(x, bias, residual, gamma, beta, *keep):
        output, kept = forward(x, bias, residual, gamma, beta, *keep)

        def gradient(upstream):
            of_residual, products, *dropped = backward(x, bias, residual, gamma, keep, kept, upstream)
            of_x = dropped[0] if dropped else of_residual
            vectors = (of_x, bias), (products, gamma), (upstream, beta)
            of_bias, of_gamma, of_beta = (column_sum(rows, vector.dtype) for rows, vector in vectors)
            return of_x, of_bias, of_residual, of_gamma, of_beta, *[None] * len(keep)

        return output, gradient

    return norm


@functools.cache
def _activated_product(activation):
    """activation(x + bias) @ kernel, of which only x, bias and kernel are kept, not the product's left side.

    That is made anew when its gradient is there; were it not to wait, TensorFlow would keep the first after all.
    """

    def activate(x, bias):
        return tf.cast(activation(tf.cast(x, tf.float32) + bias), x.dtype)

    forward = compiled(activate)

    @compiled
    def backward(x, bias, upstream):
        with tf.GradientTape() as tape:
            tape.watch(x)
            output = activate(x, bias)
        return tape.gradient(output, x, upstream)

    @custom_gradient
    def product(x, bias, kernel):
        def gradient(upstream):
            # Each a pass of its own: the compiler would write down what both have in common, and read it twice.
            with tf.control_dependencies([upstream]):
                left = forward(x, bias)
            x_gradient = backward(x, bias, tf.matmul(upstream, kernel, transpose_b=True))
            return x_gradient, column_sum(x_gradient, bias.dtype), tf.matmul(left, upstream, transpose_a=True)

        return tf.matmul(forward(x, bias), kernel), gradient

    return product


@compiled
def _vocabulary_sums(scores, bias, labels):
    # As sums over the vocabulary, without an array of the logits' size: that is 38 MB for 16 x 20 predictions.
    logits = ops.cast(scores, "float32") + bias
    words = ops.arange(logits.shape[-1], dtype="int32")
    highest = ops.stop_gradient(ops.max(logits, axis=-1, keepdims=True))
    likeliest = ops.min(ops.where(ops.equal(logits, highest), words, words.shape[0]), axis=-1)
    centred = logits - highest
    log_sum = ops.log(ops.sum(ops.exp(centred), axis=-1))
    right = ops.sum(ops.where(ops.equal(words, labels[:, None]), centred, 0.0), axis=-1)
    sums = [log_sum - right, ops.cast(ops.equal(likeliest, labels), "float32")]
    return ops.stack(sums, axis=-1), log_sum + highest[:, 0]


@compiled
def _vocabulary_gradient(scores, bias, labels, log_sum, upstream):
    probabilities = ops.exp(ops.cast(scores, "float32") + bias - log_sum[:, None])
    words = ops.arange(scores.shape[-1], dtype="int32")
    gradient = probabilities - ops.where(ops.equal(words, labels[:, None]), 1.0, 0.0)
    return ops.cast(gradient * upstream[:, :1], scores.dtype)


@custom_gradient
def vocabulary_sums(scores, bias, labels):
    """See formulas.vocabulary_sums."""
    sums, log_sum = _vocabulary_sums(scores, bias, labels)

    def gradient(upstream):
        of_scores = _vocabulary_gradient(scores, bias, labels, log_sum, upstream)
        return of_scores, column_sum(of_scores, bias.dtype), None

    return sums, gradient


@compiled
def _add_to(total, gradients):
    return [tf.cast(gradient, one.dtype) + one for one, gradient in zip(total, gradients, strict=True)]


@custom_gradient
def _lend(*both):
    count = len(both) // 2

    def gradient(*upstream):
        return [*_add_to(upstream[:count], upstream[count:]), *[None] * count]

    return list(map(tf.identity, both)), gradient


def lend_kernels(masters, copies):
    """Gives kernels in the compute dtype to one of their many users.

    The users' gradients are added up one after the other, in the dtype of the masters: left alone, TensorFlow
    keeps them all and adds at the end, and adds in the compute dtype.

    Args:
        masters: list of kernels as they are trained.
        copies: the same kernels in the compute dtype.

    Returns:
        (masters for the next user, kernels for this one).
    """
    both = _lend(*masters, *copies)
    return both[: len(masters)], both[len(masters) :]
