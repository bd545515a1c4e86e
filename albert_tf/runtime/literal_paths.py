"""Paths as TensorFlow's readers of checkpoints and SavedModels need them: they take *, ?, [ and \\ for a pattern."""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator

from albert_tf.runtime import files

_OF_PATTERNS = re.compile(r"[*?\[\]\\]")


@contextlib.contextmanager
def literal_path(path: str) -> Iterator[str]:
    """A path that leads to the same place, by a link for as long as the block lasts where the given one has a pattern.

    Args:
        path: a folder, or one with the beginning of files' names in it.
    """
    folder, name = (path, "") if os.path.isdir(path) else os.path.split(path)
    if files.is_remote(path) or not _OF_PATTERNS.search(folder):
        yield path
        return
    with tempfile.TemporaryDirectory() as place:
        link = os.path.join(place, "link")
        os.symlink(os.path.abspath(folder), link)
        yield os.path.join(link, name) if name else link
