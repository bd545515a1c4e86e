"""The files of a checkpoint: what its checkpoint.json says of them, and whether they are still so.

Small files are known by size and SHA-256, a file of tensors by its size: each tensor has a CRC-32C in the index
beside it, which is compared when the tensor is read and misses no flipped bit, and the index has a SHA-256. So a
checkpoint of gigabytes is not read twice.
"""

import os
from collections.abc import Mapping
from typing import Any

from albert_tf.checkpoints.tensor_files import DATA_SUFFIX
from albert_tf.records.record_files import file_size
from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.errors import DamagedError


def describe_files(folder: str) -> dict[str, dict[str, Any]]:
    """{name: {"bytes", "sha256"}} of the files in a folder; of a file of tensors its size alone."""
    return {name: _describe(os.path.join(folder, name)) for name in files.list_folder(folder)}


def check_files(folder: str, described: Mapping[str, Mapping[str, Any]], prefix: str = "") -> None:
    """Compares the files whose names begin with a prefix with what describe_files said of them.

    Raises:
        DamagedError: one is missing, or is not what it was.
    """
    for name, before in described.items():
        if not name.startswith(prefix):
            continue
        path = os.path.join(folder, name)
        if not files.exists(path):
            raise DamagedError(f"{folder}: {name} is missing")
        now = _describe(path)
        if now != before:
            what = "its size" if now["bytes"] != before.get("bytes") else "its SHA-256"
            raise DamagedError(f"{path}: damaged, {what} is not the one in checkpoint.json")


def _describe(path: str) -> dict[str, Any]:
    return {"bytes": file_size(path)} if path.endswith(DATA_SUFFIX) else describe_file(path)
