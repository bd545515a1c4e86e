"""Vectors of texts worked out by hand, the same by NumPy and by keras.ops; and what is no pooling."""

import json

import numpy as np
import pytest
from keras import ops

from albert_tf.heads.pooling import POOLINGS, USUAL_POOLING, Pooling
from albert_tf.heads.vector_dense import BIAS, KERNEL, VectorDense
from albert_tf.runtime.errors import InputError

# Two texts of two pieces, the second with one of padding, whose numbers must not count.
OUTPUTS = {
    "sequence_output": np.array([[[1, 2], [3, 6], [5, 1]], [[4, 3], [2, 5], [900, 900]]], np.float32),
    "input_mask": np.array([[1, 1, 1], [1, 1, 0]], np.int32),
    "pooled_output": np.array([[0.6, 0.8], [0, 0]], np.float32),
}
BY_HAND = {"mean": [[3, 3], [3, 4]], "cls": [[1, 2], [4, 3]], "pooled": [[0.6, 0.8], [0, 0]]}


@pytest.mark.parametrize("mode", POOLINGS)
def test_numpy_and_keras_give_the_vectors_that_are_worked_out_by_hand(mode):
    expected = np.array(BY_HAND[mode])
    lengths = np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-12)
    tensors = {name: ops.convert_to_tensor(array) for name, array in OUTPUTS.items()}
    for normalize, wanted in ((False, expected), (True, expected / lengths)):
        pooling = Pooling(mode, normalize)
        vectors = pooling.pool(OUTPUTS)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, wanted, rtol=1e-6)
        np.testing.assert_allclose(np.asarray(pooling.pool(tensors, ops)), wanted, rtol=1e-6)


def test_a_dense_layer_comes_before_the_length():
    weights = {KERNEL: np.array([[2, 0, 0], [0, 0, 1]], np.float32), BIAS: np.array([0, 2, 0], np.float32)}
    dense = VectorDense(3).with_weights(weights, "here")
    np.testing.assert_allclose(Pooling("mean", False, dense=dense).pool(OUTPUTS), [[6, 2, 3], [6, 2, 4]])
    np.testing.assert_allclose(Pooling("mean", dense=dense).pool(OUTPUTS)[0], np.array([6, 2, 3]) / 7, rtol=1e-6)
    assert Pooling(dense=dense).size(2) == 3 and Pooling().size(2) == 2
    assert str(Pooling(dense=dense)) == "mean, a dense layer to 3 numbers, of length 1"


def test_a_choice_takes_the_place_of_what_the_model_says():
    assert Pooling("mean", True, None) == USUAL_POOLING
    assert Pooling("cls", False, 12).with_choices(normalize=True) == Pooling("cls", True, 12)
    pooling = Pooling("cls", False)
    assert Pooling.from_dict(pooling.to_dict(), "file") == pooling
    pooling = Pooling("cls", False, 12, VectorDense(3, "tanh"))
    assert Pooling.from_dict(pooling.with_length(), "file") == pooling
    assert pooling.with_choices("mean").dense == pooling.dense


@pytest.mark.parametrize(
    "values, message",
    [
        (("max",), r"--pooling must be one of mean, cls, pooled. Received 'max'"),
        (("mean", "yes"), "--normalize must be true or false. Received 'yes'"),
        (("mean", True, 0), "--max_seq_length must be at least 1. Received 0"),
    ],
)
def test_what_is_no_pooling_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        Pooling(*values)


def test_a_length_may_be_an_integer_of_numpy():
    pooling = Pooling(max_seq_length=np.int64(16))
    assert json.dumps(pooling.with_length()) == json.dumps(Pooling(max_seq_length=16).with_length())


def test_a_pooler_that_is_not_there_and_a_damaged_description_are_named():
    with pytest.raises(InputError, match="--pooling=pooled: the model has no pooler"):
        Pooling("pooled").pool({name: OUTPUTS[name] for name in ("sequence_output", "input_mask")})
    for values in ({"mode": "mean", "size": 3}, {"mode": 7}, {"dense": {"size": 0}}, {"dense": [3]}):
        with pytest.raises(InputError, match="export.json: 'pooling' is not what this version"):
            Pooling.from_dict(values, "export.json")
