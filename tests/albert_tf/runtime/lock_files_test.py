"""Lock files: taken if nobody holds them, and removed while they are still locked."""

import errno
import fcntl
import os

import pytest

from albert_tf.runtime.lock_files import remove_lock_file, try_flock


def _locked(path):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def test_a_lock_file_goes_while_it_is_locked(tmp_path, monkeypatch):
    path, unlink, others = str(tmp_path / "lock"), os.unlink, []

    def unlink_and_ask(name):
        other = os.open(name, os.O_WRONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        others.append(other)
        unlink(name)

    monkeypatch.setattr(os, "unlink", unlink_and_ask)
    descriptor = _locked(path)
    remove_lock_file(path, descriptor)
    assert not os.path.exists(path)
    # Nobody holds it any more.
    fcntl.flock(others[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(others[0])
    with pytest.raises(OSError):
        os.fstat(descriptor)


def test_a_lock_file_that_is_gone_is_let_go_of(tmp_path):
    path = tmp_path / "lock"
    descriptor = _locked(str(path))
    path.unlink()
    remove_lock_file(str(path), descriptor)
    with pytest.raises(OSError):
        os.fstat(descriptor)


def test_a_file_that_somebody_holds_is_not_locked(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    holder, other = _locked(str(path)), os.open(path, os.O_RDWR)
    with pytest.raises(BlockingIOError):
        try_flock(other)
    os.close(holder)
    assert try_flock(other)

    def refuse(_, number):
        raise OSError(number, "no")

    monkeypatch.setattr(fcntl, "flock", lambda *_: refuse(_, errno.ENOLCK))
    assert not try_flock(other)
    monkeypatch.setattr(fcntl, "flock", lambda *_: refuse(_, errno.EIO))
    with pytest.raises(OSError, match="no"):
        try_flock(other)
    os.close(other)
