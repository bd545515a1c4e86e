"""The doors of this room: what layers, heads and losses compute with, however the backend is fastest at it.

Each computes the formula of its name; formulas.py says which that is, and what the shapes are.

Shapes: B batch, S sequence, P positions, T tokens without padding, H hidden, I intermediate, N heads, n and m anything.
"""

from keras import ops

from albert_tf.kernels import backend, formulas


def project(x, kernel, bias=None):
    """x @ kernel + bias; see formulas.project."""
    return backend.formulas_for(training=False).project(x, kernel, bias)


def attend(wanted, hidden, kernel, bias, num_heads, dropout, view):
    """Multi-head attention: that of each head, side by side (formulas.attention).

    Args:
        wanted: what attends, view.wanted(hidden): float [B, S, H], or [B, P, H].
        hidden: what is attended to, float [B, S, H]; [1, T, H] where view.unpadding has stripped it.
        kernel: [H, 3 H] in hidden's dtype: those of queries, keys and values side by side.
        bias: float32 [3 H].
        num_heads: N.
        dropout: StatelessDropout, of the probabilities.
        view: View.

    Returns:
        float [B, S, H], or [B, P, H], or [1, T, H], in hidden's dtype.
    """
    run = backend.formulas_for(view.training)
    if view.unpadding is not None:
        return view.unpadding.attend(run.project(hidden, kernel, bias), view.attention_bias)
    (batch, length), positions = ops.shape(hidden)[:2], ops.shape(wanted)[1]
    keep = dropout.keep_masks((batch, num_heads, positions, length), view.seed, view.training)
    if view.positions is None:
        return run.self_attention(hidden, kernel, bias, num_heads, view.attention_bias, dropout.rate, keep)
    attention_at = run.attention_at_few if view.stripped else run.attention_at
    return attention_at(wanted, hidden, kernel, bias, num_heads, view.attention_bias, dropout.rate, keep)


def attention_probabilities(hidden, kernel, bias, num_heads, view):
    """The factors of the values in `attend`, before dropout, by the formula: no fast path keeps them.

    Args:
        hidden: what attends and is attended to, float [B, S, H].
        kernel, bias, num_heads: see attend.
        view: View, whose unpadding and positions do not matter.

    Returns:
        float32 [B, N, S, S]; see formulas.attention_probabilities.
    """
    width = kernel.shape[0]
    query, key = formulas.project_heads(hidden, kernel[:, : 2 * width], bias[: 2 * width], num_heads, 2)
    return formulas.attention_probabilities(query, key, view.attention_bias)


def add_projection(x, weights, residual, norm, dropout, view):
    """LayerNorm(residual + Dropout(x @ kernel + bias)); see formulas.add_projection.

    Args:
        x: float [..., n].
        weights: (kernel [n, H] in x's dtype, bias float32 [H]).
        residual: float [..., H] in x's dtype.
        norm: (gamma float32 [H], beta float32 [H], epsilon).
        dropout: StatelessDropout.
        view: View.

    Returns:
        float [..., H] in x's dtype.
    """
    keep = _keep(dropout, residual, view)
    return backend.formulas_for(view.training).add_projection(x, *weights, residual, norm, dropout.rate, keep)


def feed_forward(x, inner, outer, activation, norm, dropout, view):
    """LayerNorm(x + Dropout(activation(x @ inner) @ outer)), each with its bias; see formulas.feed_forward.

    Args:
        x: float [..., H].
        inner: (kernel [H, I] in x's dtype, bias float32 [I]).
        outer: (kernel [I, H] in x's dtype, bias float32 [H]).
        activation: a function that layers.base.get_activation returns.
        norm, dropout, view: see add_projection.

    Returns:
        float [..., H] in x's dtype.
    """
    keep = _keep(dropout, x, view)
    return backend.formulas_for(view.training).feed_forward(x, inner, outer, activation, norm, dropout.rate, keep)


def _keep(dropout, x, view):
    """The mask of a tensor [..., H], as rows: list of at most one bool [m, H]; an empty one drops nothing."""
    if not view.training or dropout.rate == 0:
        return []
    return dropout.keep_masks(ops.shape(ops.reshape(x, (-1, x.shape[-1]))), view.seed, view.training)


def vocabulary_sums(scores, bias, labels):
    """Cross-entropy of scores over a vocabulary, and how many are right; see formulas.vocabulary_sums."""
    return backend.formulas_for(training=True).vocabulary_sums(scores, bias, labels)
