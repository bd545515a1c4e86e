"""Results that are kept while they are made: a run that was killed goes on after the last of them.

OUTPUT_FILE                    appears when all is done
.OUTPUT_FILE.partial/          beside it, until then
    job.json                   model, input and flags that the results are of
    results                    header and results so far, and perhaps a piece that is not counted yet
    progress.json              how many rows and bytes count, with the checksum of the bytes
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import google_crc32c
from absl import logging

from albert_tf.rows.result_formats import ResultForm
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.workspace import (
    enter_job,
    naming,
    open_workspace,
    write_note,
)

_RESULTS, _PROGRESS = "results", "progress.json"
_BLOCK = 1 << 20


class KeptResults:
    """The results so far, in the folder of the job.

    Attributes:
        folder: of the job.
        rows: how many rows have their results.
        notes: what was to be kept with them, JSON.
    """

    def __init__(self, folder: str, form: ResultForm, is_known: bool):
        """Takes up what is there, or begins anew.

        Args:
            folder: of the job.
            form: of the results.
            is_known: whether the folder was found as that of this very job.
        """
        self.folder, self._form = folder, form
        self._path = os.path.join(folder, _RESULTS)
        found = self._read_progress() if is_known else None
        if found is None:
            header = form.header()
            found = {"rows": 0, "bytes": len(header), "crc32c": google_crc32c.value(header), "notes": {}}
            self._file = self._open("wb")
            self._write(header, found)
        else:
            self._file = self._open("r+b")
            self._file.truncate(found["bytes"])
            self._file.seek(found["bytes"])
            logging.info("going on after the %d rows that an earlier run finished, in %s", found["rows"], folder)
        self._keep(found)

    def append(self, part: bytes, rows: int, notes: Mapping[str, Any]) -> None:
        """Adds a part; when this returns, it is on the disk.

        Args:
            part: of the form.
            rows: how many results it has.
            notes: to be kept from now on.

        Raises:
            OSError: it cannot be written (a full disk); what was there before still counts.
        """
        progress = {
            "rows": self.rows + rows,
            "bytes": self._bytes + len(part),
            "crc32c": google_crc32c.extend(self._checksum, part),
            "notes": dict(notes),
        }
        self._write(part, progress)
        self._keep(progress)

    def publish(self, path: str) -> None:
        """Gives the output its name."""
        self._file.close()
        if self._form.is_final and not files.is_remote(path):
            os.replace(self._path, path)
            files.flush_folder(os.path.dirname(path))
            return
        with open(self._path, "rb") as parts, files.replace_file(path) as file:
            self._form.finish(parts, file)

    def close(self) -> None:
        """Closes the file; what counts is on the disk already."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _open(self, mode: str) -> Any:
        # Without a buffer: what could not be written to a full disk is not tried again when the file is closed.
        return Path(self._path).open(mode, buffering=0)

    def _write(self, part: bytes, progress: Mapping[str, Any]) -> None:
        with naming(self._path):
            view = memoryview(part)
            while view:
                view = view[self._file.write(view) :]
            os.fsync(self._file.fileno())
        write_note(os.path.join(self.folder, _PROGRESS), progress)

    def _keep(self, progress: Mapping[str, Any]) -> None:
        self.rows, self.notes = progress["rows"], progress["notes"]
        self._bytes, self._checksum = progress["bytes"], progress["crc32c"]

    def _read_progress(self) -> dict[str, Any] | None:
        """Reads how far the job has come; None if it has not begun, or what is there is damaged."""
        try:
            found = files.read_json(os.path.join(self.folder, _PROGRESS))
            checksum, left = 0, found["bytes"]
            with open(self._path, "rb") as file:
                while left and (block := file.read(min(_BLOCK, left))):
                    checksum, left = google_crc32c.extend(checksum, block), left - len(block)
            is_whole = not left and checksum == found["crc32c"]
        except (FileNotFoundError, InputError, KeyError, TypeError):
            is_whole = False
        if not is_whole:
            logging.warning("%s is damaged or was never begun; it is made anew", self._path)
            return None
        return found


@contextlib.contextmanager
def keep_results(path: str, form: ResultForm, job: Mapping[str, Any], overwrite: bool) -> Iterator[KeptResults]:
    """Opens the results of a job that may have been begun; at the end they get their name.

    After a mistake in the input all is gone; after anything else it stays for the same command to go on with.

    Args:
        path: of the output; for a remote one nothing outlives the run.
        form: of the results.
        job: what decides the output, JSON: "model", "input", "flags", "output".
        overwrite: whether to throw away what belongs to a different job.

    Raises:
        InputError: what is there belongs to a different job, or another run is writing it.
        OSError: a full disk; what is finished is kept.
    """
    with open_workspace(path) as folder:
        is_known = enter_job(folder, job, overwrite)
        kept = KeptResults(folder, form, is_known)
        try:
            yield kept
            kept.publish(path)
        finally:
            kept.close()


@contextlib.contextmanager
def written_at_once(path: str, form: ResultForm) -> Iterator[Any]:
    """Writes results that nobody can go on with, since their input cannot be read again: all of them or none.

    Yields:
        a function that adds a part; the header is there.
    """
    with files.replace_file(path) as file:
        if form.is_final:
            file.write(form.header())
            yield file.write
            return
        with _spooled(path) as parts:
            parts.write(form.header())
            yield parts.write
            parts.seek(0)
            form.finish(parts, file)


def _spooled(path: str) -> Any:
    """A file without a name beside a local output."""
    import tempfile

    return tempfile.TemporaryFile(dir=None if files.is_remote(path) else os.path.dirname(path) or ".")
