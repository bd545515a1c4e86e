"""Putting a finished folder in the place of another, so that the name stands for one of the two at every instant."""

import ctypes
import errno
import os
import shutil

from albert_tf.runtime import temporaries

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
# The kernel or the file system cannot exchange two names.
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)


def put_in_place(new: str, path: str) -> None:
    """Gives a finished folder its name, and removes the folder that had it.

    Two names of a Linux file system change places in one step (renameat2). Where that cannot be, the old folder moves
    aside first; whoever is killed between these two renames leaves it to temporaries.remove_leftovers, which brings
    it back.

    Args:
        new: a folder beside `path`.
        path: a folder, or nothing.

    Raises:
        OSError: no right to rename, or something other than a folder stands there.
    """
    if not os.path.lexists(path):
        os.rename(new, path)
        return
    if not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    old = new
    if not exchange(new, path):
        old = temporaries.name_beside(path, temporaries.KEPT)
        _rename_in_turn(new, path, old)
    shutil.rmtree(old, ignore_errors=True)


def exchange(first: str, second: str) -> bool:
    """Lets two paths change places in one step; False where that cannot be, and nothing was done.

    Raises:
        OSError: it could be, and failed.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), first, None, second)


def _rename_in_turn(new: str, path: str, old: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        temporaries.hold(descriptor, path)
        os.rename(path, old)
        try:
            os.rename(new, path)
        except BaseException:
            os.rename(old, path)
            raise
    finally:
        os.close(descriptor)
