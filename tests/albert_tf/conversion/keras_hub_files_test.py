"""Files of KerasHub presets: what Keras's layout means, and damage in one line."""

import json

import h5py
import numpy as np
import pytest

from albert_tf.conversion.keras_hub_files import (
    read_sharded_weights,
    read_weights,
    serialized,
    write_weights,
)
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

ARRAYS = {
    "layers/dense/vars/0": np.arange(6, dtype="float32").reshape(2, 3),
    "layers/dense/vars/1": np.array([0.5, -1, 3], "float32"),
    "layers/dense_1/vars/0": np.array([[7]], "float16"),
    "optimizer/vars/0": np.int64(3),
}


def _assert_same(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def _refusal(function, path) -> str:
    """The one line in which a file is refused, without its path."""
    with pytest.raises(InputError) as error:
        function(str(path))
    message = str(error.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_arrays_come_back_and_make_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        write_weights(str(tmp_path / name), ARRAYS)
    _assert_same(read_weights(str(tmp_path / "first")), ARRAYS)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    with h5py.File(tmp_path / "first") as file:
        assert list(file["vars"]) == []


def test_bfloat16_is_two_bytes_and_an_attribute(tmp_path):
    with h5py.File(tmp_path / "weights", "w") as file:
        file["vars/0"] = np.array([0x3F80, 0xC040], "uint16").view("V2")
        file["vars/0"].attrs["dtype"] = "bfloat16"
    array = read_weights(str(tmp_path / "weights"))["vars/0"]
    assert array.dtype.name == "bfloat16"
    assert array.astype("float32").tolist() == [1, -3]


def test_layers_have_their_present_name_in_files_of_keras_2(tmp_path):
    old = {name.replace("layers/", "_layer_checkpoint_dependencies/"): array for name, array in ARRAYS.items()}
    write_weights(str(tmp_path / "weights"), old)
    _assert_same(read_weights(str(tmp_path / "weights")), ARRAYS)


@pytest.mark.parametrize("kept", [0, 20, 100, 1000])
def test_a_cut_off_file_is_damaged(tmp_path, kept):
    path = tmp_path / "weights"
    write_weights(str(path), ARRAYS)
    path.write_bytes(path.read_bytes()[:kept])
    assert _refusal(read_weights, path).startswith("damaged, or not a Keras weights file: ")


def test_data_in_another_file_is_refused(tmp_path):
    (tmp_path / "numbers").write_bytes(np.zeros(4, "float32").tobytes())
    with h5py.File(tmp_path / "weights", "w") as file:
        file.create_dataset("vars/0", 4, "float32", external=[(str(tmp_path / "numbers"), 0, h5py.h5f.UNLIMITED)])
    assert "/vars/0 lies in another file" in _refusal(read_weights, tmp_path / "weights")


def test_shards_are_put_together(tmp_path):
    shards = ["model_00000.weights.h5", "model_00001.weights.h5"]
    for number, shard in enumerate(shards):
        write_weights(str(tmp_path / shard), dict(list(ARRAYS.items())[number::2]))
    # As Keras writes it: the shard of a layer, or a list if they are several.
    weight_map = {"/layers/dense/vars": shards, "/layers/dense_1/vars": shards[0], "/optimizer/vars": shards[1]}
    index = tmp_path / "model.weights.json"
    files.write_json(str(index), {"metadata": {"total_size": 36}, "weight_map": weight_map})
    _assert_same(read_sharded_weights(str(index)), ARRAYS)

    (tmp_path / shards[1]).unlink()
    with pytest.raises(InputError, match=f"{shards[1]}: this shard is missing, which model.weights.json names"):
        read_sharded_weights(str(index))
    files.write_json(str(index), {})
    assert _refusal(read_sharded_weights, index).startswith("has no `weight_map`")


def test_json_that_is_none_is_named(tmp_path):
    path = tmp_path / "config.json"
    for contents, message in (
        (b"{", "not JSON: "),
        (b"\xff", "not JSON: "),
        (b"[]", "a JSON object was expected; this is a list"),
    ):
        path.write_bytes(contents)
        assert _refusal(files.read_json, path).startswith(message)


def test_objects_are_described_as_keras_does():
    assert serialized("AlbertMaskedLMPreprocessor", sequence_length=8) == {
        "module": "keras_hub.src.models.albert.albert_masked_lm_preprocessor",
        "class_name": "AlbertMaskedLMPreprocessor",
        "config": {"name": "albert_masked_lm_preprocessor", "sequence_length": 8},
        "registered_name": "keras_hub>AlbertMaskedLMPreprocessor",
    }
    assert json.loads(json.dumps(serialized("AlbertBackbone")))["config"] == {"name": "albert_backbone"}
