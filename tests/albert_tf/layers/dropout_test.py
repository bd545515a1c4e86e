"""StatelessDropout: its rate, its scale, and that the seed alone decides."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.layers.dropout import StatelessDropout

SEED = np.array([3, 4], "int32")


def test_the_share_and_the_scale():
    dropped = np.asarray(StatelessDropout(0.25, site=0)(np.ones((400, 250), "float32"), seed=SEED, training=True))
    assert set(np.unique(dropped)) == {0.0, np.float32(1 / 0.75)}
    # 100,000 draws: the standard deviation of the share is 0.0014.
    assert abs((dropped == 0).mean() - 0.25) < 0.006


def test_sites_and_seeds_draw_masks_of_their_own():
    x = np.ones((20, 20), "float32")

    def mask(site, seed):
        return np.asarray(StatelessDropout(0.5, site)(x, seed=seed, training=True)) > 0

    first = mask(0, SEED)
    np.testing.assert_array_equal(first, mask(0, SEED))
    for other in (mask(1, SEED), mask(0, SEED + 1)):
        assert 0.3 < (first == other).mean() < 0.7


def test_compiled_or_not_the_mask_is_the_same():
    layer, x = StatelessDropout(0.5, site=0), tf.ones((20, 20))
    compiled = tf.function(lambda seed: layer(x, seed=seed, training=True), jit_compile=True)
    np.testing.assert_array_equal(compiled(tf.constant(SEED)), layer(x, seed=SEED, training=True))


def test_a_graph_has_no_tensor_of_zeros_to_pick_from():
    # Whoever lowers the graph for an accelerator evaluates it, and keeps one for each use.
    layer = StatelessDropout(0.5, site=0)
    step = tf.function(lambda x: layer(x, seed=SEED, training=True))
    operations = step.get_concrete_function(tf.TensorSpec((20, 30))).graph.get_operations()
    assert not [one for one in operations if one.type in ("Fill", "ZerosLike")]
    constants = [one.outputs[0] for one in operations if one.type == "Const"]
    assert max(constant.shape.num_elements() for constant in constants) < 20


def test_nothing_is_dropped_outside_training_or_at_rate_zero():
    x = np.ones((5, 5), "float32")
    np.testing.assert_array_equal(StatelessDropout(0.5, site=0)(x), x)
    np.testing.assert_array_equal(StatelessDropout(0.0, site=0)(x, training=True), x)


def test_training_without_a_seed_is_refused():
    with pytest.raises(ValueError, match="needs `seed`"):
        StatelessDropout(0.5, site=0)(np.ones((2, 2), "float32"), training=True)
