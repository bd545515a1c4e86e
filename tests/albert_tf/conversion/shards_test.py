"""Indexes that name a file which is no shard, in both formats that have indexes: one line, and nothing is read."""

import json
import os
import re

import pytest

from albert_tf.conversion import hugging_face_files, keras_hub_files
from albert_tf.conversion.shards import check_sizes, shard_paths
from albert_tf.runtime.errors import InputError

SAFETENSORS, TORCH, KERAS = "model.safetensors.index.json", "pytorch_model.bin.index.json", "model.weights.json"
_READERS = {
    SAFETENSORS: hugging_face_files.read_weights,
    TORCH: hugging_face_files.read_weights,
    KERAS: keras_hub_files.read_sharded_weights,
}
_SUFFIXES = {SAFETENSORS: ".safetensors", TORCH: ".bin", KERAS: ".weights.h5"}


@pytest.fixture(params=_READERS)
def index(request, tmp_path):
    """The path of an index, in a folder beside which there is a file of weights."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / f"outside{_SUFFIXES[request.param]}").write_bytes(b"secret")
    return folder / request.param


def _refusal(index, name) -> str:
    index.write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(InputError) as error:
        _READERS[index.name](str(index))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        *("../outside{suffix}", "{folder}/../outside{suffix}", "/etc/passwd", "/dev/zero", ".", "..", "", "{suffix}"),
        *("x/../../outside{suffix}", "gs://bucket/x{suffix}", "a\0{suffix}", "{index}", "other"),
        "..\\outside{suffix}",
    ],
)
def test_a_name_that_leads_elsewhere_is_no_shard(index, name):
    name = name.format(suffix=_SUFFIXES[index.name], folder=index.parent, index=index.name)
    assert "as a shard; a shard is a file in the same folder" in _refusal(index, name)


@pytest.mark.parametrize("name", [None, 1, {"a": 1}, [["a"]], [{}]])
def test_what_is_no_name_is_refused(index, name):
    assert re.search("as a shard|no `weight_map`", _refusal(index, name))


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "huge", "missing", "dangling"])
def test_a_shard_is_a_file_that_fits_into_memory(index, kind):
    name = f"model-1{_SUFFIXES[index.name]}"
    shard = index.parent / name
    if kind == "device":
        shard.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(shard)
    elif kind == "folder":
        shard.mkdir()
    elif kind == "huge":
        with shard.open("wb") as file:
            file.truncate(1 << 43)
    elif kind == "dangling":
        shard.symlink_to("nowhere")
    expected = {
        "huge": "more than this machine's memory",
        "missing": "shard is missing",
        "dangling": "shard is missing",
    }
    assert expected.get(kind, f"is a {kind}") in _refusal(index, name)
    # As the only file of weights, too.
    if kind in ("device", "pipe", "huge"):
        with pytest.raises(InputError):
            (keras_hub_files if index.name == KERAS else hugging_face_files).read_weights(str(shard))


def test_shards_are_linked_to_as_the_hub_does(tmp_path):
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "0123").write_bytes(b"weights")
    (tmp_path / "snapshot").mkdir()
    shard = tmp_path / "snapshot" / "model-1.safetensors"
    shard.symlink_to("../blobs/0123")
    paths = shard_paths(str(tmp_path / "snapshot" / SAFETENSORS), ["model-1.safetensors"], (".safetensors",))
    assert paths == {"model-1.safetensors": str(shard)}


def test_sizes_count_together(tmp_path):
    paths = []
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for number in range(3):
        paths.append(str(tmp_path / str(number)))
        with open(paths[-1], "wb") as file:
            file.truncate(memory // 2 - 1)
    check_sizes(paths[:2])
    with pytest.raises(InputError, match="0 and the other shards have"):
        check_sizes(paths)
