"""The scale of the loss after good steps, overflows, and losses that no scale mends."""

import tensorflow as tf

from albert_tf.training import loss_scale
from albert_tf.training.loss_scale import LossScale, adjust


def _after(state, finite, loss_finite=True, scaled=True):
    state, goes_on = adjust(LossScale(*map(tf.constant, state)), tf.constant(finite), tf.constant(loss_finite), scaled)
    return tuple(value.numpy() for value in state), bool(goes_on)


def test_an_overflow_halves_the_scale_and_is_no_fault():
    assert _after((1024.0, 5, 0), finite=False) == ((512.0, 0, 1), True)


def test_many_good_steps_double_it():
    last = loss_scale.DOUBLE_AFTER - 1
    assert _after((8.0, last - 1, 2), finite=True) == ((8.0, last, 2), True)
    assert _after((8.0, last, 2), finite=True) == ((16.0, 0, 2), True)


def test_what_no_scale_mends_is_a_fault():
    assert _after((1024.0, 5, 0), finite=False, loss_finite=False) == ((1024.0, 0, 0), False)
    assert _after((1.0, 5, 9), finite=False) == ((1.0, 0, 9), False)


def test_without_scaling_nothing_moves():
    assert _after((1.0, 0, 0), finite=True, scaled=False) == ((1.0, 0, 0), True)
    assert _after((1.0, 0, 0), finite=False, scaled=False) == ((1.0, 0, 0), False)
    assert float(loss_scale.first().scale) == 1.0
    assert float(loss_scale.first(scaled=True).scale) == loss_scale.FIRST_SCALE
