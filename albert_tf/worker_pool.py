"""Workers for a stream of tasks: processes that end with the main process, however that ends, or a Dask cluster."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from typing import Any

from albert_tf.errors import InputError

# Tasks handed out beyond those at work: enough that no process waits, few enough to bound memory.
_TASKS_AHEAD = 2
_SECONDS_TO_CONNECT = 10

_shared: Any = None


def count_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerPool:
    """Runs functions on tasks: in processes, on a Dask cluster, or right here; a context manager."""

    def __init__(self, count: int, shared: Any, dask_scheduler: str | None = None):
        """Nothing starts before the first task.

        Args:
            count: how many processes; with one, and on a cluster, none is started.
            shared: first argument of every function; sent to each worker once.
            dask_scheduler: address of a Dask scheduler, as in "tcp://host:8786"; its workers work instead.
        """
        self._count, self._shared, self._dask_scheduler = count, shared, dask_scheduler
        self._executor: futures.ProcessPoolExecutor | None = None
        self._client = None
        self._submit: Callable[[Callable, tuple], Any] | None = None

    def __enter__(self) -> "WorkerPool":
        if self._dask_scheduler is not None:
            self._client = _connect_to_dask(self._dask_scheduler)
            self._count = sum(self._client.nthreads().values())
            shared = self._client.scatter(self._shared, broadcast=True)
            self._submit = lambda function, task: self._client.submit(_apply, function, shared, task, pure=False)
        elif self._count > 1:
            # A fresh interpreter: no thread, lock or flag of this process is copied.
            self._executor = futures.ProcessPoolExecutor(
                self._count,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_start_worker,
                initargs=(self._shared,),
            )
            self._submit = lambda function, task: self._executor.submit(_call, function, task)
        return self

    def __exit__(self, *_) -> None:
        if self._client is not None:
            self._client.close()
        if self._executor is None:
            return
        # After an error too the workers finish the tasks they hold: to kill one while a task is on its way to it
        # leaves the thread that sends the task waiting for a reader, and this process waiting for the thread.
        self._executor.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable, tasks: Iterable[tuple]) -> Iterator:
        """Yields function(shared, *task) of each task, in order; tasks are taken as there is work for them.

        Raises:
            InputError: a worker was killed.
        """
        if self._submit is None:
            for task in tasks:
                yield function(self._shared, *task)
            return
        tasks, waiting = iter(tasks), []
        try:
            while True:
                while len(waiting) < self._count + _TASKS_AHEAD and (task := next(tasks, None)) is not None:
                    waiting.append(self._submit(function, task))
                if not waiting:
                    return
                yield waiting.pop(0).result()
        except futures.process.BrokenProcessPool:
            raise InputError(
                "a worker process was killed, most likely for want of memory; run it again with fewer --num_workers"
            ) from None


def _connect_to_dask(address: str):
    """A client of the scheduler at an address."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("--dask_scheduler needs the extra dask: pip install 'albert_tf[dask]'") from None
    try:
        client = Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        raise InputError(f"--dask_scheduler: no Dask scheduler answers at {address}: {error}") from None
    if not client.nthreads():
        client.close()
        raise InputError(f"--dask_scheduler: the scheduler at {address} has no workers; start some with `dask worker`")
    return client


@contextlib.contextmanager
def end_on_terminate() -> Iterator[Callable[[], None]]:
    """Turns SIGTERM into SystemExit in the main thread, so that what was begun is cleaned up.

    Yields:
        A function to call now and then. Python drops an exception that arises in a finalizer, where a signal may
        well come; the function raises it again.
    """
    received: list[int] = []

    def check() -> None:
        if received:
            raise SystemExit(128 + received[0])

    if threading.current_thread() is not threading.main_thread():
        yield check
        return

    def end(number: int, _) -> None:
        received.append(number)
        check()

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield check
    finally:
        signal.signal(signal.SIGTERM, before)


def _call(function: Callable, task: tuple) -> Any:
    return function(_shared, *task)


def _apply(function: Callable, shared: Any, task: tuple) -> Any:
    return function(shared, *task)


def _start_worker(shared: Any) -> None:
    """Readies a process: Ctrl-C is the main process's affair, and without that one there is nothing to do."""
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main_process = multiprocessing.parent_process()

    def end_with_main_process() -> None:
        main_process.join()
        os._exit(1)

    threading.Thread(target=end_with_main_process, daemon=True).start()
