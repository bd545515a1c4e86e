"""Runs the steps of an experiment, each in a process of its own, one at a time, and never one that is done or held."""

import contextlib
import ctypes
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from absl import logging

from albert_tf.experiments.steps import DONE_NAME, FAILED_NAME, LOCK_NAME, LOG_NAME, Step
from albert_tf.runtime import files
from albert_tf.runtime.lock_files import try_flock
from albert_tf.training.stop_signals import StopSignals

_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_TO_WAIT = 2.0
_LAST_BYTES = 4096
_DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


class Runner:
    """Runs steps in an output folder.

    Args:
        output_dir: of the experiment.
        signals: asked between and during steps.
        names: what to call a step in the log, by its key.
    """

    def __init__(self, output_dir: str, signals: StopSignals, names: Mapping[str, str]):
        self._output_dir, self._signals, self._names = output_dir, signals, names

    def run(self, steps: Iterable[Step]) -> dict[str, str]:
        """Runs what is not done of the steps; those that another process works at are waited for.

        Args:
            steps: each after those that it needs.

        Returns:
            why a step failed, by its key; the steps that need it are among them.

        Raises:
            RunStopped: a signal came.
        """
        left, failed = list(steps), dict[str, str]()
        told = False
        while left:
            self._stop_if_asked()
            # The first that need not wait; then those before it are asked again.
            step = next((step for step in left if self._try(step, failed)), None)
            if step is not None:
                left.remove(step)
                continue
            if not told:
                logging.info("waiting for steps that other processes work at: %s", self._names[left[0].key])
            told = True
            time.sleep(_SECONDS_TO_WAIT)
        return failed

    def _try(self, step: Step, failed: dict[str, str]) -> bool:
        """Sees that a step is done, and does it if need be, or that it cannot be; False if that must wait."""
        broken = next((made for made in step.inputs() if made.key in failed), None)
        if broken is not None:
            failed[step.key] = failed[broken.key]
            return True
        if step.done(self._output_dir) is not None:
            return True
        if any(made.done(self._output_dir) is None for made in step.inputs()):
            return False
        folder = step.folder(self._output_dir)
        files.make_folder(folder)
        with _lock(os.path.join(folder, LOCK_NAME)) as descriptor:
            if descriptor is None:
                return False
            # It may have been done since.
            if step.done(self._output_dir) is None:
                reason = self._do(step, folder, descriptor)
                if reason is not None:
                    failed[step.key] = reason
                    logging.error("%s: %s", self._names[step.key], reason)
        return True

    def _do(self, step: Step, folder: str, lock: int) -> str | None:
        """Runs the command of a step; the reason if it failed."""
        log, failure = os.path.join(folder, LOG_NAME), os.path.join(folder, FAILED_NAME)
        Path(failure).unlink(missing_ok=True)
        is_fresh = not os.path.exists(log)
        step.write_inputs(self._output_dir)
        logging.info("%s: %s", self._names[step.key], folder)
        begin = time.monotonic()
        with open(log, "ab") as file:
            file.write(f"$ {shlex.join(['python', *step.words(self._output_dir)])}\n".encode())
            file.flush()
            # A process group of its own: a signal from the terminal reaches it once, by way of this process.
            child = subprocess.Popen(
                step.program(self._output_dir),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                pass_fds=[lock],
                start_new_session=True,
                preexec_fn=_end_with_parent(),
            )
            self._wait(child)
        self._stop_if_asked()
        if child.returncode or not step.is_written(self._output_dir):
            reason = _reason(child.returncode, log)
            # For those who share the rows.
            files.write_json(failure, {"reason": reason})
            return reason
        note = {"kind": step.kind, "work": step.work, "command": step.words(self._output_dir)}
        # The time of a step that had been stopped is not known.
        note["seconds"] = round(time.monotonic() - begin, 3) if is_fresh else None
        files.write_json(os.path.join(folder, DONE_NAME), note)
        return None

    def _wait(self, child: subprocess.Popen[bytes]) -> None:
        told = False
        while child.poll() is None:
            if self._signals.received and not told:
                told = True
                child.send_signal(signal.SIGTERM)
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def _stop_if_asked(self) -> None:
        if self._signals.received:
            self._signals.stop("what is finished is kept")


@contextlib.contextmanager
def _lock(path: str) -> Iterator[int | None]:
    """The descriptor of a step's lock file; None if another process, or a command that outlived its own, holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        try:
            if not try_flock(descriptor):
                logging.warning("%s: this file system has no locks; run one process at a time", path)
        except BlockingIOError:
            yield None
            return
        yield descriptor
    finally:
        os.close(descriptor)


def _end_with_parent() -> Callable[[], None] | None:
    """A function for a new process, by which SIGTERM comes to it when this one is killed; None where that cannot be."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_DEATH_OF_PARENT, signal.SIGTERM)


def _reason(code: int, log: str) -> str:
    """Why a command failed: the last line of its log, or the signal that ended it."""
    if code < 0:
        memory = ", as the system does where memory runs out" if -code == signal.SIGKILL else ""
        # Real-time signals have no names but for the first and the last.
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"ended by {name}{memory}; the same run_experiments goes on with it ({log})"
    return f"{_last_line(log)} (exit code {code}; {log})"


def _last_line(path: str) -> str:
    """The last line of a log, which is the message of a command that failed."""
    with Path(path).open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _LAST_BYTES))
        lines = file.read().decode("utf-8", errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "no message")
