"""One run in an output_dir at a time: a lock that says who holds it, and ends with its process.

The file run.lock in output_dir is locked with flock, which the kernel gives up when the process ends, however it ends.
Where a file system cannot lock, what stands in the file decides: a holder on this machine whose process is gone is
dead; of a different machine nobody knows, and a person has to remove the file. Remote folders (gs://) have no lock.
"""

import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from absl import logging

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError, InUseError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.lock_files import remove_lock_file, try_flock
from albert_tf.training.cluster import Cluster
from albert_tf.training.strategy import Agreement

LOCK_NAME = "run.lock"
_LARGEST_NOTE = 1 << 16


@contextlib.contextmanager
def hold_run_lock(output_dir: str) -> Iterator[None]:
    """Keeps other runs out of a folder while the block lasts; the folder is made if missing, and goes again if empty.

    Raises:
        InUseError: another run holds it.
    """
    if files.is_remote(output_dir):
        yield
        return
    missing = _missing_folders(output_dir)
    files.make_folder(output_dir)
    try:
        path = os.path.join(output_dir, LOCK_NAME)
        descriptor = _lock(path)
        try:
            yield
        finally:
            remove_lock_file(path, descriptor)
    finally:
        with contextlib.suppress(OSError):
            for folder in missing:
                folder.rmdir()


@contextlib.contextmanager
def hold_for_all_workers(output_dir: str, cluster: Cluster, agreement: Agreement) -> Iterator[None]:
    """The same for the workers of one run, which share a folder: the chief holds the lock, all learn whether it does.

    Raises:
        InUseError: another run holds it.
    """
    with contextlib.ExitStack() as stack:
        refusal = None
        if cluster.is_chief:
            try:
                stack.enter_context(hold_run_lock(output_dir))
            except (InputError, OSError) as error:
                refusal = error
        (refused,) = agreement.mean(float(refusal is not None))
        if refusal is not None:
            raise refusal
        if refused:
            raise InUseError(f"--output_dir={output_dir}: the chief cannot have it; its own message says why")
        yield


def _lock(path: str) -> int:
    """The descriptor of the locked file, with our note in it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        try:
            locks = _try_flock(descriptor, path)
            holder = _read_note(descriptor)
            if not os.path.exists(path) or not os.path.samestat(os.fstat(descriptor), os.stat(path)):
                # Its holder has removed it since.
                os.close(descriptor)
                continue
            if not locks and holder is not None and _may_live(holder):
                raise _refusal(path, holder)
            if holder is not None:
                logging.warning("%s: taken over from %s, which is dead", path, _describe(holder))
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, to_json(_own_note()).encode(), 0)
            os.fsync(descriptor)
            return descriptor
        except BaseException:
            os.close(descriptor)
            raise


def _try_flock(descriptor: int, path: str) -> bool:
    """Tries to lock the file; False where the file system has no locks."""
    try:
        return try_flock(descriptor)
    except BlockingIOError:
        raise _refusal(path, _read_note(descriptor)) from None


def _refusal(path: str, holder: dict[str, Any] | None) -> InUseError:
    return InUseError(
        f"--output_dir={os.path.dirname(path)} is in use by {_describe(holder)}; wait for that run, stop it, or name "
        f"another folder (if it is dead for certain, remove {path})"
    )


def _describe(holder: dict[str, Any] | None) -> str:
    if holder is None:
        return "another run"
    return f"process {holder['pid']} on {holder['host']} ({holder['command']}, since {holder['since']})"


def _read_note(descriptor: int) -> dict[str, Any] | None:
    """Reads what the holder wrote; None if it is not, or not yet, to be read."""
    try:
        note = json.loads(os.pread(descriptor, _LARGEST_NOTE, 0))
    except (ValueError, RecursionError):
        return None
    keys = _own_note().keys()
    return note if isinstance(note, dict) and all(isinstance(note.get(key), str) for key in keys) else None


def _own_note() -> dict[str, str]:
    return {
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
        # The number of a process comes again; with the same start after the same boot it is the same process.
        "started": _start_time(os.getpid()) or "",
        "boot": _read("/proc/sys/kernel/random/boot_id"),
        # Processes of different containers do not see each other.
        "namespace": _namespace(),
        "command": os.path.basename(sys.argv[0]),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _may_live(holder: dict[str, str]) -> bool:
    """Tells whether the process of a note may still be there; it may if that cannot be seen from here."""
    own = _own_note()
    if holder["host"] != own["host"] or holder["namespace"] != own["namespace"]:
        return True
    if holder["boot"] != own["boot"] or not holder["pid"].isdecimal():
        return False
    return _start_time(holder["pid"]) == holder["started"]


def _start_time(pid: int | str) -> str | None:
    """The start of a process in clock ticks since boot (proc(5), stat, field 22); None if there is none."""
    status = _read(f"/proc/{pid}/stat")
    # The name of the command, in parentheses, may hold anything.
    fields = status.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else None


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def _missing_folders(path: str) -> list[Path]:
    """The folder and its parents that are not there, innermost first."""
    folder = Path(path)
    return [one for one in (folder, *folder.parents) if not one.exists()]
