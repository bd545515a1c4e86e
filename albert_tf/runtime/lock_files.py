"""Lock files: the end of one that is held."""

import contextlib
import os


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
