"""All rows of an input to the file, or the stream, of their results: what predict and fill_mask do.

A regular file in and a file out make a job that can be stopped, killed and gone on with; everything else is done at
one go. Memory holds a window of rows, whatever the input's size.
"""

import dataclasses
import itertools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

from absl import logging

import albert_tf
from albert_tf.rows.answered_rows import (
    ERROR,
    Asker,
    answer_window,
    begin_rows,
)
from albert_tf.rows.input_rows import OpenRows
from albert_tf.rows.kept_results import keep_results, written_at_once
from albert_tf.rows.result_formats import ResultForm
from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.progress import RowProgress
from albert_tf.runtime.worker_pool import WorkerPool, end_on_terminate
from albert_tf.training.stop_signals import StopSignals

# After so many seconds a run that only prints says at its end what it did.
_LONG = 10.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The end of a job, or how far it is.

    Attributes:
        rows: results, those of earlier runs too.
        errors: results that are errors.
        first_error: of them.
    """

    rows: int = 0
    errors: int = 0
    first_error: str = ""

    def with_results(self, results: Sequence[Mapping[str, Any]]) -> "Outcome":
        """The outcome with some more results."""
        errors = [result[ERROR] for result in results if ERROR in result]
        first = self.first_error or next(iter(errors), "")
        return Outcome(self.rows + len(results), self.errors + len(errors), first)

    def check(self, what: str = "rows") -> None:
        """Raises InputError if there were errors."""
        if self.errors:
            raise InputError(
                f"{self.errors} {what} without an answer, each with its error; the first: {self.first_error}"
            )


@dataclasses.dataclass(frozen=True)
class PredictionJob:
    """An input, and where its results go.

    Attributes:
        source: a path, standard input, or texts of the command line.
        output_file: None for standard output.
        batch_size: rows that are run together.
        model: identity of the model, as of identify_model.
        flags: whatever else decides the results, JSON.
        overwrite: whether an unfinished job of other flags, or of a different input, is thrown away.
        label: what is being done to the rows.
    """

    source: str | BinaryIO | Sequence[str]
    output_file: str | None
    batch_size: int
    model: Callable[[], Mapping[str, Any]]
    flags: Mapping[str, Any]
    overwrite: bool = False
    label: str = "predicting"

    def identity(self, path: str) -> dict[str, Any]:
        """Everything that decides the results.

        Args:
            path: of the input.
        """
        return {
            "flags": {**self.flags, "batch_size": self.batch_size},
            "model": self.model(),
            "input": [{"name": path, **describe_file(path)}],
            "output": [os.path.basename(self.output_file or "")],
            "written_by": f"albert_tf {albert_tf.__version__}",
        }


def run_job(
    job: PredictionJob, asker: Asker, opened: OpenRows, form: ResultForm, pool: WorkerPool | None = None
) -> Outcome:
    """Writes the results of all rows.

    Args:
        job: from where to where.
        asker: the model, as it is known here.
        opened: the rows.
        form: of the results.
        pool: what answers; None: the asker itself.

    Raises:
        InputError: the input is at fault as a whole, or an unfinished job is there that is a different one.
        OSError: a full disk.
        RunStopped: a signal came; what is finished is kept.
    """
    run = _Run(job, asker, opened, form, pool or WorkerPool(1, asker))
    if job.output_file is None:
        run.print()
    elif isinstance(job.source, str) and is_read_again(job.source):
        run.keep(job.output_file, job.source)
    else:
        run.write_at_once(job.output_file)
    run.tell()
    return run.outcome


def is_read_again(source: Any) -> bool:
    """Tells whether an input can be read a second time: a file, no pipe."""
    return isinstance(source, str) and (files.is_remote(source) or os.path.isfile(source))


class _Run:
    """A job under way.

    Attributes:
        outcome: so far.
    """

    def __init__(self, job: PredictionJob, asker: Asker, opened: OpenRows, form: ResultForm, pool: WorkerPool):
        self._job, self._asker, self._opened, self._form, self._pool = job, asker, opened, form, pool
        self._progress: RowProgress | None = None
        self.outcome = Outcome()

    def print(self) -> None:
        """Writes to standard output."""
        output = sys.stdout.buffer

        def write(part: bytes) -> None:
            output.write(part)
            output.flush()

        write(self._form.header())
        # Who writes into a pipe may wait for answers.
        batches = None if is_read_again(self._job.source) else 1
        self._answer(lambda results, _: write(self._form.encode(results)), batches=batches)

    def write_at_once(self, path: str) -> None:
        """Writes a file of an input that is read but once."""
        with end_on_terminate(), written_at_once(path, self._form) as write:
            self._answer(lambda results, _: write(self._form.encode(results)))

    def keep(self, path: str, source: str) -> None:
        """Writes a file, window by window, from where an earlier run of the same job was."""
        signals = StopSignals("after the batch under way")
        identity = self._job.identity(source)
        with signals, keep_results(path, self._form, identity, self._job.overwrite) as kept:
            if kept.rows:
                self.outcome = Outcome(**kept.notes)

            def append(results: Sequence[Mapping[str, Any]], counted: Outcome) -> None:
                kept.append(self._form.encode(results), len(results), dataclasses.asdict(counted))

            def go_on() -> None:
                if signals.received:
                    signals.stop(f"{self.outcome.rows} rows are finished, in {kept.folder}")

            try:
                self._answer(append, go_on)
            except OSError:
                logging.info("%d rows are finished and kept; the same command goes on with them", self.outcome.rows)
                raise

    def _answer(
        self,
        append: Callable[[Sequence[Mapping[str, Any]], Outcome], None],
        go_on: Callable[[], None] = lambda: None,
        batches: int | None = None,
    ) -> None:
        """Appends all results but those that were there before, and counts them."""
        # Of a few texts on the command line, or between the lines of a table, a bar would only be in the way.
        bar = isinstance(self._job.source, str) and (self._job.output_file is not None or not sys.stdout.isatty())
        done, size = self.outcome.rows, self._job.batch_size
        with RowProgress(self._job.label, self._opened.share_read, done, bar) as self._progress:
            rows = itertools.islice(self._opened.rows, done, None)
            for window in begin_rows(self._asker, rows, size, batches):
                self._progress.begin()
                results = answer_window(self._pool, self._asker, window, size, go_on)
                counted = self.outcome.with_results(results)
                append(results, counted)
                self.outcome = counted
                self._progress.advance(len(results))

    def tell(self) -> None:
        """Logs what was done, if it took long or went into a file."""
        progress, path = self._progress, self._job.output_file
        if path is not None or progress.seconds > _LONG:
            logging.info(
                "%d rows in %.0f s, %.1f rows/s, %d of all without an answer%s",
                *(progress.rows, progress.seconds, progress.per_second, self.outcome.errors),
                "" if path is None else f"; {self.outcome.rows} in {path}",
            )
