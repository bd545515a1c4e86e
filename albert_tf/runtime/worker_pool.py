"""Workers for a stream of tasks: processes that end with the main process, however that ends, or a Dask cluster."""

import collections
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from albert_tf.runtime.errors import InputError, WorkersKilledError
from albert_tf.runtime.process_executor import ProcessExecutor, WorkerKilled

# Tasks handed out beyond those at work: enough that no process waits, few enough to bound memory.
_TASKS_AHEAD = 2
_SECONDS_TO_CONNECT = 10


def count_cores() -> int:
    """Number of cores that this process may use."""
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
        self._executor: ProcessExecutor | None = None
        self._client = None
        self._submit: Callable[..., Any] | None = None

    def __enter__(self) -> "WorkerPool":
        if self._dask_scheduler is not None:
            self._client = _connect_to_dask(self._dask_scheduler)
            self._count = sum(self._client.nthreads().values())
            shared = self._client.scatter(self._shared, broadcast=True)
            self._submit = lambda function, *task: self._client.submit(_apply, function, shared, task, pure=False)
        elif self._count > 1:
            self._executor = ProcessExecutor(self._count, self._shared)
            self._submit = self._executor.submit
        return self

    def __exit__(self, *_) -> None:
        if self._client is not None:
            self._client.close()
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def map(self, function: Callable, tasks: Iterable[tuple], describe: Callable[[tuple], str] = str) -> Iterator:
        """Yields function(shared, *task) of each task, in order; tasks are taken as there is work for them.

        If a worker dies, its task is done again by another.

        Args:
            function: can be pickled.
            tasks: its arguments.
            describe: names a task, for the error.

        Raises:
            WorkersKilledError: workers died over the same task again and again.
        """
        if self._submit is None:
            for task in tasks:
                yield function(self._shared, *task)
            return
        tasks, waiting = iter(tasks), collections.deque()
        while True:
            while len(waiting) < self._count + _TASKS_AHEAD and (task := next(tasks, None)) is not None:
                waiting.append((task, self._submit(function, *task)))
            if not waiting:
                return
            task, future = waiting.popleft()
            try:
                result = future.result()
            except Exception as error:
                # KilledWorker is Dask's.
                if isinstance(error, WorkerKilled) or type(error).__name__ == "KilledWorker":
                    raise WorkersKilledError(_describe_death(describe(task))) from None
                raise
            yield result


def _describe_death(task: str) -> str:
    return (
        f"worker processes were killed again and again over {task}, most likely for want of memory; run it again "
        "with fewer --num_workers"
    )


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


def _apply(function: Callable, shared: Any, task: tuple) -> Any:
    return function(shared, *task)
