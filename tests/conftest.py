"""Fixtures that every test file may use."""

import logging
import os
import random
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from absl import logging as absl_logging

from albert_tf.runtime.errors import InputError

_FILE_OPERATIONS = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "open", "shutil.rmtree")
_KILLED, _FAILED = 77, 78
_SHARED = Path(__file__).resolve().parents[2] / "shared"


_ONE_PROCESS = ("tests/albert_tf/exports/", "tests/albert_tf/rows/", "tests/albert_tf/serving/")
_LOGGERS = (absl_logging.get_absl_logger(), logging.getLogger())
_LEVELS = tuple(logger.level for logger in _LOGGERS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Sends the tests of a file to one process, and so all that use the one SavedModel, which takes long to make."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return _ONE_PROCESS[0] if file.startswith(_ONE_PROCESS) else file

    return ByFile(config, log)


@pytest.fixture(autouse=True)
def _same_start() -> None:
    """Starts every test with the same random numbers, and with the log levels of a fresh process. Parsing a command's
    flags, even in a fixture that several tests share, changes those levels for the whole process.

    Keras draws its seeds from Python's generator. TensorFlow's is left alone, for to seed it is to throw away all
    kernels, a sixth of the time of tests that compute: random_numbers_test.py sees that nothing draws from it.
    """
    for logger, level in zip(_LOGGERS, _LEVELS):
        logger.setLevel(level)
    # As in a command, whose flags the messages name.
    InputError.in_command = True
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference vectors and real text beside the checkout; absent, the test skips."""
    if not _SHARED.is_dir():
        pytest.skip("reference data (../shared) is not beside this checkout")
    return _SHARED


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 8 MB: room for a little, not for all."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def kill_before_each_operation():
    """A function that calls a given function again and again, in processes killed before their first operation on
    files, their second, and so on. It yields the number of operations before each kill, until a process is not killed.
    """

    def kill(function: Callable[[], None]) -> Iterator[int]:
        count = 0
        while _is_killed_after(count, function):
            yield count
            count += 1

    return kill


def _is_killed_after(allowed: int, function: Callable[[], None]) -> bool:
    child = os.fork()
    if child == 0:
        done = 0

        def count(event, _):
            nonlocal done
            if event in _FILE_OPERATIONS:
                if done == allowed:
                    os._exit(_KILLED)
                done += 1

        sys.addaudithook(count)
        try:
            function()
        except BaseException:
            traceback.print_exc()
            os._exit(_FAILED)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, _KILLED)
    return code == _KILLED
