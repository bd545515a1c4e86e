"""Progress of a long job: a bar on a terminal, a line now and then in a log file."""

import sys
import time
from collections.abc import Callable

from absl import logging
from tqdm import tqdm

_SECONDS_BETWEEN_LINES = 10.0
_MEGABYTE = 1_000_000


class ByteProgress:
    """Counts bytes of input; use as a context manager.

    Example: `with ByteProgress(total, "splitting") as progress: progress.advance(4096)`.
    """

    def __init__(self, total: int, label: str):
        """Starts at zero.

        Args:
            total: bytes in all.
            label: what is being done to them.
        """
        self._total, self._label, self._done = total, label, 0
        self._started = self._last_line = time.monotonic()
        self._bar = None
        if sys.stderr.isatty():
            self._bar = tqdm(total=total, desc=label, unit="B", unit_scale=True)

    def advance(self, count: int) -> None:
        """Adds `count` bytes."""
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        elif time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            seconds = self._last_line - self._started
            rate = self._done / seconds
            logging.info(
                "%s: %.0f of %.0f MB, %.1f MB/s, %.0f s to go",
                *(self._label, self._done / _MEGABYTE, self._total / _MEGABYTE, rate / _MEGABYTE),
                max(0, self._total - self._done) / max(1.0, rate),
            )

    @property
    def remaining(self) -> int:
        """Number of bytes still to come."""
        return self._total - self._done

    def __enter__(self) -> "ByteProgress":
        return self

    def __exit__(self, *exception) -> None:
        if self._bar is not None:
            self._bar.close()


class RowProgress:
    """Counts rows of an input whose number of rows may not be known; use as a context manager.

    Example: `with RowProgress("predicting", share_read=lambda: 0.5) as progress: progress.advance(64)`.

    Attributes:
        rows: counted so far, without those of an earlier run.
    """

    def __init__(
        self, label: str, share_read: Callable[[], float] | None = None, done: int = 0, on_terminal: bool = True
    ):
        """Starts.

        Args:
            label: what is being done to them.
            share_read: tells how much of the input was read, from 0 to 1; None where nobody knows.
            done: rows that an earlier run has done; the input begins with them.
            on_terminal: whether a terminal may show a bar; not where it shows the results.
        """
        self.rows = 0
        self._label, self._share_read, self._done = label, share_read, done
        self._started = self._last_line = time.monotonic()
        self._share_at_start: float | None = None if done else 0.0
        self._bar = None
        if on_terminal and sys.stderr.isatty():
            self._bar = tqdm(total=None, initial=done, desc=label, unit="row", unit_scale=True)

    def begin(self) -> None:
        """Notes that the rows of an earlier run, if there was one, have been read again; that took its own time."""
        if self._share_at_start is None:
            self._started, self._share_at_start = time.monotonic(), self._share() or 0.0

    def advance(self, count: int) -> None:
        """Adds `count` rows."""
        self.rows += count
        share = self._share()
        if self._bar is not None:
            if share:
                self._bar.total = round((self._done + self.rows) / share)
            self._bar.update(count)
        elif time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            to_go = self._seconds_to_go(share)
            rest = "" if to_go is None else f", {to_go:.0f} s to go"
            logging.info("%s: %d rows, %.1f rows/s%s", self._label, self._done + self.rows, self.per_second, rest)

    @property
    def seconds(self) -> float:
        """Seconds since the first row."""
        return time.monotonic() - self._started

    @property
    def per_second(self) -> float:
        """Rows a second."""
        return self.rows / max(1e-9, self.seconds)

    def _share(self) -> float | None:
        return None if self._share_read is None else self._share_read()

    def _seconds_to_go(self, share: float | None) -> float | None:
        gained = 0.0 if share is None else share - (self._share_at_start or 0.0)
        return self.seconds * (1.0 - share) / gained if share is not None and gained > 0 else None

    def __enter__(self) -> "RowProgress":
        return self

    def __exit__(self, *exception) -> None:
        if self._bar is not None:
            self._bar.close()
