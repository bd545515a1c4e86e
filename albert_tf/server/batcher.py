"""One model's queue, and the thread that runs it: requests that come within a moment of each other run together."""

import collections
import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np
from absl import logging

from albert_tf.server.joining import Rows, explain_size, join, take_apart
from albert_tf.server.request_error import BUSY, FAULT, RequestError
from albert_tf.server.served_model import ServedModel

Answer = dict[str, np.ndarray]


class BatchLimits(NamedTuple):
    """Limits of a queue and of a batch."""

    # Rows of the encoder's input that run together, and of one request.
    max_sequences: int
    # Requests that may wait.
    max_requests: int
    # Seconds that the first of a batch waits for others.
    wait_s: float


@dataclasses.dataclass(frozen=True)
class _Waiting:
    rows: Rows
    future: "Future[Answer]"
    since: float


class Batcher:
    """The queue of a model, in the order of arrival, and its thread.

    Args:
        model: run by the thread alone.
        limits: see BatchLimits.
        observe: called after each run with the rows and the seconds that it took.
    """

    def __init__(
        self,
        model: ServedModel,
        limits: BatchLimits,
        observe: Callable[[int, float], None] = lambda rows, seconds: None,
    ):
        self._model, self._limits, self._observe = model, limits, observe
        self._waiting: collections.deque[_Waiting] = collections.deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="model", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._waiting)

    @property
    def is_alive(self) -> bool:
        """Tells whether requests are still run."""
        return self._thread.is_alive()

    @property
    def is_open(self) -> bool:
        """Tells whether new requests are taken."""
        return not self._closed

    def submit(self, rows: Rows) -> "Future[Answer]":
        """Puts a request into the queue. Whoever cancels the future takes it out, unless it runs already.

        Raises:
            RequestError: the request is too large, or the queue is full or closed.
        """
        if rows.sequences > self._limits.max_sequences:
            raise RequestError(
                f"{rows.sequences:,} rows at once; the server takes {self._limits.max_sequences:,} at most"
            )
        if (reason := explain_size([rows], self._model.vocab_size)) is not None:
            raise RequestError(reason)
        future: Future[Answer] = Future()
        with self._changed:
            if self._closed:
                raise RequestError("the server is about to stop", BUSY, retry_after=1)
            if len(self._waiting) >= self._limits.max_requests:
                # Those that were given up by their clients make room.
                self._waiting = collections.deque(one for one in self._waiting if not one.future.cancelled())
            if len(self._waiting) >= self._limits.max_requests:
                raise RequestError(f"{len(self._waiting)} requests wait already", BUSY, retry_after=1)
            self._waiting.append(_Waiting(rows, future, time.monotonic()))
            self._changed.notify()
        return future

    def close(self) -> None:
        """Answers what waits, takes nothing new, and ends the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next_batch():
            running = [one for one in batch if one.future.set_running_or_notify_cancel()]
            if running:
                self._answer(running)

    def _next_batch(self) -> list[_Waiting]:
        """The next requests that run together, once there are enough or the first has waited; none at the end."""
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return []
                self._changed.wait()
            until = self._waiting[0].since + self._limits.wait_s
            while True:
                batch = self._gather()
                sequences = sum(one.rows.sequences for one in batch)
                rest = until - time.monotonic()
                if rest <= 0 or self._closed or sequences >= self._limits.max_sequences or batch[0].rows.key is None:
                    break
                self._changed.wait(rest)
            taken = set(map(id, batch))
            self._waiting = collections.deque(one for one in self._waiting if id(one) not in taken)
            return batch

    def _gather(self) -> list[_Waiting]:
        """The first request and those after it that can run with it, in order, as many as fit."""
        first, *others = self._waiting
        batch, sequences = [first], first.rows.sequences
        if first.rows.key is None:
            return batch
        for one in others:
            together = sequences + one.rows.sequences
            if one.rows.key != first.rows.key or together > self._limits.max_sequences:
                continue
            if explain_size([*(each.rows for each in batch), one.rows], self._model.vocab_size) is None:
                batch.append(one)
                sequences = together
        return batch

    def _answer(self, batch: Sequence[_Waiting]) -> None:
        """Runs requests together; if that fails each by itself, so that the error of one is no other's."""
        parts = [one.rows for one in batch]
        start = time.monotonic()
        try:
            answers = take_apart(parts, self._model.run(parts[0].signature, join(parts)))
        except RequestError as error:
            self._retry_alone(batch, error)
        except Exception as error:
            logging.exception("%s: the signature %s failed", self._model.path, parts[0].signature)
            self._retry_alone(batch, RequestError(f"internal error ({type(error).__name__})", FAULT))
        else:
            self._observe(sum(part.count for part in parts), time.monotonic() - start)
            for one, answer in zip(batch, answers, strict=True):
                one.future.set_result(answer)

    def _retry_alone(self, batch: Sequence[_Waiting], error: RequestError) -> None:
        if len(batch) == 1:
            batch[0].future.set_exception(error)
            return
        for one in batch:
            self._answer([one])
