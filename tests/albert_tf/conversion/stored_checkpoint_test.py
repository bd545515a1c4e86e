"""Checkpoints as they were found: what tells the weights of one from those of another."""

import numpy as np

from albert_tf.conversion.stored_checkpoint import StoredCheckpoint


def _digest(**arrays):
    return StoredCheckpoint("some", None, arrays).digest


def test_a_digest_is_that_of_names_shapes_types_and_values():
    kernel, bias = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32(1)
    known = _digest(kernel=kernel, bias=bias)
    assert _digest(bias=bias.copy(), kernel=np.asfortranarray(kernel)) == known
    others = [
        _digest(kernel=kernel),
        _digest(kernel=kernel, offset=bias),
        _digest(kernel=kernel.reshape(3, 2), bias=bias),
        _digest(kernel=kernel.view(np.int32), bias=bias),
        _digest(kernel=kernel + np.float32(1e-6), bias=bias),
    ]
    assert len({known, *others}) == 6
