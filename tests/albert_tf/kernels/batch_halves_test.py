"""A batch is computed as two halves, with the results of the whole."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.kernels import batch_halves

LENGTH = 32
LARGE = batch_halves.SMALLEST_BATCH // LENGTH


@pytest.mark.parametrize(
    "batch, length, parts", [(1, 1000, [1]), (LARGE - 1, LENGTH, [LARGE - 1]), (2, 128, [1, 1]), (33, LENGTH, [17, 16])]
)
def test_a_large_batch_comes_as_two_halves(batch, length, parts):
    seen = []

    def double(x, y):
        seen.append(y.numpy().tolist())
        return [2 * x, y]

    x, y = np.arange(batch * length).reshape(batch, length), np.arange(batch)
    doubled, same = batch_halves.in_halves(double, [tf.constant(x), tf.constant(y)], [tf.int64, tf.int64])
    count = len(parts)
    assert [len(rows) for rows in seen] == parts
    # Every second one: of sorted sequences each half has short and long ones.
    assert seen == [list(range(part, batch, count)) for part in range(count)]
    np.testing.assert_array_equal(doubled, 2 * x)
    np.testing.assert_array_equal(same, y)


def test_one_graph_serves_every_batch():
    traced = []

    def spread(x):
        traced.append(x)
        return [tf.stack([x, -x, x], axis=-1)]

    @tf.function(input_signature=[tf.TensorSpec([None, None])], autograph=False)
    def computed(x):
        (result,) = batch_halves.in_halves(spread, [x], ["float32"])
        assert result.shape.as_list() == [None, None, 3]
        return result

    for batch in (0, 1, LARGE, LARGE + 1):
        x = tf.random.stateless_uniform([batch, LENGTH], [1, 2])
        np.testing.assert_array_equal(computed(x), np.stack([x, -x, x], axis=-1))
    assert len(traced) == 1


def test_where_steps_are_compiled_nothing_is_split(monkeypatch):
    monkeypatch.setattr(batch_halves.backend, "runs_operation_by_operation", lambda: False)
    seen = []
    batch_halves.in_halves(lambda x: seen.append(x.shape) or [x], [tf.zeros([LARGE, LENGTH])], None)
    assert seen == [(LARGE, LENGTH)]
