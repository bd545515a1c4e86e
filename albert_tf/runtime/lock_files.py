"""Lock files: taking one that nobody holds, and the end of one that is held."""

import contextlib
import errno
import fcntl
import os

NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


def try_flock(descriptor: int) -> bool:
    """Locks an open file; False where its file system has no locks.

    A process that inherits the descriptor holds the lock too.

    Raises:
        BlockingIOError: somebody else holds it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    return True


def remove_lock_file(path: str, descriptor: int) -> None:
    """Removes a lock file that this process holds, and lets go of it.

    In this order: as soon as the file is not locked, another process may hold it, and the one removed would be theirs.

    Args:
        path: of the lock file; somebody may have removed it already.
        descriptor: the open file, locked; it is closed.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    os.close(descriptor)
