"""Progress of a long job: a bar on a terminal, a line now and then in a log file."""

import sys
import time

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
