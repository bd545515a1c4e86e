"""Short description of a file's contents: its size and its SHA-256."""

import hashlib
from typing import Any

from albert_tf.runtime import files

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
