"""One run in a folder at a time: the error names the holder, a dead process holds nothing, with and without locks."""

import errno
import fcntl
import json
import os
import socket
import subprocess
import sys

import pytest
import tensorflow as tf

from albert_tf.runtime.errors import InputError, InUseError
from albert_tf.training.cluster import Cluster
from albert_tf.training.run_lock import LOCK_NAME, hold_for_all_workers, hold_run_lock

_HOLDER = """
import fcntl
import sys
from albert_tf.training import run_lock
if sys.argv[2] == "without locks":
    def refuse(*_):
        raise OSError(37, "No locks available")
    fcntl.flock = refuse
with run_lock.hold_run_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["with locks", "without locks"])
def locks(request, monkeypatch):
    """The two kinds of file system: those that can lock files, and those that cannot."""

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    if request.param == "without locks":
        monkeypatch.setattr(fcntl, "flock", refuse)
    return request.param


@pytest.fixture
def start_holder(locks):
    """A function that starts a process which holds a folder until it is killed."""
    processes = []

    def start(folder) -> subprocess.Popen:
        arguments = [sys.executable, "-c", _HOLDER, str(folder), locks]
        processes.append(subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert processes[-1].stdout.readline() == b"held\n"
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def _change_note(folder, **changes):
    path = folder / LOCK_NAME
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_folder_in_use_is_refused_and_a_dead_holders_is_taken_over(tmp_path, start_holder, caplog):
    holder = start_holder(tmp_path)
    with pytest.raises(InUseError) as error, hold_run_lock(str(tmp_path)):
        raise AssertionError("held by two")
    assert f"{tmp_path} is in use by process {holder.pid} on {socket.gethostname()} (" in str(error.value)
    assert "\n" not in str(error.value)
    assert (tmp_path / LOCK_NAME).exists()
    holder.kill()
    holder.communicate()
    with hold_run_lock(str(tmp_path)):
        assert json.loads((tmp_path / LOCK_NAME).read_text())["pid"] == str(os.getpid())
    assert f"taken over from process {holder.pid} on" in caplog.text
    assert os.listdir(tmp_path) == []


def test_another_process_of_the_same_number_is_not_the_holder(tmp_path, locks):
    with hold_run_lock(str(tmp_path)):
        note = (tmp_path / LOCK_NAME).read_text()
    # As if the process's number had been given again, the machine restarted, or the note were no process's.
    for changes in ({"started": "1"}, {"boot": "another"}, {"pid": "../self"}):
        (tmp_path / LOCK_NAME).write_text(note)
        _change_note(tmp_path, **changes)
        with hold_run_lock(str(tmp_path)):
            pass
    assert os.listdir(tmp_path) == []


def test_of_another_machine_only_a_lock_can_tell(tmp_path, locks):
    with hold_run_lock(str(tmp_path)):
        note = (tmp_path / LOCK_NAME).read_text()
    for changes in ({"host": "elsewhere"}, {"namespace": "pid:[1]"}):
        (tmp_path / LOCK_NAME).write_text(note)
        _change_note(tmp_path, **changes)
        if locks == "with locks":
            with hold_run_lock(str(tmp_path)):
                pass
            continue
        with pytest.raises(InputError, match=f"remove {tmp_path}/{LOCK_NAME}"), hold_run_lock(str(tmp_path)):
            pass


@pytest.mark.parametrize("contents", ["", "{", "[]", '{"pid": 1}', "\udcff", "{" * 100_000])
def test_a_note_that_nobody_can_read_keeps_nobody_out(tmp_path, contents):
    (tmp_path / LOCK_NAME).write_bytes(contents.encode("utf-8", "surrogateescape"))
    with hold_run_lock(str(tmp_path)):
        pass
    assert os.listdir(tmp_path) == []


def test_a_folder_that_was_made_for_nothing_goes_again(tmp_path):
    with pytest.raises(InputError, match="stop"), hold_run_lock(str(tmp_path / "new" / "run")):
        raise InputError("stop")
    assert os.listdir(tmp_path) == []
    with hold_run_lock(str(tmp_path / "new" / "run")):
        (tmp_path / "new" / "run" / "result").touch()
    assert os.listdir(tmp_path / "new" / "run") == ["result"]


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK_NAME).symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"), hold_run_lock(str(tmp_path / "run")):
        pass
    assert (tmp_path / "victim").read_text() == "precious"


class _Agreement:
    """The exchange between workers, with a given answer of the others."""

    def __init__(self, told: float):
        self.told, self.said = told, []

    def mean(self, value):
        self.said.append(value)
        return [max(value, self.told)]


def test_only_the_chief_locks_and_the_others_end_with_it(tmp_path):
    addresses = ("one:1", "two:2")
    chief, worker = Cluster(addresses, 0), Cluster(addresses, 1)
    with hold_for_all_workers(str(tmp_path), chief, _Agreement(0.0)):
        with hold_for_all_workers(str(tmp_path), worker, _Agreement(0.0)):
            assert os.listdir(tmp_path) == [LOCK_NAME]
        second = _Agreement(0.0)
        with (
            pytest.raises(InputError, match="is in use by process"),
            hold_for_all_workers(str(tmp_path), chief, second),
        ):
            pass
        assert second.said == [1.0]
        with (
            pytest.raises(InputError, match="the chief cannot have it"),
            hold_for_all_workers(str(tmp_path), worker, _Agreement(0.5)),
        ):
            pass


def test_a_remote_folder_has_no_lock():
    with hold_run_lock("ram://run"), hold_run_lock("ram://run"):
        assert not tf.io.gfile.exists(f"ram://run/{LOCK_NAME}")
