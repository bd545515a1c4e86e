"""Worker processes that are killed while they start, read a task, work, or write a result, against calls made here."""

import os
import random
import signal
import threading
import time

import pytest
from worker_processes import kill_process, worker_processes

from albert_tf.runtime import process_executor
from albert_tf.runtime.process_executor import ProcessExecutor, WorkerKilled
from albert_tf.runtime.worker_pool import WorkerPool

# Many times what a pipe holds: who reads it or writes it can be killed in the middle.
LARGE = 4_000_000


def _pid(_):
    return os.getpid()


def _sleep(_, seconds):
    time.sleep(seconds)


def _answer_at_length(shared, number, text):
    return shared + number, text


def _end_over_odd_numbers(_, number):
    return os._exit(1) if number % 2 else number


def _raise_an_exception_that_cannot_be_pickled(_):
    class Odd(Exception):
        pass

    raise Odd("what it says")


def _is_gone(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_worker_killed_while_a_task_is_on_its_way_to_it_is_replaced():
    with ProcessExecutor(1, 0) as executor:
        worker = executor.submit(_pid).result()
        os.kill(worker, signal.SIGSTOP)
        # The pipe is full before the worker has read any of it.
        future = executor.submit(_answer_at_length, 1, "x" * LARGE)
        time.sleep(0.1)
        assert not future.done()
        os.kill(worker, signal.SIGKILL)
        assert future.result(timeout=60) == (1, "x" * LARGE)
        assert executor.submit(_pid).result() != worker


@pytest.mark.faults
def test_workers_killed_at_random_moments_lose_nothing(monkeypatch):
    # On a busy machine chance kills three workers over one task, which would be given up.
    monkeypatch.setattr(process_executor, "_ATTEMPTS", 30)
    rng, kills = random.Random(0), []
    with WorkerPool(3, 100) as pool:
        tasks = ((number, "x" * LARGE) for number in range(60))
        answers = pool.map(_answer_at_length, tasks, lambda task: f"task {task[0]}")
        for number, (answer, text) in enumerate(answers):
            assert (answer, len(text)) == (100 + number, LARGE)
            if number % 3 == 0 and (workers := worker_processes(os.getpid())):
                time.sleep(rng.uniform(0, 0.05))
                worker = rng.choice(workers)
                if kill_process(worker):
                    kills.append(worker)
    assert len(set(kills)) > 10
    assert not worker_processes(os.getpid())


def test_one_task_that_ends_every_worker_fails_alone():
    with ProcessExecutor(2, None) as executor:
        made = [executor.submit(_end_over_odd_numbers, number) for number in range(4)]
        assert [made[number].result() for number in (0, 2)] == [0, 2]
        for number in (1, 3):
            with pytest.raises(WorkerKilled):
                made[number].result()


def test_an_exception_comes_with_its_place_in_the_worker():
    with ProcessExecutor(1, "no number") as executor:
        with pytest.raises(TypeError) as error:
            executor.submit(_answer_at_length, 1, "").result()
        assert "_answer_at_length" in str(error.value.__cause__)
        with pytest.raises(RuntimeError, match="what it says"):
            executor.submit(_raise_an_exception_that_cannot_be_pickled).result()


def test_shutting_down_cancels_what_has_not_begun_and_leaves_no_process():
    executor = ProcessExecutor(1, None)
    worker = executor.submit(_pid).result()
    begun, waiting = executor.submit(_sleep, 0.3), executor.submit(_pid)
    while not begun.running():
        time.sleep(0.01)
    executor.shutdown(cancel_futures=True)
    assert begun.done()
    assert waiting.cancelled()
    assert _is_gone(worker)
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(_pid)


@pytest.fixture
def ctrl_c():
    """Lets Ctrl-C raise KeyboardInterrupt, also where tests run in the background, which ignores it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.parametrize("starts", [1, 2])
@pytest.mark.parametrize("moment", ["before", "within", "held"])
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_a_worker_starts_ends_all(monkeypatch, starts, moment):
    start, started = threading.Thread.start, []

    def start_at_ctrl_c(thread):
        # The last thread's start is cut off at its beginning, or at its end, where another thread of the process took
        # the signal; or else the signal is the main thread's own, and waits until it is let go.
        started.append(thread)
        last = len(started) == starts
        if last and moment == "before":
            raise KeyboardInterrupt
        start(thread)
        if last and moment == "within":
            raise KeyboardInterrupt
        if last:
            # A signal to the process, as os.kill sends it, is any thread's, and comes whenever that one is awake.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    executor = ProcessExecutor(2, None)
    with monkeypatch.context() as patch:
        patch.setattr("albert_tf.runtime.process_executor.threading.Thread.start", start_at_ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            for seconds in (1, 0):
                executor.submit(_sleep, seconds)
    end = threading.Thread(target=executor.shutdown, kwargs={"cancel_futures": True}, daemon=True)
    end.start()
    end.join(60)
    assert not end.is_alive()
    assert not worker_processes(os.getpid())
