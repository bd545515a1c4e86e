"""The element-wise chains between the matrix products of a block, each one pass over memory.

What a chain computes stands here in keras.ops; kernels/backend.py says how it is run. In training a product's bias
is added by the chain after it, whose inside is float32 whatever the precision. Outside training it is added to the
product itself, of which TensorFlow makes bias and activation a part, and chains stay in the compute dtype; LayerNorm's
statistics and the inside of softmax are float32 there too.

Shapes: B batch, S sequence, H hidden, I intermediate, N heads, D = H / N, n and m anything.
"""

import functools
import math

from keras import ops

from albert_tf.kernels import backend
from albert_tf.kernels.dropping import drop

# Added to the scores of padded keys (modeling.attention_layer of the official code).
MASKED_SCORE = -10000.0


def project(x, kernel, bias=None, activation=None):
    """activation(x @ kernel + bias) as one product of two matrices: float [..., n], [n, m] -> [..., m].

    Args:
        x: float [..., n].
        kernel: [n, m] in x's dtype.
        bias: [m]; None: none.
        activation: a function that layers.activations.get_activation returns; None: none.
    """
    flat = ops.matmul(ops.reshape(x, (-1, ops.shape(kernel)[0])), kernel)
    if bias is not None:
        flat = backend.add_bias(flat, ops.cast(bias, flat.dtype))
    if activation is not None:
        flat = activation(flat)
    return ops.reshape(flat, (*ops.shape(x)[:-1], kernel.shape[1]))


def project_for_chain(x, kernel, bias, training=False):
    """The input of a chain that adds the bias in training: x @ kernel; outside training x @ kernel + bias."""
    return project(x, kernel, None if training else bias)


@functools.cache
def _activation(activation):
    def activate(x, bias):
        return ops.cast(activation(ops.cast(x, "float32") + bias), x.dtype)

    return activate


def activated_projection(x, inner, outer, activation, training=False):
    """activation(x @ kernel + bias) @ outer kernel, and outside training + outer bias, for `residual_norm`.

    In training the activation is computed again for its gradient, not kept.

    Args:
        x: float [..., H].
        inner: (kernel [H, I] in x's dtype, bias float32 [I]).
        outer: (kernel [I, H] in x's dtype, bias float32 [H]).
        activation: a function that layers.activations.get_activation returns.
        training: bool.

    Returns:
        float [..., H] in x's dtype.
    """
    if not training:
        return project(project(x, *inner, activation), *outer)
    (kernel, bias), (outer_kernel, _) = inner, outer
    product = backend.compile_product(_activation(activation))
    flat = product(project(ops.reshape(x, (-1, kernel.shape[0])), kernel), bias, outer_kernel)
    return ops.reshape(flat, (*ops.shape(x)[:-1], outer_kernel.shape[1]))


@functools.cache
def _residual_norm(epsilon, dropout_rate):
    def add(x, bias, residual, keep):
        return ops.cast(residual, "float32") + drop(ops.cast(x, "float32") + bias, dropout_rate, keep)

    def normalise(x, bias, residual, gamma, beta, *keep):
        total = add(x, bias, residual, keep)
        mean, scale = _mean_and_scale(total, epsilon, _mean_in_chain)
        return ops.cast((total - mean) * (scale * gamma) + beta, x.dtype), [mean, scale]

    def gradient(x, bias, residual, gamma, beta, *rest):
        *keep, (mean, scale), upstream = rest
        normalised = (add(x, bias, residual, keep) - mean) * scale
        upstream = ops.cast(upstream, "float32")
        scaled = upstream * gamma
        common = _mean_in_chain(scaled) + normalised * _mean_in_chain(scaled * normalised)
        of_total = scale * (scaled - common)
        of_x = [ops.cast(drop(of_total, dropout_rate, keep), x.dtype)] if keep else []
        return [ops.cast(of_total, x.dtype), upstream * normalised, *of_x]

    return normalise, gradient


def _mean(x):
    return ops.mean(x, axis=-1, keepdims=True)


def _mean_in_chain(x):
    return backend.row_sum(x) / x.shape[-1]


def _mean_and_scale(x, epsilon, mean):
    centre = mean(x)
    return centre, ops.rsqrt(mean(ops.square(x - centre)) + epsilon)


def layer_norm(x, gamma, beta, epsilon):
    """LayerNorm over the last axis (Ba et al., 2016, arXiv 1607.06450); x is float32.

    Args:
        x: float32 [..., H].
        gamma, beta: [H].
        epsilon: Python float.

    Returns:
        float32 [..., H].
    """
    mean, scale = _mean_and_scale(x, epsilon, _mean)
    gamma, beta = ops.cast(gamma, "float32"), ops.cast(beta, "float32")
    return (x - mean) * (scale * gamma) + beta


def residual_norm(x, bias, residual, norm, dropout=None, seed=None, training=False):
    """LayerNorm(residual + Dropout(x + bias)).

    Args:
        x: float [B, S, H], see project_for_chain.
        bias: float32 [H].
        residual: float [B, S, H] in x's dtype.
        norm: (gamma float32 [H], beta float32 [H], epsilon).
        dropout: StatelessDropout; None drops nothing.
        seed: int32 [2] for dropout.
        training: bool.

    Returns:
        float [B, S, H] in x's dtype.
    """
    gamma, beta, epsilon = norm
    if not training:
        return backend.inference_norm(residual + x, gamma, beta, epsilon, layer_norm)
    # The compiler is faster at the sums over all rows of a matrix than of several.
    flat, residual = (ops.reshape(part, (-1, x.shape[-1])) for part in (x, residual))
    keep = [] if dropout is None else dropout.keep_masks(ops.shape(flat), seed, training)
    normalise = backend.compile_norm(*_residual_norm(epsilon, dropout.rate if keep else 0.0))
    return ops.reshape(normalise(flat, bias, residual, gamma, beta, *keep), ops.shape(x))


def _take_apart(x, num_heads, count):
    """Gives each head of R products side by side its own matrix: float [B, S, R H] -> [R, B, N, S, D]."""
    length, width = ops.shape(x)[1:]
    x = ops.reshape(x, (-1, length, count, num_heads, width // count // num_heads))
    return ops.transpose(x, (2, 0, 3, 1, 4))


@functools.cache
def _split(num_heads, count):
    def split(x, bias):
        return _take_apart(x + ops.cast(bias, x.dtype), num_heads, count)

    def join(*parts):
        heads, length, size = ops.shape(parts[0])[1:]
        parts = [ops.transpose(part, (0, 2, 1, 3)) for part in parts]
        return ops.reshape(ops.stack(parts, axis=2), (-1, length, count * heads * size))

    return split, join


def split_heads(x, bias, num_heads, count, training=False):
    """Gives each head its own matrix.

    Args:
        x: float [B, S, R H], R products side by side, see project_for_chain.
        bias: float32 [R H]; outside training it is in x already.
        num_heads: N.
        count: R.
        training: bool.

    Returns:
        list of R float [B, N, S, D].
    """
    if training:
        return backend.compile_split(*_split(num_heads, count))(x, bias)
    return ops.unstack(_take_apart(x, num_heads, count), num=count, axis=0)


def _part_heads(x, num_heads):
    """float [B, S, H] -> [B, N, S, D]."""
    return ops.squeeze(_take_apart(x, num_heads, 1), axis=0)


def merge_heads(x):
    """Puts the heads side by side: float [B, N, S, D] -> [B, S, H]."""
    num_heads, length, size = ops.shape(x)[1:]
    return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, length, num_heads * size))


def make_attention_bias(input_mask, dtype):
    """The bias to add to the attention scores so that no query attends to padding.

    Args:
        input_mask: [B, S], 1 for a token, 0 for padding.
        dtype: of the result.

    Returns:
        [B, 1, 1, S]: 0 for a token, MASKED_SCORE for padding.
    """
    mask = ops.cast(input_mask, dtype)
    return (1.0 - mask)[:, None, None, :] * MASKED_SCORE


def attend_heads(query, key, value, attention_bias):
    """The computation of `attend` outside training, the heads not yet side by side: float [B, N, P, D]."""
    scale = 1.0 / math.sqrt(query.shape[-1])
    # A turned key costs nothing: TensorFlow makes it, the scale and the bias a part of the product.
    scores = ops.matmul(query, ops.swapaxes(key, 2, 3)) * scale + ops.cast(attention_bias, query.dtype)
    return ops.matmul(backend.softmax(scores), value)


def attend(query, key, value, attention_bias, dropout, seed=None, training=False):
    """Dropout(softmax(query @ key^T / sqrt(D) + attention_bias)) @ value, softmax in float32.

    Args:
        query: float [B, N, P, D].
        key, value: float [B, N, S, D] in query's dtype.
        attention_bias: float32 [B, 1, 1, S].
        dropout: StatelessDropout, of the probabilities.
        seed: int32 [2] for dropout.
        training: bool.

    Returns:
        float [B, P, H] in query's dtype.
    """
    if training:
        scale = 1.0 / math.sqrt(query.shape[-1])
        keep = dropout.keep_masks((*ops.shape(query)[:3], ops.shape(key)[2]), seed, training)
        layout = merge_heads, _part_heads
        return backend.attend(query, key, value, attention_bias, scale, (dropout.rate, keep), layout)
    return merge_heads(attend_heads(query, key, value, attention_bias))


def gather_positions(sequence, positions):
    """Picks positions out of each sequence: float [B, S, H], int [B, P] -> [B, P, H].

    The sequences are laid end to end and picked by row, which is one lookup (gather_indexes of the official code).
    """
    batch, length, hidden_size = ops.shape(sequence)
    rows = ops.arange(batch, dtype="int32")[:, None] * length + ops.cast(positions, "int32")
    return ops.take(ops.reshape(sequence, (-1, hidden_size)), rows, axis=0)
