"""The formulas in plain keras.ops: what kernels compute, what JAX runs, and what the tests compare with.

The inside of every formula is float32 whatever the precision; matrix products are in that of their arguments.
TensorFlow runs each as its compiler and its library are fastest at it: see tensorflow_training, tensorflow_inference.

Shapes: B batch, S sequence, P positions that are read, H hidden, I intermediate, N heads, D = H / N, V vocabulary,
n and m anything.
"""

import math

from keras import ops

# Added to the scores of padded keys (modeling.attention_layer of the official code).
MASKED_SCORE = -10000.0


def attention_bias(input_mask, sequence_ids=None):
    """The bias to add to the attention scores so that no query attends to padding, or to another sequence.

    Args:
        input_mask: [B, S], 1 for a token, 0 for padding.
        sequence_ids: int [B, S], which of the sequences of its row each token is of; None: there is one in a row.

    Returns:
        float32 [B, 1, 1, S]: 0 for a token, MASKED_SCORE for padding. With sequence_ids [B, 1, S, S], of each query:
        MASKED_SCORE for tokens of other sequences too.
    """
    # Not by two new axes in an index: LiteRT has no such operation of a tensor of free shape.
    bias = ops.expand_dims((1.0 - ops.cast(input_mask, "float32")) * MASKED_SCORE, (1, 2))
    if sequence_ids is None:
        return bias
    elsewhere = ops.not_equal(ops.expand_dims(sequence_ids, (1, 3)), ops.expand_dims(sequence_ids, (1, 2)))
    return ops.minimum(bias, ops.cast(elsewhere, "float32") * MASKED_SCORE)


def drop(x, rate, keep):
    """Zeroes what is not kept and scales the rest up (Srivastava et al., 2014).

    Args:
        x: float tensor.
        rate: share that is dropped, in [0, 1), a Python float.
        keep: list of one bool tensor of x's shape; an empty one keeps all, unscaled.

    Returns:
        the shape and dtype of x.
    """
    for mask in keep:
        x = ops.where(mask, x / (1.0 - rate), 0.0)
    return x


def layer_norm(x, gamma, beta, epsilon):
    """LayerNorm over the last axis (Ba et al., 2016, arXiv 1607.06450).

    Args:
        x: float32 [..., H].
        gamma, beta: [H].
        epsilon: Python float.

    Returns:
        float32 [..., H].
    """
    mean = ops.mean(x, axis=-1, keepdims=True)
    scale = ops.rsqrt(ops.mean(ops.square(x - mean), axis=-1, keepdims=True) + epsilon)
    return (x - mean) * (scale * ops.cast(gamma, "float32")) + ops.cast(beta, "float32")


def project(x, kernel, bias=None):
    """x @ kernel + bias as one product of two matrices: float [..., n], [n, m], [m] -> [..., m]."""
    flat = ops.matmul(ops.reshape(x, (-1, ops.shape(kernel)[0])), kernel)
    if bias is not None:
        flat = flat + ops.cast(bias, flat.dtype)
    return ops.reshape(flat, (*ops.shape(x)[:-1], kernel.shape[1]))


def part_heads(x, num_heads, count):
    """Gives each head of R products side by side its own matrix: float [B, S, R H] -> [R, B, N, S, D]."""
    length, width = ops.shape(x)[1:]
    x = ops.reshape(x, (-1, length, count, num_heads, width // count // num_heads))
    return ops.transpose(x, (2, 0, 3, 1, 4))


def merge_heads(x):
    """Puts the heads side by side: float [B, N, S, D] -> [B, S, H]."""
    num_heads, length, size = ops.shape(x)[1:]
    return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, length, num_heads * size))


def project_heads(x, kernel, bias, num_heads, count):
    """R projections side by side, taken apart by heads: float [B, S, H], [H, R H], [R H] -> list of R [B, N, S, D]."""
    return ops.unstack(part_heads(project(x, kernel, bias), num_heads, count), num=count, axis=0)


def attention_probabilities(query, key, bias):
    """softmax(query @ key^T / sqrt(D) + bias): float [B, N, P, D], [B, N, S, D], [B, 1, 1, S] -> [B, N, P, S].

    In float32, over the last axis a distribution.
    """
    scores = ops.cast(ops.matmul(query, ops.swapaxes(key, 2, 3)), "float32")
    return ops.softmax(scores / math.sqrt(query.shape[-1]) + bias, axis=-1)


def attend_heads(query, key, value, bias, rate=0.0, keep=()):
    """Attention whose heads are not yet side by side: float [B, N, P, D]; see attention."""
    probabilities = drop(attention_probabilities(query, key, bias), rate, keep)
    return ops.matmul(ops.cast(probabilities, value.dtype), value)


def attention(query, key, value, bias, rate=0.0, keep=()):
    """Scaled dot-product attention (Vaswani et al., 2017, arXiv 1706.03762, section 3.2).

    Args:
        query: float [B, N, P, D].
        key, value: float [B, N, S, D] in query's dtype.
        bias: float32 [B, 1, 1, S] or [B, 1, P, S], see attention_bias; it gets no gradient.
        rate, keep: see drop; of the probabilities, bool [B, N, P, S].

    Returns:
        float [B, P, H] in query's dtype.
    """
    return merge_heads(attend_heads(query, key, value, bias, rate, keep))


def self_attention_by(project_heads, attention):
    """Attention of hidden states to one another, by the functions of two formulas.

    Returns:
        function of x float [B, S, H], a kernel [H, 3 H] and its bias [3 H], the number of heads, and attention's bias,
        rate and keep, to float [B, S, H].
    """

    def self_attention(x, kernel, bias, num_heads, seen, rate=0.0, keep=()):
        query, key, value = project_heads(x, kernel, bias, num_heads, 3)
        return attention(query, key, value, seen, rate, keep)

    return self_attention


self_attention = self_attention_by(project_heads, attention)


def attention_at_by(project_heads, attention):
    """Attention of some positions to all, by the functions of two formulas.

    Returns:
        function of those positions' hidden states, float [B, P, H], all of them, float [B, S, H], and the rest as
        self_attention_by has it, to float [B, P, H].
    """

    def attention_at(wanted, x, kernel, bias, num_heads, seen, rate=0.0, keep=()):
        width = kernel.shape[0]
        (query,) = project_heads(wanted, kernel[:, :width], bias[:width], num_heads, 1)
        key, value = project_heads(x, kernel[:, width:], bias[width:], num_heads, 2)
        return attention(query, key, value, seen, rate, keep)

    return attention_at


attention_at = attention_at_by(project_heads, attention)
# Where operations run one by one there is a faster way.
attention_at_few = attention_at


def add_projection(x, kernel, bias, residual, norm, rate=0.0, keep=()):
    """LayerNorm(residual + Dropout(x @ kernel + bias)): how both halves of a block end.

    Args:
        x: float [..., n].
        kernel: [n, H] in x's dtype.
        bias: float32 [H].
        residual: float [..., H] in x's dtype.
        norm: (gamma float32 [H], beta float32 [H], epsilon).
        rate, keep: see drop; bool [m, H], m rows in all.

    Returns:
        float [..., H] in x's dtype.
    """
    product = ops.reshape(ops.cast(project(x, kernel), "float32") + bias, (-1, kernel.shape[1]))
    total = ops.cast(residual, "float32") + ops.reshape(drop(product, rate, keep), ops.shape(residual))
    return ops.cast(layer_norm(total, *norm), x.dtype)


def feed_forward(x, inner, outer, activation, norm, rate=0.0, keep=()):
    """LayerNorm(x + Dropout(activation(x @ inner) @ outer)), each with its bias.

    Args:
        x: float [..., H].
        inner: (kernel [H, I] in x's dtype, bias float32 [I]).
        outer: (kernel [I, H] in x's dtype, bias float32 [H]).
        activation: a function that get_activation returns.
        norm, rate, keep: see add_projection.

    Returns:
        float [..., H] in x's dtype.
    """
    kernel, bias = inner
    hidden = ops.cast(activation(ops.cast(project(x, kernel), "float32") + bias), x.dtype)
    return add_projection(hidden, *outer, x, norm, rate, keep)


def vocabulary_sums(scores, bias, labels):
    """Cross-entropy of scores + bias, and whether the likeliest word is the right one.

    Args:
        scores: float [n, V], before softmax.
        bias: float32 [V].
        labels: int32 [n].

    Returns:
        float32 [n, 2]: the loss in nats; 1 where the first of the likeliest words is the label, 0 elsewhere.
    """
    logits = ops.cast(scores, "float32") + bias
    right = ops.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
    is_right = ops.equal(ops.cast(ops.argmax(logits, axis=-1), "int32"), labels)
    return ops.stack([ops.logsumexp(logits, axis=-1) - right, ops.cast(is_right, "float32")], axis=-1)


def gather_positions(sequence, positions):
    """Picks positions out of each sequence: float [B, S, H], int [B, P] -> [B, P, H].

    A sequence needs nothing of the others, which lets a compiler leave each on its device.
    """
    return ops.take_along_axis(sequence, ops.cast(positions, "int32")[:, :, None], axis=1)
