"""The folder beside the output in which a job keeps what is finished, until all of it is.

It outlives a killed run, and the same job goes on with it. What the job is stands in a file of its own, so that a
job with other flags or other text does not mix with it.
"""

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError, WorkersKilledError
from albert_tf.runtime.json_text import to_json

TEMPORARY = ".tmp"

_JOB_FILE = "job.json"
_MOST_DIFFERENCES = 3
# Of removing a folder in which others may still be at work.
_TRIES = 5


class OtherJobError(InputError):
    """Error of finding what belongs to a different job or run; it stays where it is."""


@contextlib.contextmanager
def open_workspace(output: str, shared: bool = False, remove: bool = True) -> Iterator[str]:
    """The temporary folder of an output (for a remote output, a local one that does not outlive the run).

    It is removed at the end, and after an error of the user's; after anything else it stays, so that what is
    finished need not be done again.

    Args:
        output: the path of the output, or what the names of its files begin with.
        shared: whether other tasks of the same job may use it at the same time.
        remove: whether to remove it when all is done; left to another task if not.

    Raises:
        InputError: another run is writing to the same output.
    """
    folder = os.path.dirname(output)
    if files.is_remote(output):
        with tempfile.TemporaryDirectory() as temporary:
            yield temporary
        return
    made = _make_folders(folder)
    temporary = workspace_of(output)
    _remove_leftovers(temporary)
    Path(temporary).mkdir(exist_ok=True)
    lock = os.open(temporary, os.O_RDONLY)
    try:
        _lock(lock, shared, output)
        try:
            yield temporary
            if remove:
                _remove(temporary)
        except (OtherJobError, WorkersKilledError):
            raise
        except InputError:
            if not shared:
                _remove(temporary)
                _remove_empty(made)
            raise
    finally:
        os.close(lock)


def enter_job(folder: str, job: Mapping[str, Any], overwrite: bool, shared: bool = False) -> bool:
    """Sees that what is in the folder belongs to this job, and notes the job if there is nothing yet.

    Args:
        folder: the workspace.
        job: what decides the output, JSON.
        overwrite: whether to throw away what belongs to a different job.
        shared: whether other tasks may be at work there; their unfinished files are left alone.

    Returns:
        Whether something of this job was there already.

    Raises:
        InputError: it belongs to a different job.
    """
    path = os.path.join(folder, _JOB_FILE)
    found = read_note(path)
    job = json.loads(to_json(job))
    if found is not None and found != job and not overwrite:
        raise OtherJobError(
            f"{folder} holds an unfinished run with {describe_differences(found, job)}; "
            "finish it with its own flags and input, or give --overwrite to throw it away"
        )
    if found != job:
        # One that a power cut left unreadable may have been any job's.
        if os.path.exists(path):
            _empty(folder)
        write_note(path, job)
        return False
    if not shared:
        for entry in os.listdir(folder):
            if entry.endswith(TEMPORARY):
                os.unlink(os.path.join(folder, entry))
    return True


def remove_finished(output: str, job: Mapping[str, Any]) -> None:
    """Removes what a run left that was killed after its files had their names: its workspace, wholly or half gone.

    The workspace of a different job, or one that a run is at work in, stays.

    Args:
        output: as for open_workspace; it is finished.
        job: what was finished.
    """
    if files.is_remote(output):
        return
    temporary = workspace_of(output)
    _remove_leftovers(temporary)
    if not holds_job(output, job):
        return
    with contextlib.suppress(FileNotFoundError, OtherJobError):
        lock = os.open(temporary, os.O_RDONLY)
        try:
            _lock(lock, False, output)
            _remove(temporary)
        finally:
            os.close(lock)


def describe_differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Describes in a few words what two jobs differ in: "other flags (dupe_factor 10, now 5)"."""
    found_flags, wanted_flags = found.get("flags", {}), wanted.get("flags", {})
    names = sorted({*found_flags, *wanted_flags})
    flags = [
        f"{name} {found_flags.get(name)}, now {wanted_flags.get(name)}"
        for name in names
        if found_flags.get(name) != wanted_flags.get(name)
    ]
    if flags:
        more = ", ..." if len(flags) > _MOST_DIFFERENCES else ""
        return f"other flags ({'; '.join(flags[:_MOST_DIFFERENCES])}{more})"
    for part in ("vocabulary", "model"):
        if found.get(part) != wanted.get(part):
            return f"another {part}"
    if found.get("input") != wanted.get("input"):
        ours = {file["name"]: file for file in wanted.get("input", ())}
        changed = [file["name"] for file in found.get("input", ()) if ours.get(file["name"]) != file]
        return f"other input ({', '.join(changed[:_MOST_DIFFERENCES]) or 'more files now'})"
    if found.get("written_by") != wanted.get("written_by"):
        return f"another version ({found.get('written_by')})"
    return "other output files"


def holds_job(output: str, job: Mapping[str, Any]) -> bool:
    """Tells whether the workspace of an output, if there is one, is that of this job."""
    if files.is_remote(output):
        return False
    return read_note(os.path.join(workspace_of(output), _JOB_FILE)) == json.loads(to_json(job))


def workspace_of(output: str) -> str:
    """The path of the workspace of a local output."""
    folder, name = os.path.split(os.path.abspath(output))
    return os.path.join(folder, f".{name}.partial")


def temporary_of(path: str) -> str:
    """A name beside a path that no other process has; numbers of processes are alike in containers."""
    return f"{path}.{secrets.token_hex(8)}{TEMPORARY}"


def write_note(path: str, values: Mapping[str, Any]) -> None:
    """Writes a small JSON file whole or not at all; unlike files.write_json it does not make a folder that is gone."""
    temporary = temporary_of(path)
    try:
        with naming(path):
            Path(temporary).write_text(to_json(values))
            Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink(missing_ok=True)
        raise


def read_note(path: str) -> Any:
    """Reads what write_note wrote; None if there is nothing that can be read, as after a power cut."""
    try:
        return json.loads(Path(path).read_bytes())
    except (FileNotFoundError, ValueError):
        return None


@contextlib.contextmanager
def naming(path: str):
    """Gives an error of writing (a full disk) the name of the file, which the system leaves out."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise


def _remove(folder: str) -> None:
    """Takes the folder out of the way as a whole first.

    Another task may be writing to it, and one that is killed here must not leave units of work without their job.
    """
    done = temporary_of(folder)
    with contextlib.suppress(FileNotFoundError):
        os.rename(folder, done)
    # What another task still moved into it while it was listed makes it stay.
    for _ in range(_TRIES):
        shutil.rmtree(done, ignore_errors=True)
        if not os.path.exists(done):
            break


def _remove_leftovers(folder: str) -> None:
    """Removes what killed runs had taken out of the way, which belongs to nobody."""
    parent, name = os.path.split(folder)
    for entry in os.listdir(parent):
        if re.fullmatch(rf"{re.escape(name)}\.[0-9a-f]+{re.escape(TEMPORARY)}", entry):
            shutil.rmtree(os.path.join(parent, entry), ignore_errors=True)


def _lock(lock: int, shared: bool, output: str) -> None:
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OtherJobError(f"another run is writing {output}; wait for it or stop it") from None
    except OSError:
        # Some network file systems cannot lock.
        return


def _empty(folder: str) -> None:
    """Removes all that is in it, what it says of its job last: units of work are never without it."""
    for entry in sorted(os.listdir(folder), key=_JOB_FILE.__eq__):
        os.unlink(os.path.join(folder, entry))


def _make_folders(folder: str) -> list[Path]:
    """Makes a folder and its parents; returns those that were not there, innermost first."""
    missing = []
    path = Path(folder or ".")
    while not path.exists():
        missing.append(path)
        path = path.parent
    Path(folder or ".").mkdir(parents=True, exist_ok=True)
    return missing


def _remove_empty(folders: list[Path]) -> None:
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
