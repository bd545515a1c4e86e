"""A batch is computed as two halves, with the results of the whole."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.layers import halves

LENGTH = 32
LARGE = halves.SMALLEST_BATCH // LENGTH


@pytest.mark.parametrize(
    "batch, length, parts", [(1, 1000, [1]), (LARGE - 1, LENGTH, [LARGE - 1]), (2, 128, [1, 1]), (33, LENGTH, [16, 17])]
)
def test_a_large_batch_comes_as_two_halves(batch, length, parts):
    seen = []

    def double(x, y):
        seen.append(int(x.shape[0]))
        return [2 * x, y]

    x, y = np.arange(batch * length).reshape(batch, length), np.arange(batch)
    doubled, same = halves.in_halves(double, double, [tf.constant(x), tf.constant(y)])
    assert seen == parts
    np.testing.assert_array_equal(doubled, 2 * x)
    np.testing.assert_array_equal(same, y)


def test_one_graph_serves_every_batch():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def negate(x):
        return halves.in_halves(lambda x: [0 - x], lambda x: [-x], [x])[0]

    for batch in (0, 1, LARGE, LARGE + 1):
        x = tf.random.stateless_uniform([batch, LENGTH], [1, 2])
        np.testing.assert_array_equal(negate(x), -x)


def test_where_steps_are_compiled_nothing_is_split(monkeypatch):
    monkeypatch.setattr(halves.backend_ops, "runs_operation_by_operation", lambda: False)
    seen = []
    whole, half = ((lambda x, name=name: seen.append((name, x.shape)) or [x]) for name in ("whole", "half"))
    halves.in_halves(whole, half, [tf.zeros([LARGE, LENGTH])])
    assert seen == [("whole", (LARGE, LENGTH))]
