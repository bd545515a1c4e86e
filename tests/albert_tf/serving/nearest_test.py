"""The nearest vectors beside those of one product of everything, whatever the blocks; equals, gaps, none at all."""

import numpy as np
import pytest

from albert_tf.serving.nearest import find_nearest


@pytest.mark.parametrize("block", [1, 3, 7, 100])
def test_blocks_find_what_one_product_finds(block):
    rng = np.random.default_rng(0)
    # Few values, so that many products are equal: the first of them count.
    vectors = rng.integers(-2, 3, (40, 3)).astype(np.float32)
    queries = rng.integers(-2, 3, (5, 3)).astype(np.float32)
    places, products = find_nearest(vectors, queries, 6, block=block)
    whole = queries @ vectors.T
    expected = np.argsort(-whole, axis=1, kind="stable")[:, :6]
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(products, np.take_along_axis(whole, expected, 1))


def test_what_is_no_vector_or_not_allowed_is_never_found():
    vectors = np.array([[1.0], [np.nan], [3.0], [2.0]], np.float16)
    allowed = np.array([True, True, False, True])
    to_floats = lambda part: part.astype(np.float32)  # noqa: E731
    places, products = find_nearest(vectors, np.ones((1, 1), np.float32), 4, to_floats, allowed, block=2)
    assert places[0, :2].tolist() == [3, 0]
    assert products[0].tolist() == [2.0, 1.0, -np.inf, -np.inf]


def test_nothing_is_found_among_nothing():
    places, products = find_nearest(np.zeros((0, 2), np.float32), np.ones((3, 2), np.float32), 5)
    assert places.shape == products.shape == (3, 0)
