"""Every fast path against the formula it computes, values and gradients; every formula against numpy."""

import math

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.kernels import View, formulas, gather_positions, tensorflow_inference, tensorflow_training
from albert_tf.layers.base import get_activation

B, S, P, N, D, INNER, V = 2, 6, 4, 2, 4, 10, 13
H = N * D
EPSILON = 1e-3
# Of the largest number: a few roundings of each precision.
TOLERANCES = {"float32": 2e-6, "bfloat16": 4e-2, "float16": 5e-3}
BIAS = tf.constant([[0.0] * S, [0.0] * 4 + [formulas.MASKED_SCORE] * 2])[:, None, None, :]
# Of rows of two sequences each.


def _numbers(*shapes, dtype="float32"):
    rng = np.random.default_rng(0)
    return [tf.constant(rng.normal(size=shape), dtype) for shape in shapes]


def _keep(rate, shape):
    return [tf.constant(np.random.default_rng(1).random(shape) >= rate)] if rate else []


def _heads(run, rate):
    def compute(x, kernel, bias):
        return run.project_heads(x, kernel, bias, N, 3)

    return compute, [(B, S, H), (H, 3 * H)], [(3 * H,)]


def _attention(positions):
    def make(run, rate):
        def compute(query, key, value):
            return run.attention(query, key, value, BIAS, rate, _keep(rate, (B, N, positions, S)))

        return compute, [(B, N, positions, D), (B, N, S, D), (B, N, S, D)], []

    return make


def _add_projection(run, rate):
    def compute(x, kernel, residual, bias, gamma, beta):
        return run.add_projection(x, kernel, bias, residual, (gamma, beta, EPSILON), rate, _keep(rate, (B * S, H)))

    return compute, [(B, S, INNER), (INNER, H), (B, S, H)], [(H,)] * 3


def _feed_forward(run, rate):
    def compute(x, kernel, outer_kernel, bias, outer_bias, gamma, beta):
        inner, outer, norm = (kernel, bias), (outer_kernel, outer_bias), (gamma, beta, EPSILON)
        return run.feed_forward(x, inner, outer, get_activation("gelu"), norm, rate, _keep(rate, (B * S, H)))

    return compute, [(B, S, H), (H, INNER), (INNER, H)], [(INNER,), (H,), (H,), (H,)]


def _vocabulary_sums(run, rate):
    def compute(scores, bias):
        return run.vocabulary_sums(scores, bias, tf.constant([3, 0, 12, 3]))

    return compute, [(4, V)], [(V,)]


# Each makes a function of a module and a rate of dropout, and the shapes in the compute dtype and in float32.
FORMULAS = {
    "project_heads": _heads,
    "attention": _attention(S),
    "attention_of_some": _attention(P),
    "add_projection": _add_projection,
    "feed_forward": _feed_forward,
    "vocabulary_sums": _vocabulary_sums,
}
TRAINED = [(name, tensorflow_training, rate) for name in FORMULAS for rate in (0.0, 0.5)]
SERVED = [(name, tensorflow_inference, 0.0) for name in FORMULAS if name != "vocabulary_sums"]


def _with_gradients(function, arguments):
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        results = tf.nest.flatten(function(*arguments))
        # Of numbers of many sizes, so that every element has a gradient of its own.
        weights = [np.linspace(-1.0, 1.0, x.shape.num_elements()).reshape(x.shape) for x in results]
        total = tf.add_n([tf.reduce_sum(tf.cast(x, "float32") * w) for x, w in zip(results, weights, strict=True)])
    return [*results, *tape.gradient(total, arguments)]


@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize(("name", "run", "rate"), TRAINED + SERVED)
def test_a_fast_path_computes_its_formula(name, run, rate, precision):
    function, shapes, vectors = FORMULAS[name](run, rate)
    arguments = _numbers(*shapes, dtype=precision) + _numbers(*vectors)
    # The formula has the same numbers, in float32.
    formula, *_ = FORMULAS[name](formulas, rate)
    expected = _with_gradients(formula, [tf.cast(argument, "float32") for argument in arguments])
    results = _with_gradients(function, arguments)
    assert len(results) == len(expected) > len(arguments)
    for got, want in zip(results, expected, strict=True):
        scale = np.abs(want).max()
        np.testing.assert_allclose(tf.cast(got, "float32") / scale, want / scale, atol=TOLERANCES[precision])


# More positions than are computed without keys and values of all tokens; and rows of two sequences each.
MANY = 9
ROWS = tf.where(tf.range(MANY) // 5 == tf.range(MANY)[:, None] // 5, 0.0, formulas.MASKED_SCORE)[None, None]
LONG = tf.constant([[0.0] * MANY, [0.0] * 4 + [formulas.MASKED_SCORE] * 5])[:, None, None, :]


@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize(
    "attention_at",
    [
        formulas.attention_at,
        tensorflow_training.attention_at,
        tensorflow_inference.attention_at,
        tensorflow_inference.attention_at_few,
    ],
)
@pytest.mark.parametrize(("positions", "seen"), [(1, LONG), (P, LONG), (P, ROWS), (MANY, LONG)])
def test_attention_at_positions_is_theirs_of_attention_everywhere(positions, seen, attention_at, precision):
    x, kernel, bias = _numbers((2, MANY, H), (H, 3 * H), (3 * H,))
    kernel = kernel / math.sqrt(H)
    expected = formulas.self_attention(x, kernel, bias, N, seen)[:, :positions]
    wanted, x, kernel = (tf.cast(tensor, precision) for tensor in (x[:, :positions], x, kernel))
    found = attention_at(wanted, x, kernel, bias, N, seen[:, :, :positions])
    assert found.dtype == precision
    np.testing.assert_allclose(tf.cast(found, "float32"), expected, atol=TOLERANCES[precision])


@pytest.mark.parametrize("name", ["attention", "add_projection", "feed_forward"])
def test_what_is_dropped_makes_a_difference(name):
    results = []
    for rate in (0.0, 0.5):
        function, shapes, vectors = FORMULAS[name](formulas, rate)
        results.append(function(*_numbers(*shapes, *vectors)))
    assert np.abs(results[0] - results[1]).max() > 0.1


def _norm(x, gamma, beta):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON) * gamma + beta


def _assert_close(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-5)


def test_heads_are_columns_side_by_side():
    x, kernel, bias = (value.numpy() for value in _numbers((B, S, H), (H, 3 * H), (3 * H,)))
    whole = x @ kernel + bias
    parts = formulas.project_heads(x, kernel, bias, N, 3)
    for part, columns in zip(parts, np.split(whole, 3, axis=-1), strict=True):
        for head in range(N):
            _assert_close(part[:, head], columns[:, :, head * D : (head + 1) * D])


def test_attention_is_a_mean_of_values():
    query, key, value = (x.numpy() for x in _numbers((B, N, P, D), (B, N, S, D), (B, N, S, D)))
    keep = _keep(0.5, (B, N, P, S))
    powers = np.exp(np.einsum("bnpd,bnsd->bnps", query, key) / math.sqrt(D) + BIAS.numpy())
    shares = powers / powers.sum(-1, keepdims=True)
    _assert_close(formulas.attention_probabilities(query, key, BIAS), shares)
    # Two tokens of the second sequence are padding.
    assert shares[1, ..., 4:].max() == 0
    context = np.einsum("bnps,bnsd->bpnd", np.where(keep[0], shares / 0.5, 0), value)
    _assert_close(formulas.attention(query, key, value, BIAS, 0.5, keep), context.reshape(B, P, H))


def test_a_projection_is_added_to_the_residual_and_normed():
    shapes = [(B, S, INNER), (INNER, H), (H,), (B, S, H), (H,), (H,)]
    x, kernel, bias, residual, gamma, beta = (value.numpy() for value in _numbers(*shapes))
    keep = _keep(0.5, (B * S, H))
    kept = np.reshape(keep[0], (B, S, H))
    expected = _norm(residual + np.where(kept, (x @ kernel + bias) / 0.5, 0), gamma, beta)
    _assert_close(formulas.add_projection(x, kernel, bias, residual, (gamma, beta, EPSILON), 0.5, keep), expected)


def test_the_feed_forward_half_is_two_projections():
    x, kernel, bias, outer, outer_bias = (
        v.numpy() for v in _numbers((B, S, H), (H, INNER), (INNER,), (INNER, H), (H,))
    )
    norm = (np.ones(H, "float32"), np.zeros(H, "float32"), EPSILON)
    hidden = np.maximum(x @ kernel + bias, 0)
    expected = _norm(x + hidden @ outer + outer_bias, *norm[:2])
    _assert_close(formulas.feed_forward(x, (kernel, bias), (outer, outer_bias), get_activation("relu"), norm), expected)


def test_the_sums_over_the_vocabulary_are_cross_entropy_and_hits():
    scores, bias = (value.numpy() for value in _numbers((4, V), (V,)))
    logits = scores + bias
    labels = np.array([3, logits[1].argmax(), 12, 3], "int32")
    losses = np.log(np.exp(logits).sum(-1)) - logits[np.arange(4), labels]
    hits = (logits.argmax(-1) == labels).astype("float32")
    assert 0 < hits.sum() < 4
    _assert_close(formulas.vocabulary_sums(scores, bias, labels), np.stack([losses, hits], -1))


def test_of_equal_scores_the_first_is_the_likeliest():
    scores, labels = np.zeros((2, V), "float32"), np.array([0, 1], "int32")
    for run in (formulas, tensorflow_training):
        sums = run.vocabulary_sums(tf.constant(scores), tf.zeros(V), tf.constant(labels))
        np.testing.assert_allclose(sums, [[math.log(V), 1], [math.log(V), 0]], rtol=1e-6)


def test_the_bias_hides_padding_only():
    bias = np.asarray(formulas.attention_bias(np.array([[1, 1, 0]])))
    assert bias.shape == (1, 1, 1, 3)
    assert bias.ravel().tolist() == [0, 0, formulas.MASKED_SCORE]


def test_the_bias_parts_the_sequences_of_a_row():
    mask, sequences = np.array([[1, 1, 1, 0]]), np.array([[1, 1, 2, 0]])
    bias = np.asarray(formulas.attention_bias(mask, sequences))
    assert bias.shape == (1, 1, 4, 4)
    sees = bias[0, 0] == 0
    assert sees[:3].tolist() == [[True, True, False, False], [True, True, False, False], [False, False, True, False]]
    view = View.of(mask, tf.constant(sequences)).at(tf.constant([[2, 0]]))
    np.testing.assert_array_equal(view.attention_bias[0, 0], bias[0, 0, [2, 0]])


def test_the_left_side_of_a_product_is_made_anew_when_its_gradient_is_there():
    function, shapes, vectors = _feed_forward(tensorflow_training, 0.0)
    gradients = tf.function(lambda *arguments: _with_gradients(function, list(arguments)))
    graph = gradients.get_concrete_function(*_numbers(*shapes, *vectors)).graph
    calls = [operation for operation in graph.get_operations() if "PartitionedCall" in operation.type]
    waiting = [call for call in calls if call.control_inputs]
    # The activation, forwards, again and backwards, and the norm, forwards and backwards.
    assert len(calls) == 5
    assert len(waiting) == 1


@pytest.mark.parametrize("gather", [formulas.gather_positions, gather_positions])
def test_positions_are_picked_within_each_sequence(gather):
    sequence = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    picked = gather(tf.constant(sequence), tf.constant([[3, 0], [1, 1]]))
    _assert_close(picked, np.stack([sequence[0, [3, 0]], sequence[1, [1, 1]]]))
