"""Figures of layers and heads: worked out by hand, over tokens alone, and the same however they come in batches."""

import math

import numpy as np
import pytest

from albert_tf.analysis.layer_sums import OF_HEADS, LayerSums

# [CLS], a token, [SEP], and padding with whatever in it.
IDS, MASK = np.array([[2, 5, 3, 3]]), np.array([[1, 1, 1, 0]])
BEFORE = np.array([[[3.0, 4.0], [1.0, 0.0], [0.0, 2.0], [1e6, -1e6]]])
AFTER = np.array([[[4.0, -3.0], [2.0, 0.0], [0.0, -1.0], [-1e6, 1e6]]])
ATTENTION = np.array([[[[1, 0, 0, 0], [0.5, 0.5, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0], [0.1, 0.1, 0.8, 0]]]])


@pytest.fixture
def means():
    sums = LayerSums()
    sums.add([BEFORE, AFTER], [ATTENTION], IDS, MASK)
    assert (sums.num_tokens, sums.num_sequences) == (3, 1)
    return sums.means()


def test_a_layer_s_distance_cosine_and_angle_are_means_over_tokens(means):
    assert means["norm"] == pytest.approx([(5 + 1 + 2) / 3, (5 + 2 + 1) / 3])
    assert means["l2_distance"] == pytest.approx([(math.sqrt(50) + 1 + 3) / 3])
    assert means["cosine_similarity"] == pytest.approx([(0 + 1 - 1) / 3])
    assert means["angle"] == pytest.approx([(90 + 0 + 180) / 3])


def test_a_head_s_entropy_distance_and_shares_are_means_over_tokens(means):
    expected = {
        "entropy": (math.log(2) + math.log(3)) / 3,
        "distance": (0 + 0.5 + 1) / 3,
        "cls_share": (1 + 1 / 2 + 1 / 3) / 3,
        "sep_share": (1 / 3) / 3,
    }
    assert {name: values[0][0] for name, values in means["heads"].items()} == pytest.approx(expected)


def test_beside_them_stands_what_looking_at_all_alike_would_give(means):
    expected = {"entropy": math.log(3), "distance": (1 + 2 / 3 + 1) / 3, "cls_share": 1 / 3, "sep_share": 1 / 3}
    assert means["uniform"] == pytest.approx(expected)


def test_batches_and_padding_make_no_difference():
    rng = np.random.default_rng(0)
    ids, mask = rng.integers(4, 60, (4, 9)), (np.arange(9) < [[9], [4], [0], [2]]).astype(int)
    states, heads = rng.normal(size=(3, 4, 9, 6)), rng.random((2, 4, 3, 9, 9)) * mask[:, None, None, :]
    heads /= np.maximum(heads.sum(axis=-1, keepdims=True), 1e-9)
    whole, parts = LayerSums(), LayerSums()
    whole.add(states, heads, ids, mask)
    for row, length in enumerate(mask.sum(axis=1)):
        parts.add(
            states[:, row : row + 1, : length or 1],
            heads[:, row : row + 1, :, : length or 1, : length or 1],
            ids[row : row + 1, : length or 1],
            mask[row : row + 1, : length or 1],
        )
    assert (whole.num_tokens, whole.num_sequences) == (parts.num_tokens, parts.num_sequences) == (15, 3)
    one, other = whole.means(), parts.means()
    for name in ("norm", "l2_distance", "cosine_similarity", "angle"):
        assert one[name] == pytest.approx(other[name])
    for name in OF_HEADS:
        np.testing.assert_allclose(one["heads"][name], other["heads"][name])
        assert one["uniform"][name] == pytest.approx(other["uniform"][name])
