"""Short descriptions of files: of their contents, sizes and SHA-256; of when they were changed, stamps."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from albert_tf.runtime import files
from albert_tf.runtime.json_text import to_json

_BLOCK = 1 << 20


def describe_file(path: str, longest: int | None = None) -> dict[str, Any]:
    """Describes a file, local or remote.

    Args:
        path: of the file.
        longest: bytes after which to stop: a file that is longer is described up to there and a block more.

    Returns:
        {"bytes": its size, "sha256": in hexadecimal}.

    Raises:
        OSError: it cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    with files.open_binary(path) as file:
        while (longest is None or size <= longest) and (block := file.read(_BLOCK)):
            digest.update(block)
            size += len(block)
    return {"bytes": size, "sha256": digest.hexdigest()}


def stamp_of(path: str) -> tuple[int, int]:
    """Size of a file, local or remote, and time of its last change (nanoseconds): other ones after it was written to.

    Raises:
        OSError: it is gone.
    """
    if files.is_remote(path):
        from albert_tf.runtime.tensorflow_import import remote_files

        found = remote_files().stat(path)
        return found.length, found.mtime_nsec
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def digest_of_files(paths: Iterable[str]) -> str:
    """A digest of the contents of files, in their order; how they are called does not count."""
    return digest_of_described([describe_file(path) for path in paths])


def digest_of_described(described: Sequence[Mapping[str, Any]]) -> str:
    """The same, of what `describe_file` says of each."""
    return hashlib.sha256(to_json(described).encode()).hexdigest()
