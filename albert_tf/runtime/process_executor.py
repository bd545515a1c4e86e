"""Worker processes, each at the end of a pipe of its own; one that is killed takes nothing with it.

The processes of concurrent.futures share a queue for tasks and one for results. One that is killed while it reads or
writes them leaves half a message behind, or a lock taken, and the others wait for the rest of it. Here a thread of the
main process speaks with each worker, through a pipe that nobody else holds: whatever the worker was doing when it
ended, the pipe ends with it, and who reads or writes at the other end learns of it.
"""

import contextlib
import functools
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent import futures
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from absl import logging

# How often a task is tried that workers are killed over.
_ATTEMPTS = 3

_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class WorkerKilled(Exception):
    """Processes were killed again and again over one task."""


class ProcessExecutor(futures.Executor):
    """Calls function(shared, *arguments) in processes, which end with the main process, however that ends."""

    def __init__(self, count: int, shared: Any):
        """Nothing starts before the first task.

        Args:
            count: how many processes.
            shared: first argument of every function; sent to each process once.
        """
        self._count, self._shared = count, pickle.dumps(shared)
        self._tasks: queue.SimpleQueue = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closed = self._given_up = False

    def submit(self, function: Callable, /, *arguments) -> futures.Future:
        """Has a worker call a function that can be pickled.

        Returns:
            What will hold its result, its exception, or WorkerKilled.

        Raises:
            RuntimeError: after shutdown.
        """
        if self._closed:
            raise RuntimeError("the processes have been shut down")
        future: futures.Future = futures.Future()
        self._tasks.put((future, pickle.dumps((function, arguments))))
        if len(self._threads) < self._count:
            # Python starts this process with its first worker otherwise, and then lets the signals of the thread go.
            resource_tracker.ensure_running()
            thread = threading.Thread(target=self._serve, daemon=True)
            with _signals_held():
                # Threads and processes begin with the signals held: Ctrl-C is the main thread's affair. One that waits
                # ends this function where they are let go: shutdown has to know the thread by then.
                self._threads.append(thread)
                thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes; each finishes the task that it holds, and the others unless they are cancelled."""
        self._closed = True
        if cancel_futures:
            self._given_up = True
            with contextlib.suppress(queue.Empty):
                while True:
                    self._tasks.get_nowait()[0].cancel()
        self._tasks.put(None)
        if wait:
            for thread in self._threads:
                # One that a signal kept from starting has nothing to end.
                if thread.ident is not None:
                    thread.join()

    def _serve(self) -> None:
        """Hands tasks to a worker, and to another if it is killed, until there are no more."""
        worker = None
        while (task := self._tasks.get()) is not None:
            future, call = task
            if not future.set_running_or_notify_cancel():
                continue
            for _ in range(_ATTEMPTS):
                try:
                    worker = worker or _Worker(self._shared)
                    succeeded, result = worker.call(call)
                    break
                except _PipeEnded:
                    worker = worker.end()
                    succeeded, result = False, WorkerKilled()
                    if self._given_up:
                        break
                    logging.warning("a worker process was killed; what it was doing is done again")
                except Exception as error:
                    succeeded, result = False, error
                    break
            (future.set_result if succeeded else future.set_exception)(result)
            # A thread that waits holds on to nothing.
            del task, future, call, result
        # There is one for all threads.
        self._tasks.put(None)
        if worker is not None:
            worker.end()


class _PipeEnded(Exception):
    """The process at the other end is no more."""


class _RemoteTraceback(Exception):
    """The place in a worker where an exception arose."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class _Worker:
    """A process and the only pipe to it."""

    def __init__(self, shared: bytes):
        # A fresh interpreter: no thread, lock or flag of this process is copied.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True)
        try:
            self._process.start()
        finally:
            # Were it open here too, the end of the process would not be the end of the pipe.
            theirs.close()
        self._unsent: bytes | None = shared

    def call(self, task: bytes) -> tuple[bool, Any]:
        """Has the process do a task; returns whether it succeeded, and the result or the exception.

        Raises:
            _PipeEnded: the process was killed.
        """
        try:
            if self._unsent is not None:
                self._pipe.send_bytes(self._unsent)
                self._unsent = None
            self._pipe.send_bytes(task)
            answer = self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise _PipeEnded from None
        succeeded, result, where = pickle.loads(answer)
        if not succeeded:
            result.__cause__ = _RemoteTraceback(where)
        return succeeded, result

    def end(self) -> None:
        """Ends the process, which has no task."""
        self._pipe.close()
        self._process.kill()
        self._process.join()


def _work(pipe: Connection) -> None:
    """Answers calls until the pipe ends: all that a process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING_SIGNALS)
    main_process = multiprocessing.parent_process()

    def end_with_main_process() -> None:
        main_process.join()
        os._exit(1)

    threading.Thread(target=end_with_main_process, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        load_shared = functools.cache(functools.partial(pickle.loads, pipe.recv_bytes()))
        while True:
            pipe.send_bytes(_answer(load_shared, pipe.recv_bytes()))


def _answer(load_shared: Callable[[], Any], task: bytes) -> bytes:
    try:
        function, arguments = pickle.loads(task)
        return pickle.dumps((True, function(load_shared(), *arguments), None))
    except Exception as error:
        where = traceback.format_exc()
        try:
            return pickle.dumps((False, error, where))
        except Exception:
            return pickle.dumps((False, RuntimeError(repr(error)), where))


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Lets Ctrl-C and SIGTERM wait until the block is through; threads started in it never get them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
