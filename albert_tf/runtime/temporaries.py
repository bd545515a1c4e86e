"""Temporary files and folders that a rename turns into outputs; those that a killed process left behind are removed.

Their names cannot be guessed, and what has such a name already, a link for example, is never opened. Each is locked
(flock) for as long as its process lives, so one that is not locked belongs to nobody, on whichever machine it was made.
Where a file system has no such locks, which holds for folders on NFS, leftovers stay for a person to remove.
"""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from typing import BinaryIO

# What a rename makes an output of; and an earlier output, while the new one takes its place in two renames.
UNFINISHED, KEPT = "tmp", "kept"
_NAME = re.compile(r"\.(?P<name>.+)\.albert_tf-[0-9a-f]{16}\.(?P<kind>tmp|kept)", re.DOTALL)
# Of the 255 bytes that a name may have.
_LONGEST_NAME = 200
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF)


def name_beside(path: str, kind: str = UNFINISHED) -> str:
    """A hidden path in the same folder that nobody can foresee.

    Args:
        path: of the output, without a slash at the end.
        kind: UNFINISHED or KEPT.
    """
    folder, name = os.path.split(path)
    shortened = os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])
    return os.path.join(folder, f".{shortened}.albert_tf-{secrets.token_hex(8)}.{kind}")


def create_file(path: str) -> tuple[BinaryIO, str]:
    """Makes a temporary file beside a path, with the rights of any new file.

    Returns:
        the file, open for writing, and its name; it counts as in use until it is closed.
    """
    while True:
        temporary = name_beside(path)
        with _told_by_name_of(path):
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        if hold(descriptor, temporary):
            return os.fdopen(descriptor, "w+b"), temporary
        os.close(descriptor)


@contextlib.contextmanager
def created_folder(path: str) -> Iterator[str]:
    """Makes a temporary folder beside a path, in which nobody else can write; it is removed if the block fails.

    Yields:
        its name. Whoever renames it must give it the rights of `usual_mode` first.
    """
    while True:
        temporary = name_beside(path)
        with _told_by_name_of(path):
            os.mkdir(temporary, 0o700)
        try:
            descriptor = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
        except FileNotFoundError:
            # Another process took it for a leftover before it could be marked.
            continue
        if hold(descriptor, temporary):
            break
        os.close(descriptor)
    try:
        yield temporary
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _told_by_name_of(path: str) -> Iterator[None]:
    """Lets an error that names a temporary file name the output, which is the name that a user gave."""
    try:
        yield
    except OSError as error:
        error.filename = path
        raise


def usual_mode(folder: str) -> int:
    """The rights that the umask leaves to a new folder; one is made in the given folder to see them, and removed."""
    probe = os.path.join(folder, secrets.token_hex(8))
    os.mkdir(probe, 0o777)
    try:
        return stat.S_IMODE(os.stat(probe).st_mode)
    finally:
        os.rmdir(probe)


def hold(descriptor: int, path: str) -> bool:
    """Marks a new file or folder as in use; False if somebody took it for a leftover before that, and removed it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def remove_leftovers(folder: str) -> None:
    """Removes the temporary files and folders of processes that are dead, and brings back an output they had moved.

    Args:
        folder: a local one; nothing happens if there is none.
    """
    try:
        names = [name for name in os.listdir(folder or ".") if _NAME.fullmatch(name)]
    except OSError:
        return
    for name in names:
        with contextlib.suppress(OSError):
            _remove_if_dead(folder, name)


def _remove_if_dead(folder: str, name: str) -> None:
    path, match = os.path.join(folder, name), _NAME.fullmatch(name)
    is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
    # For a lock on NFS a file must be open for writing.
    kind = os.O_RDONLY | os.O_DIRECTORY if is_folder else os.O_RDWR
    descriptor = os.open(path, kind | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or not (is_folder or stat.S_ISREG(status.st_mode)):
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(status, os.lstat(path)):
            return
        output = os.path.join(folder, match["name"])
        if match["kind"] == KEPT and not os.path.lexists(output):
            os.rename(path, output)
        elif is_folder:
            shutil.rmtree(path)
        else:
            os.unlink(path)
    finally:
        os.close(descriptor)
