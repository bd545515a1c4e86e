"""The pool of workers when they are killed: the work is done again, or the task that kills them is named."""

import os
import signal
from pathlib import Path

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.worker_pool import WorkerPool


def test_a_worker_that_dies_over_a_task_again_and_again_is_named():
    with (
        pytest.raises(InputError, match=r"were killed again and again over \(7,\)"),
        WorkerPool(2, shared=9) as pool,
    ):
        list(pool.map(_die_at_7, [(number,) for number in range(10)]))


def test_what_a_worker_was_doing_when_it_was_killed_is_done_again(tmp_path):
    with WorkerPool(2, shared=str(tmp_path / "killed")) as pool:
        assert list(pool.map(_die_once_at_3, [(number,) for number in range(8)])) == [*range(8)]
    assert (tmp_path / "killed").exists()


def _die_at_7(_, number):
    return os._exit(1) if number == 7 else number


def _die_once_at_3(mark, number):
    if number == 3 and not os.path.exists(mark):
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number
