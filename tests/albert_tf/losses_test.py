"""The losses against values worked out by hand."""

import numpy as np
import pytest

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


def test_sentence_order_loss_by_hand():
    logits, labels = LOGITS[0], np.array([1, 1, 0])
    total, count = losses.sentence_order_loss(logits, labels)
    assert float(total) == pytest.approx(np.log(4 / 3) + np.log(4) + np.log(2), rel=1e-6)
    assert float(count) == 3
    weighted, pairs = losses.sentence_order_loss(logits, labels, np.array([1.0, 0.0, 0.0], "float32"))
    assert (float(weighted), float(pairs)) == (pytest.approx(np.log(4 / 3), rel=1e-6), 1)
    assert float(losses.sentence_order_correct(logits, labels)) == 2  # the tie goes to the first
