"""Outputs that appear whole or not at all, here and on a remote file system (TensorFlow's in-memory one).

Killed before any operation on files, the old or the new output is there, and the next writer leaves nothing of it.
"""

import errno
import os
import stat
import subprocess
import sys

import pytest

from albert_tf.runtime import files, folder_exchange, temporaries
from albert_tf.runtime.errors import InputError


@pytest.fixture(params=["local", "remote"])
def path(request, tmp_path):
    """The path where a folder is to appear."""
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


def test_a_new_folder_that_another_process_took_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    path = str(tmp_path / "output")
    usual, taken = os.open, []

    def open_late(name, *arguments, **more):
        if not taken and str(name).endswith(".tmp"):
            taken.append(name)
            temporaries.remove_leftovers(str(tmp_path))
        return usual(name, *arguments, **more)

    monkeypatch.setattr(temporaries.os, "open", open_late)
    with files.replace_folder(path) as temporary:
        _write(temporary, "file", b"here")
    assert taken and taken[0] != temporary
    assert os.listdir(tmp_path) == ["output"]


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


def test_what_is_not_there_is_pythons_error_on_other_file_systems_too(tmp_path):
    for scheme in ("", "file://"):
        with pytest.raises(FileNotFoundError):
            files.read_json(f"{scheme}{tmp_path}/nothing.json")


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


def _hidden(folder) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def _write_folder(path: str, text: bytes) -> None:
    with files.replace_folder(path) as temporary:
        for name in ("first", "inner/second"):
            _write(temporary, name, text)


def _read_folder(path: str) -> set[bytes]:
    found = set()
    for name in ("first", "inner/second"):
        with files.open_binary(f"{path}/{name}") as file:
            found.add(file.read())
    return found


@pytest.mark.faults
def test_a_file_is_the_old_or_the_new_one_wherever_its_writer_is_killed(tmp_path, kill_before_each_operation):
    path, left, written = str(tmp_path / "file"), 0, []
    files.write_json(path, {"value": 0})
    for count in kill_before_each_operation(lambda: files.write_json(path, {"value": 1})):
        written.append(files.read_json(path)["value"])
        left += bool(_hidden(tmp_path))
        # The next one to write anything there clears up.
        files.write_json(str(tmp_path / "other"), {})
        assert _hidden(tmp_path) == [], count
    assert left
    assert written == [0] * len(written)
    assert files.read_json(path) == {"value": 1}


@pytest.mark.faults
@pytest.mark.parametrize("exchanges", [True, False])
def test_a_folder_is_the_old_or_the_new_one_wherever_its_writer_is_killed(
    tmp_path, exchanges, monkeypatch, kill_before_each_operation
):
    path, absent, seen = str(tmp_path / "folder"), 0, []
    if not exchanges:
        monkeypatch.setattr(folder_exchange, "exchange", lambda first, second: False)
    _write_folder(path, b"0")
    new = 1
    for count in kill_before_each_operation(lambda: _write_folder(path, b"%d" % new)):
        absent += not os.path.exists(path)
        files.recover(path)
        assert _hidden(tmp_path) == [], count
        (found,) = _read_folder(path)
        assert found in (b"%d" % (new - 1), b"%d" % new), count
        seen.append(found)
        new = int(found) + 1
    assert _read_folder(path) == {b"%d" % new}
    # Both were seen: kills before the new one was there, and after.
    assert b"0" in seen
    assert len(set(seen)) > 1
    assert absent == (0 if exchanges else 1)


def test_a_folder_changes_in_one_step(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not folder_exchange.exchange(str(tmp_path / "first"), str(tmp_path / "second")):
        pytest.skip("this file system cannot exchange two names")
    assert os.listdir(tmp_path / "first") == ["second"]
    with pytest.raises(FileNotFoundError):
        folder_exchange.exchange(str(tmp_path / "first"), str(tmp_path / "none"))


def test_a_folder_takes_no_other_files_place(tmp_path):
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(NotADirectoryError), files.replace_folder(str(tmp_path / "folder")):
        pass
    assert os.listdir(tmp_path) == ["folder"]
    assert (tmp_path / "folder").read_text() == "a file"


def test_a_link_to_a_folder_stays_one(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "folder")
    _write_folder(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert _read_folder(str(tmp_path / "there" / "folder")) == {b"new"}
    assert os.listdir(tmp_path / "there") == ["folder"]


@pytest.mark.parametrize("kind", ["link", "file", "folder"])
def test_what_has_a_temporary_name_already_is_never_opened(tmp_path, monkeypatch, kind):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    tokens = iter(["a" * 16, "b" * 16])
    monkeypatch.setattr(temporaries.secrets, "token_hex", lambda count: next(tokens))
    planted = tmp_path / f".output.albert_tf-{'a' * 16}.tmp"
    {"link": lambda: planted.symlink_to(victim), "file": planted.touch, "folder": planted.mkdir}[kind]()
    monkeypatch.setattr(temporaries, "remove_leftovers", lambda folder: None)
    with pytest.raises(FileExistsError):
        files.write_json(str(tmp_path / "output"), {"overwritten": True})
    assert victim.read_text() == "precious"
    assert not (tmp_path / "output").exists()


def test_temporary_names_differ_and_hide(tmp_path):
    names = {os.path.basename(temporaries.name_beside(str(tmp_path / ("x" * 300)))) for _ in range(100)}
    assert len(names) == 100
    assert all(name.startswith(".") and len(name) < 255 for name in names)


@pytest.mark.parametrize(("function", "replace"), [("open", files.replace_file), ("mkdir", files.replace_folder)])
def test_what_may_not_be_written_is_told_by_its_own_name(tmp_path, monkeypatch, function, replace):
    def refuse(path, *_):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    path = str(tmp_path / "output")
    monkeypatch.setattr(temporaries.os, function, refuse)
    with pytest.raises(PermissionError) as raised, replace(path):
        pass
    assert raised.value.filename == path


def test_rights_are_those_of_any_new_file_and_folder(tmp_path):
    before = os.umask(0o027)
    try:
        with files.replace_folder(str(tmp_path / "folder")) as temporary:
            # While it is made nobody else can plant anything there.
            assert stat.S_IMODE(os.stat(temporary).st_mode) == 0o700
            _write(temporary, "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "folder/file").stat().st_mode) == 0o640


_HOLDER = """
import sys
from albert_tf.runtime import files
with files.replace_file(sys.argv[1]) as file, files.replace_folder(sys.argv[2]) as folder:
    file.write(b"begun")
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_what_a_living_process_writes_is_left_alone_and_what_a_dead_one_left_is_not(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path / "file"), str(tmp_path / "folder")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout.readline()
    _write(str(tmp_path), "other", b"")
    assert len(_hidden(tmp_path)) == 2
    holder.kill()
    holder.communicate()
    _write(str(tmp_path), "other", b"")
    assert os.listdir(tmp_path) == ["other"]


def test_only_what_is_named_like_ours_is_removed(tmp_path):
    others = {".file.1234.tmp", "file.albert_tf-0123456789abcdef.tmp", ".file.albert_tf-0123.tmp", ".hidden"}
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".link.albert_tf-0123456789abcdef.tmp").symlink_to(tmp_path / ".hidden")
    temporaries.remove_leftovers(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == others | {".link.albert_tf-0123456789abcdef.tmp"}


def test_a_huge_file_is_no_json(tmp_path):
    with open(tmp_path / "huge.json", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="huge.json: larger than 64 MiB"):
        files.read_json(str(tmp_path / "huge.json"))


def test_a_file_of_several_names_is_listed_once_by_its_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "bca":
        (tmp_path / name).write_text("same text")
    (tmp_path / "link").symlink_to("c")
    assert files.list_files(f"./b,link,b,{tmp_path}/a,*") == ["./b", "link", f"{tmp_path}/a"]
    for name in ("z", "y"):
        _write(f"ram://{tmp_path.name}", name, b"text")
    remote = f"ram://{tmp_path.name}"
    assert files.list_files(f"{remote}/z,{remote}/*") == [f"{remote}/z", f"{remote}/y"]
