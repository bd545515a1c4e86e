"""SIGTERM and SIGINT as a wish to stop at the next good moment; the second one as an order to stop at once."""

import os
import signal
import threading

from absl import logging

from albert_tf.runtime.command import EXIT_STOPPED
from albert_tf.runtime.errors import RunStopped

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Remembers, while entered, the first signal; the second one ends the process with 128 + its number.

    A thread receives them, since Python's own handlers do not run before TensorFlow has come back from the steps it
    was to take. Only the main thread can enter this for good; in any other it does nothing.

    Args:
        when: the good moment, for the message.
    """

    def __init__(self, when: str = "after the steps under way"):
        self._when = when
        self._received: list[int] = []
        self._previous: dict = {}
        self._thread: threading.Thread | None = None

    @property
    def received(self) -> str | None:
        """The name of the signal that was received, None if there was none."""
        return signal.Signals(self._received[0]).name if self._received else None

    def stop(self, where: str) -> None:
        """Raises RunStopped.

        Args:
            where: what is saved, for the message.
        """
        cause = self.received or "a signal to another worker"
        raise RunStopped(f"stopped by {cause}; {where}; the same command goes on from there", EXIT_STOPPED)

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is not threading.main_thread():
            return self
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._previous = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        self._previous_wakeup = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        if self._thread is None:
            return
        signal.set_wakeup_fd(self._previous_wakeup)
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        os.close(self._write_end)  # the thread reads the end of the pipe
        self._thread.join()
        self._thread = None
        os.close(self._read_end)

    def _receive(self) -> None:
        while number := os.read(self._read_end, 1):
            if number[0] not in _SIGNALS:
                continue
            if self._received:
                os._exit(128 + number[0])
            self._received.append(number[0])
            logging.warning("%s: saving %s; once more to leave at once", self.received, self._when)
