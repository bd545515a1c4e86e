"""Folders that appear whole or not at all, here and on a remote file system (TensorFlow's in-memory one)."""

import os

import pytest

from albert_tf import files
from albert_tf.errors import InputError


@pytest.fixture(params=["local", "remote"])
def path(request, tmp_path):
    """Where a folder is to appear."""
    return str(tmp_path / "folder") if request.param == "local" else f"ram://{tmp_path.name}/folder"


def _write(folder: str, name: str, text: bytes) -> None:
    with files.replace_file(f"{folder}/{name}") as file:
        file.write(text)


def test_a_folder_appears_with_all_it_holds(path):
    with files.replace_folder(f"{path}/") as temporary:
        _write(temporary, "inner/file", b"first")
        assert not files.exists(path)
    with files.open_binary(f"{path}/inner/file") as file:
        assert file.read() == b"first"
    assert files.list_folder(path.rpartition("/")[0]) == ["folder"]


def test_a_folder_takes_the_place_of_another_as_a_whole(path):
    for name in ("old", "new"):
        with files.replace_folder(path) as temporary:
            _write(temporary, name, b"")
    assert files.list_folder(path) == ["new"]
    assert files.list_folder(path.rpartition("/")[0]) == ["folder"]


def test_an_error_leaves_things_as_they_were(path):
    with files.replace_folder(path) as temporary:
        _write(temporary, "old", b"")
    with pytest.raises(ValueError, match="stop"), files.replace_folder(path) as temporary:
        _write(temporary, "new", b"")
        raise ValueError("stop")
    assert files.list_folder(path) == ["old"]
    assert files.list_folder(path.rpartition("/")[0]) == ["folder"]


def test_json_objects_come_back(path):
    files.write_json(path, {"b": [1, "ä"], "a": None})
    assert files.read_json(path) == {"b": [1, "ä"], "a": None}
    with files.replace_file(path) as file:
        file.write(b"[1]")
    with pytest.raises(InputError, match="a JSON object was expected; this is a list"):
        files.read_json(path)


def test_a_pipe_or_a_device_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place, kind in ((tmp_path / "pipe", "pipe"), ("/dev/zero", "device")):
        with pytest.raises(InputError, match=f"{place} is a {kind}; give a file"):
            files.open_binary(str(place))


def test_a_folder_or_a_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, f"{tmp_path}/new/", tmp_path / "pipe"):
        with pytest.raises(InputError, match="is a folder or a device; name a file"), files.replace_file(str(place)):
            raise AssertionError("opened")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
    assert (tmp_path / "pipe").is_fifo()
