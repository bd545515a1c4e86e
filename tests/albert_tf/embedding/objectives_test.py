"""The losses of vectors: by hand, and that rows which are alike, or only fill a batch up, count for nothing."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.embedding import objectives
from albert_tf.embedding.objectives import Contrastive, CosineRegression, SimCSE

E1, E2, MINUS_E1 = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]


def _loss(objective, vectors, ids, weights=None, **more):
    """(loss, metrics) of rows of vectors, whose texts are told apart by one id each."""
    batch = {"input_ids": tf.constant(ids)[:, :, None], "example_weight": tf.constant(weights or [1.0] * len(ids))}
    batch |= {name: tf.constant(value) for name, value in more.items()}
    loss, metrics = objective.loss(tf.constant(vectors), batch, objective.counts(batch))
    return float(loss), [float(value) for value in metrics]


def test_the_right_text_is_found_by_a_softmax_over_the_cosines_of_the_batch():
    vectors = [[[3.0, 0.0], E1], [E1, E2]]
    loss, (accuracy,) = _loss(Contrastive(0.5), vectors, [[1, 2], [3, 4]])
    # Cosines [1, 0] with the first right, then [1, 0] with the second, over 0.5.
    first, second = np.log(1 + np.exp(-2)), np.log(1 + np.exp(2))
    assert loss == pytest.approx((first + second) / 2, rel=1e-5)
    assert accuracy == 0.5
    symmetric, _ = _loss(Contrastive(0.5, symmetric=True), vectors, [[1, 2], [3, 4]])
    # By the other way both first texts are as near to each of the second ones.
    assert symmetric == pytest.approx(((first + second) / 2 + np.log(2)) / 2, rel=1e-5)


def test_third_texts_are_wrong_for_every_row():
    vectors = [[E1, E1, E2], [E1, E1, MINUS_E1]]
    loss, _ = _loss(Contrastive(1.0), vectors[:1], [[1, 2, 3]])
    assert loss == pytest.approx(np.log(1 + np.exp(-1)), rel=1e-5)
    both, _ = _loss(Contrastive(1.0), vectors, [[1, 2, 3], [4, 5, 6]])
    assert both == pytest.approx(np.log(2 + np.exp(-1) + np.exp(-2)), rel=1e-5)
    # One's own stays wrong where two rows have the same first text, whose second ones both are right.
    same, _ = _loss(Contrastive(1.0), vectors, [[1, 2, 3], [1, 5, 6]])
    assert same == pytest.approx(np.log(1 + np.exp(-1) + np.exp(-2)), rel=1e-5)


def test_texts_that_are_right_word_for_word_and_rows_that_fill_up_count_for_nothing():
    vectors = [[E1, E1], [E2, E1]]
    alone = _loss(Contrastive(0.05), vectors[:1], [[1, 2]])
    assert alone == (pytest.approx(0.0, abs=1e-6), [1.0])
    assert _loss(Contrastive(0.05), vectors, [[1, 2], [3, 4]], [1.0, 0.0]) == alone
    loss, (accuracy,) = _loss(Contrastive(0.05), vectors, [[1, 2], [3, 2]])
    assert (loss, accuracy) == (pytest.approx(0.0, abs=1e-6), 1.0)


def test_a_text_is_no_wrong_answer_to_itself():
    # The second text of the second row is the first row's first.
    loss, (accuracy,) = _loss(Contrastive(0.05), [[E1, E1], [E1, E1]], [[1, 2], [2, 1]])
    assert (loss, accuracy) == (pytest.approx(0.0, abs=1e-6), 1.0)
    both, _ = _loss(Contrastive(0.05, symmetric=True), [[E1, E1], [E1, E1]], [[1, 2], [2, 1]])
    assert both == pytest.approx(0.0, abs=1e-6)


def test_sequences_are_told_apart_by_every_place():
    ids = np.random.default_rng(0).integers(0, 30_000, (300, 64)).astype("int32")
    ids[1] = ids[0]
    ids[2, :2] = ids[2, 1::-1]
    found = objectives._same(tf.constant(ids), tf.constant(ids)).numpy()
    np.testing.assert_array_equal(found, (ids[:, None] == ids[None]).all(-1))
    swapped = ids[2:3].copy()
    swapped[0, :2] = swapped[0, 1::-1]
    assert not objectives._same(tf.constant(ids[2:3]), tf.constant(swapped)).numpy().any()


def test_simcse_compares_two_passes_of_each_text():
    assert SimCSE(0.05).passes == 2
    vectors = [[E1, E1], [E2, E1]]
    loss, _ = _loss(SimCSE(1.0), vectors, [[1], [2]])
    assert loss == pytest.approx((np.log(2) + np.log(2)) / 2, rel=1e-5)
    repeated, _ = _loss(SimCSE(1.0), vectors, [[1], [1]])
    assert repeated == pytest.approx(0.0, abs=1e-6)


def test_scores_are_what_cosines_are_to_be():
    vectors = [[[2.0, 0.0], E1], [E1, E2], [E1, MINUS_E1]]
    loss, metrics = _loss(CosineRegression(), vectors, [[1, 2]] * 3, [1.0, 1.0, 0.0], label=[0.5, 0.5, 0.5])
    assert (loss, metrics) == (pytest.approx(0.25, rel=1e-5), [])


def test_vectors_of_zeros_have_finite_gradients():
    variable = tf.Variable([[[0.0, 0.0], E1], [E1, [0.0, 0.0]]])
    batch = {"input_ids": tf.reshape(tf.range(4), (2, 2, 1)), "example_weight": tf.ones(2)}
    objective = Contrastive(0.05)
    with tf.GradientTape() as tape:
        loss, _ = objective.loss(tf.convert_to_tensor(variable), batch, objective.counts(batch))
    assert np.isfinite(tape.gradient(loss, variable).numpy()).all()
