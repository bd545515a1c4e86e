"""Muon against its formula in float64, and against AdamW where it is AdamW."""

import keras
import numpy as np
import pytest

from albert_tf.optimization.adamw import AdamW
from albert_tf.optimization.muon import Muon, orthogonalise


@pytest.mark.parametrize("shape", [(8, 8), (8, 24), (24, 8), (1, 5)])
def test_singular_values_come_near_to_1_and_their_vectors_stay(shape):
    matrix = np.random.default_rng(0).normal(size=shape).astype("f4")
    found = np.asarray(orthogonalise(keras.ops.convert_to_tensor(matrix)))
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    values = np.diag(left.T @ found @ right.T)
    assert values.min() > 0.6 and values.max() < 1.3
    np.testing.assert_allclose(left @ np.diag(values) @ right, found, atol=1e-4)


def test_it_is_the_iteration_of_keras():
    matrix = keras.ops.convert_to_tensor(np.random.default_rng(1).normal(size=(16, 12)).astype("f4"))
    expected = keras.optimizers.Muon().zeropower_via_newtonschulz5(matrix, 5)
    np.testing.assert_allclose(orthogonalise(matrix), expected, atol=1e-5)


def test_the_iteration_in_bfloat16_gives_nearly_the_same_update():
    matrix = keras.ops.convert_to_tensor(np.random.default_rng(1).normal(size=(16, 48)).astype("f4"))
    exact, found = (np.asarray(orthogonalise(matrix, dtype=dtype)) for dtype in (None, "bfloat16"))
    assert found.dtype == np.float32
    similarity = np.sum(exact * found) / np.linalg.norm(exact) / np.linalg.norm(found)
    assert 0.998 < similarity < 1.0


def test_zeros_stay_zeros():
    assert not np.asarray(orthogonalise(keras.ops.zeros((3, 4)))).any()


def _variables():
    rng = np.random.default_rng(2)
    names = {
        "albert/encoder/block_0_0/attention/query_kernel": (8, 8),
        "albert/encoder/block_0_0/feed_forward/intermediate_kernel": (8, 16),
        "albert/encoder/block_0_0/feed_forward/output_kernel": (16, 8),
        "albert/encoder/block_0_0/attention/query_bias": (8,),
        "albert/embeddings/word_embeddings": (20, 4),
        "albert/pooler/kernel": (8, 8),
    }
    found = [keras.Variable(rng.normal(size=shape).astype("f4"), name="w") for shape in names.values()]
    for variable, name in zip(found, names, strict=True):
        variable._path = name
    return found


def _orthogonal(matrix):
    """The iteration, in float64."""
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / np.linalg.norm(x)
    for _ in range(5):
        products = x @ x.T
        x = 3.4445 * x + (-4.7750 * products + 2.0315 * products @ products) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


def test_twenty_steps_are_those_of_the_formula():
    ours, theirs = _variables(), _variables()
    muon, adamw = Muon(learning_rate=1e-3, matrix_rate=20.0), AdamW(learning_rate=1e-3)
    muon.build(ours)
    adamw.build(theirs)
    weights = [variable.numpy().astype("f8") for variable in ours]
    means = [np.zeros_like(weight) for weight in weights]
    rng = np.random.default_rng(3)
    for _ in range(20):
        gradients = [rng.normal(size=variable.shape).astype("f4") for variable in ours]
        for optimizer in (muon, adamw):
            optimizer.apply([keras.ops.convert_to_tensor(gradient) for gradient in gradients])
        for at, gradient in enumerate(gradients[:3]):
            means[at] = 0.95 * means[at] + 0.05 * gradient
            update = _orthogonal(0.95 * means[at] + 0.05 * gradient)
            rows, columns = gradient.shape
            weights[at] -= 20 * 1e-3 * (max(1, rows / columns) ** 0.5 * update + 0.01 * weights[at])
    for at in range(3):
        np.testing.assert_allclose(ours[at].numpy(), weights[at], atol=2e-5)
        assert np.abs(weights[at] - theirs[at].numpy()).max() > 0.01
    for at in range(3, 6):
        np.testing.assert_array_equal(ours[at].numpy(), theirs[at].numpy())


def test_a_matrix_has_one_moment():
    optimizer = Muon()
    optimizer.build(_variables())
    means, squares = optimizer.moments()
    assert [mean.shape for mean in means] == [variable.shape for variable in _variables()]
    assert [square.shape for square in squares] == [(), (), (), (8,), (20, 4), (8, 8)]


def test_its_settings_survive_serialisation():
    made = Muon(learning_rate=0.5, matrix_rate=3.0, momentum=0.9, matrices=["a"], weight_decay_rate=0.1)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(made))
    assert isinstance(again, Muon)
    assert again.get_config() == made.get_config()
    assert (again.matrix_rate, again.momentum, again.matrices) == (3.0, 0.9, ("a",))
