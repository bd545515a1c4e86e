"""The dense layer after pooling by hand, by NumPy and by keras.ops; and numbers that do not fit it."""

import numpy as np
import pytest
from keras import ops

from albert_tf.heads.vector_dense import ACTIVATIONS, BIAS, KERNEL, VectorDense
from albert_tf.runtime.errors import InputError

WEIGHTS = {KERNEL: np.array([[1, 0, 2], [0, -1, 1]], np.float32), BIAS: np.array([0, 0.5, -1], np.float32)}
VECTORS = np.array([[0.5, 1], [0, -2]], np.float32)
BY_HAND = np.array([[0.5, -0.5, 1], [0, 2.5, -3]])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_numpy_and_keras_give_what_is_worked_out_by_hand(activation):
    dense = VectorDense(3, activation).with_weights(WEIGHTS, "here")
    wanted = np.tanh(BY_HAND) if activation == "tanh" else BY_HAND
    found = dense.apply(VECTORS)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(dense.apply(ops.convert_to_tensor(VECTORS), ops)), wanted, rtol=1e-6)


def test_layers_of_one_size_and_activation_are_the_same():
    dense = VectorDense(3).with_weights(WEIGHTS, "here")
    assert dense == VectorDense(3) and dense != VectorDense(3, "tanh") and dense != VectorDense(4)
    assert dense.to_weights().keys() == WEIGHTS.keys() and VectorDense(3).to_weights() == {}
    dense.check_width(2, "here")


@pytest.mark.parametrize(
    "weights, message",
    [
        ({}, "here: the numbers of the dense layer after pooling are not there"),
        ({**WEIGHTS, BIAS: np.zeros(2)}, r"a bias \[3\]. Received \[2, 3\] and \[2\]"),
        ({**WEIGHTS, KERNEL: np.zeros((3, 2))}, r"a kernel \[H, 3\]"),
        ({**WEIGHTS, BIAS: np.array([0, np.nan, 0])}, "here: .* holds NaN or infinite values"),
    ],
)
def test_numbers_that_do_not_fit_are_one_line(weights, message):
    with pytest.raises(InputError, match=message):
        VectorDense(3).with_weights(weights, "here")


@pytest.mark.parametrize("values", [(0,), (True,), (3.0,), (3, "relu")])
def test_what_is_no_layer_is_refused(values):
    with pytest.raises(InputError, match="Received"):
        VectorDense(*values)


def test_a_layer_without_numbers_or_of_another_width_is_named():
    with pytest.raises(InputError, match="not at hand"):
        VectorDense(3).apply(VECTORS)
    with pytest.raises(InputError, match="folder: .* takes vectors of 2 numbers; the model's have 4"):
        VectorDense(3).with_weights(WEIGHTS, "here").check_width(4, "folder")
