"""Files of weights as transformers leaves them: which one is read, shards, types of numbers, what is refused."""

import json
import sys

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.conversion.hugging_face_files import find_weights, read_weights, write_safetensors
from albert_tf.runtime.errors import InputError

WEIGHTS = "model.safetensors"
INDEX = f"{WEIGHTS}.index.json"
ARRAYS = {name: np.arange(6, dtype="float32").reshape(2, 3) + place for place, name in enumerate("abcd")}


@pytest.fixture
def folder(tmp_path):
    """A folder with ARRAYS in a safetensors file."""
    write_safetensors(str(tmp_path / WEIGHTS), ARRAYS)
    return tmp_path


def _read(path):
    return read_weights(find_weights(str(path)))


def _is_arrays(read):
    return set(read) == set(ARRAYS) and all(np.array_equal(read[name], array) for name, array in ARRAYS.items())


def _refused(path, match):
    with pytest.raises(InputError, match=match) as error:
        _read(path)
    assert "\n" not in str(error.value)


def test_a_folder_or_the_file_itself_may_be_named(folder):
    assert _is_arrays(_read(folder))
    assert _is_arrays(_read(folder / WEIGHTS))
    (folder / WEIGHTS).rename(folder / "other.safetensors")
    assert _is_arrays(_read(folder / "other.safetensors"))
    assert find_weights(str(folder)) is None
    assert find_weights(str(folder / WEIGHTS)) is None


def test_a_matrix_in_another_order_of_memory_is_written_as_what_it_is(tmp_path):
    turned = {name: np.asfortranarray(array) for name, array in ARRAYS.items()}
    write_safetensors(str(tmp_path / WEIGHTS), turned)
    assert _is_arrays(_read(tmp_path))


def test_safetensors_go_before_a_bin_file_which_needs_torch(folder, monkeypatch):
    (folder / "pytorch_model.bin").write_bytes(b"")
    assert _is_arrays(_read(folder))
    monkeypatch.setitem(sys.modules, "torch", None)
    _refused(
        folder / "pytorch_model.bin", "reading a .bin needs torch: pip install torch, or save the model as model.sa"
    )


@pytest.mark.parametrize(
    "dtype, code",
    [
        *((np.float16, "F16"), (tf.bfloat16.as_numpy_dtype, "BF16"), (np.float64, "F64")),
        *((bool, "BOOL"), (np.int64, "I64")),
    ],
)
def test_numbers_of_every_type_are_read_as_they_are(tmp_path, dtype, code):
    array = np.array([[0, 1.5, -2]]).astype(dtype)
    header = json.dumps({"a": {"dtype": code, "shape": array.shape, "data_offsets": [0, array.nbytes]}}).encode()
    (tmp_path / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header + array.tobytes())
    read = _read(tmp_path)["a"]
    assert read.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(read, array)


def test_numbers_of_an_unknown_type_are_refused(tmp_path):
    header = json.dumps({"a": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
    (tmp_path / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header + bytes(2))
    _refused(tmp_path, r"tensors of a type that is not read here: a \(F8_E4M3\)")


@pytest.fixture
def sharded(folder):
    """The folder with two shards, and what its index says."""
    (folder / WEIGHTS).unlink()
    shard_of = {name: f"model-0000{1 + (name > 'a')}-of-00002.safetensors" for name in ARRAYS}
    for shard in set(shard_of.values()):
        write_safetensors(str(folder / shard), {name: ARRAYS[name] for name in ARRAYS if shard_of[name] == shard})
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": 96}, "weight_map": shard_of}))
    return folder, shard_of


def test_shards_are_read_as_one(sharded):
    folder, _ = sharded
    assert _is_arrays(_read(folder))
    assert _is_arrays(_read(folder / INDEX))


def test_an_incomplete_set_of_shards_is_refused(sharded):
    folder, shard_of = sharded
    (folder / INDEX).write_text(json.dumps({"weight_map": shard_of | {"lost": shard_of["a"]}}))
    _refused(folder, f"{shard_of['a']}: lacks lost, which {INDEX} says is there")
    (folder / shard_of["b"]).unlink()
    (folder / INDEX).write_text(json.dumps({"weight_map": shard_of}))
    _refused(folder, f"{shard_of['b']}: this shard is missing, which {INDEX} names")


@pytest.mark.parametrize(
    "contents, match",
    [
        ("{", "not JSON: "),
        ("[]", "a JSON object was expected; this is a list"),
        ('{"metadata": {}}', "no `weight_map` from names of tensors to files"),
        ('{"weight_map": {"a": 1}}', "no `weight_map` from names of tensors to files"),
    ],
)
def test_a_damaged_index_is_refused(sharded, contents, match):
    folder, _ = sharded
    (folder / INDEX).write_text(contents)
    _refused(folder, f"{INDEX}: {match}")


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda data: data[:-10], "damaged, no safetensors file: "),
        (lambda data: data[:5], "damaged, no safetensors file: "),
        (lambda data: b"", "damaged, no safetensors file: "),
        (lambda data: data[:8] + b"x" * 50 + data[58:], "damaged, no safetensors file: "),
        (lambda data: b"\xff" * 8 + data[8:], "damaged, no safetensors file: "),
        (lambda data: b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer in place of the weights"),
    ],
    ids=["truncated", "stump", "empty", "garbage", "endless header", "LFS pointer"],
)
def test_a_damaged_file_is_refused(folder, change, match):
    (folder / WEIGHTS).write_bytes(change((folder / WEIGHTS).read_bytes()))
    _refused(folder, f"{WEIGHTS}: {match}")


def test_weights_of_other_frameworks_are_refused(folder):
    (folder / WEIGHTS).rename(folder / "tf_model.h5")
    _refused(folder, "tf_model.h5: weights of TensorFlow or Flax; transformers 4 reads them with from_tf=True")
