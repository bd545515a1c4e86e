"""The step Dense of sentence-transformers: what is written is read again; every form of it, and what is refused."""

import json

import numpy as np
import pytest
import safetensors.numpy

from albert_tf.conversion.sentence_dense import read_dense, write_dense
from albert_tf.heads.vector_dense import BIAS, KERNEL, VectorDense
from albert_tf.runtime.errors import InputError

WEIGHTS = {KERNEL: np.array([[1, 0, 2], [0, -1, 1]], np.float32), BIAS: np.array([0, 0.5, -1], np.float32)}
TANH = "torch.nn.modules.activation.Tanh"


def change(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.fixture
def folder(tmp_path):
    write_dense(str(tmp_path / "2_Dense"), VectorDense(3).with_weights(WEIGHTS, "here"))
    return tmp_path / "2_Dense"


@pytest.mark.parametrize("activation", ["identity", "tanh"])
def test_what_is_written_is_read_again(tmp_path, activation):
    dense = VectorDense(3, activation).with_weights(WEIGHTS, "here")
    write_dense(str(tmp_path / "layer"), dense)
    found = read_dense(str(tmp_path / "layer"))
    assert found == dense
    for name, value in WEIGHTS.items():
        np.testing.assert_array_equal(found.to_weights()[name], value)
    stored = safetensors.numpy.load_file(tmp_path / "layer" / "model.safetensors")
    assert stored["linear.weight"].shape == (3, 2)


def test_a_layer_without_a_bias_has_one_of_zeros(folder):
    safetensors.numpy.save_file({"linear.weight": np.ones((3, 2), np.float16)}, folder / "model.safetensors")
    change(folder, bias=False, activation_function=TANH)
    found = read_dense(str(folder))
    assert found.activation == "tanh"
    np.testing.assert_array_equal(found.bias, np.zeros(3))
    assert found.kernel.dtype == np.float32


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"activation_function": "torch.nn.modules.activation.GELU"}, "GELU' has no like here; Identity and Tanh"),
        ({"module_input_name": "token_embeddings"}, "module_input_name is 'token_embeddings'; a layer of vectors of"),
        ({"out_features": 4}, "out_features is 4, the kernel in .*model.safetensors has 3"),
    ],
)
def test_what_has_no_like_here_is_one_line(folder, changes, message):
    change(folder, **changes)
    with pytest.raises(InputError, match=message) as error:
        read_dense(str(folder))
    assert "\n" not in str(error.value)


def test_what_is_missing_is_named(folder):
    safetensors.numpy.save_file({"weight": np.ones((3, 2), np.float32)}, folder / "model.safetensors")
    with pytest.raises(InputError, match="no matrix 'linear.weight', the layer's kernel"):
        read_dense(str(folder))
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match="2_Dense: no model.safetensors there"):
        read_dense(str(folder))
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match="config.json is missing"):
        read_dense(str(folder))


def test_a_layer_without_numbers_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="not at hand"):
        write_dense(str(tmp_path / "layer"), VectorDense(3))
    assert not (tmp_path / "layer").exists()
