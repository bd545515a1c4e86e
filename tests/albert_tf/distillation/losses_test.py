"""The losses of a student: by hand, by NumPy, and what rows that only fill the batch up do to them."""

import numpy as np
import pytest

from albert_tf.distillation.losses import cosine_loss, relation_loss


def unit(*shape, seed=0):
    found = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def test_a_vector_at_right_angles_costs_one_and_a_row_of_weight_zero_nothing():
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.float32)
    teacher = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], np.float32)
    loss, count = cosine_loss(vectors, teacher, np.array([1.0, 1.0, 0.0], np.float32))
    assert (float(loss), float(count)) == (1.0, 2.0)


def test_the_relations_are_those_of_numpy_and_leave_out_a_text_itself():
    vectors, teacher, rows = unit(4, 3), unit(4, 5, seed=1), np.arange(4)
    expected = 0.0
    for row in rows:
        others = rows[rows != row]
        shares = [np.exp(one[others] @ one[row] / 0.1) for one in (teacher, vectors)]
        aims, found = (share / share.sum() for share in shares)
        expected += np.sum(aims * np.log(aims / found))
    loss, count = relation_loss(vectors, teacher, np.ones(4, np.float32), 0.1)
    assert float(loss) == pytest.approx(expected, rel=1e-4) and float(count) == 4


def test_relations_do_not_see_rows_that_only_fill_the_batch_up():
    vectors, teacher = unit(3, 3), unit(3, 3, seed=1)
    alone, _ = relation_loss(vectors, teacher, np.ones(3, np.float32), 0.05)
    filled = (np.concatenate([one, one[:2]]) for one in (vectors, teacher))
    among, count = relation_loss(*filled, np.array([1, 1, 1, 0, 0], np.float32), 0.05)
    assert float(among) == pytest.approx(float(alone), rel=1e-5) and float(count) == 3


def test_a_student_turned_as_a_whole_has_the_same_relations():
    turned = unit(6, 4) @ np.linalg.qr(np.random.default_rng(2).standard_normal((4, 4)))[0].astype(np.float32)
    loss, _ = relation_loss(turned, unit(6, 4), np.ones(6, np.float32), 0.05)
    assert float(loss) == pytest.approx(0.0, abs=1e-4)
