"""The losses against values worked out by hand."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import losses

# Softmax of [0, ln 3] is [1/4, 3/4].
LOGITS = np.array([[[0.0, np.log(3.0)], [np.log(3.0), 0.0], [0.0, 0.0]]], "float32")


def test_masked_lm_loss_by_hand():
    labels, weights = np.array([[1, 1, 0]]), np.array([[1.0, 1.0, 0.0]], "float32")
    total, count = losses.masked_lm_loss(LOGITS, labels, weights)
    assert float(total) == pytest.approx(-np.log(3 / 4) - np.log(1 / 4), rel=1e-6)
    assert float(count) == 2
    assert float(losses.masked_lm_correct(LOGITS, labels, weights)) == 1


def test_padding_of_weight_zero_counts_nowhere():
    labels, weights = np.array([[0, 0, 0]]), np.zeros((1, 3), "float32")
    assert [float(value) for value in losses.masked_lm_loss(LOGITS, labels, weights)] == [0, 0]


def test_the_first_of_equally_likely_words_is_the_one_that_is_found():
    logits, weights = np.zeros((1, 3, 4), "float32"), np.array([[1.0, 1.0, 1.0]], "float32")
    for labels, found in (([0, 1, 3], 1), ([0, 0, 3], 2), ([3, 3, 3], 0)):
        assert float(losses.masked_lm_correct(logits, np.array([labels]), weights)) == found


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("bfloat16", 5e-3)])
def test_a_bias_added_in_the_loss_has_the_loss_and_the_gradients_of_one_added_before(dtype, tolerance):
    rng = np.random.default_rng(0)
    scores = tf.cast(rng.normal(size=(2, 3, 50)) * 3, dtype)
    bias = tf.constant(rng.normal(size=50).astype("float32"))
    labels, weights = rng.integers(50, size=(2, 3)), np.array([[1, 1, 0], [1, 1, 1]], "float32")
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([scores, bias])
        loss, correct, count = losses.masked_lm_sums(scores, labels, weights, bias)
        logits = tf.cast(scores, tf.float32) + bias
        expected = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits) * weights)
    right = (tf.argmax(logits, axis=-1).numpy() == labels) * weights
    assert (float(loss), float(correct), float(count)) == (pytest.approx(float(expected), rel=1e-6), right.sum(), 5)
    for found, wanted in zip(tape.gradient(loss, [scores, bias]), tape.gradient(expected, [scores, bias]), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(tf.cast(found, "float32"), tf.cast(wanted, "float32"), atol=tolerance)


def test_classification_loss_by_hand():
    logits, labels = LOGITS[0], np.array([1, 1, 0])
    total, count = losses.classification_loss(logits, labels)
    assert float(total) == pytest.approx(np.log(4 / 3) + np.log(4) + np.log(2), rel=1e-6)
    assert float(count) == 3
    weighted, pairs = losses.classification_loss(logits, labels, np.array([1.0, 0.0, 0.0], "float32"))
    assert (float(weighted), float(pairs)) == (pytest.approx(np.log(4 / 3), rel=1e-6), 1)
    assert float(losses.classification_correct(logits, labels)) == 2  # the tie goes to the first
    for weights, right in (([1.0, 0.0, 0.0], 1), ([0.0, 1.0, 0.0], 0), ([0.0, 0.0, 0.5], 0.5)):
        assert float(losses.classification_correct(logits, labels, np.array(weights, "float32"))) == right


def test_multi_label_loss_by_hand():
    logits, labels = np.array([[0.0, np.log(3.0)], [5.0, 5.0]], "float32"), np.array([[1, 0], [1, 1]], "float32")
    total, count = losses.multi_label_loss(logits, labels, np.array([1.0, 0.0], "float32"))
    assert float(total) == pytest.approx((np.log(2) + np.log(4)) / 2, rel=1e-6)
    assert float(count) == 1
    ones = np.ones(2, "float32")
    assert float(losses.multi_label_correct(logits, labels, ones)) == 1
    assert np.isfinite(float(losses.multi_label_loss(logits * 1e4, labels, ones)[0]))


def test_an_example_is_right_if_every_one_of_its_labels_is():
    labels = np.array([[1, 0, 1]] * 5, "float32")
    signs = np.array([[1, -1, 1], [1, -1, -1], [-1, -1, -1], [1, 1, 1], [-1, 1, -1]], "float32")
    logits = 0.1 * signs
    for row, expected in enumerate([1, 0, 0, 0, 0]):
        right = losses.multi_label_correct(logits[row : row + 1], labels[:1], np.ones(1, "float32"))
        assert float(right) == expected
    assert float(losses.multi_label_correct(logits, labels, np.ones(5, "float32"))) == 1
    # A row that only fills the batch counts nowhere, and a logit of 0 predicts no label.
    assert float(losses.multi_label_correct(logits, labels, np.array([0, 1, 1, 1, 1], "float32"))) == 0
    undecided = np.zeros((1, 3), "float32")
    assert float(losses.multi_label_correct(undecided, undecided, np.ones(1, "float32"))) == 1


def test_regression_loss_by_hand():
    total, count = losses.regression_loss(
        np.array([[1.0], [4.0], [9.0]], "float32"), np.array([3.0, 4.5, 0.0], "float32"), np.array([1.0, 1.0, 0.0])
    )
    assert (float(total), float(count)) == (4.25, 2)


def test_span_losses_by_hand():
    start, end = LOGITS[0][:2], LOGITS[0][1:]
    starts, ends, weights = np.array([1, 0]), np.array([0, 1]), np.ones(2, "float32")
    total, count = losses.span_loss(start, end, starts, ends, weights)
    assert float(total) == pytest.approx((3 * np.log(4 / 3) + np.log(2)) / 2, rel=1e-6)
    assert float(count) == 2
    # The end of the second is a tie, which goes to the first piece.
    assert float(losses.span_correct(start, end, starts, ends, weights)) == 1
    total, count = losses.answerability_loss(np.array([np.log(3.0), -1.0], "float32"), np.array([1, 0]), weights)
    expected = (-np.log(3 / 4) - np.log(1 - 1 / (1 + np.e))) / 2
    assert (float(total), float(count)) == (pytest.approx(expected, rel=1e-6), 2)
