"""Word vectors fitted to vectors of texts: against the solution by NumPy, and where there is nothing to fit."""

import numpy as np

from albert_tf.distillation.word_vectors import DAMPING, fit_word_vectors


def test_they_are_the_solution_of_the_ridge_regression():
    rng = np.random.default_rng(0)
    texts = [rng.integers(2, 8, rng.integers(2, 6)) for _ in range(60)]
    vectors = rng.standard_normal((60, 3)).astype(np.float32)
    shares = np.zeros((60, 8))
    for row, text in enumerate(texts):
        np.add.at(shares[row], text, 1 / len(text))
    expected = np.linalg.solve(shares.T @ shares + DAMPING * np.eye(8), shares.T @ vectors)
    splits = np.cumsum([0, *map(len, texts)])
    found = fit_word_vectors(np.concatenate(texts), splits, vectors, 8)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert not found[:2].any()


def test_pieces_that_are_left_out_count_for_nothing():
    vectors = np.array([[1.0], [2.0]], np.float32)
    with_them = fit_word_vectors(np.array([0, 2, 1, 0, 3, 1]), np.array([0, 3, 6]), vectors, 4, left_out=(0, 1))
    without = fit_word_vectors(np.array([2, 3]), np.array([0, 1, 2]), vectors, 4)
    np.testing.assert_allclose(with_them, without, rtol=1e-6)
    assert not with_them[:2].any() and with_them[2:].all()
