"""Files of finished work: arrays and a header, with a checksum over all of it; whole or not there at all.

A run that was killed finds what it had finished by these files: one that can be read and whose checksum is right is
finished. Layout: the arrays, each at a multiple of 64 bytes; a header in JSON; its length, the crc32c of everything
before that checksum, and eight bytes that say what this is. It is not safetensors, which has no checksum and whose
NumPy reader copies what is mapped here: 191 MB of memory in place of none for an array of 200 MB, twice as much to
write it.
"""

import contextlib
import dataclasses
import errno
import json
import mmap
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np

from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.workspace import naming, temporary_of

_MAGIC = b"albertU1"
_TRAILER = struct.Struct("<II8s")
_ALIGNMENT = 64
_BLOCK = 1 << 20


@dataclasses.dataclass(frozen=True)
class Unit:
    """A finished unit of work.

    Attributes:
        header: what it says of itself; JSON.
        arrays: name -> array of one dimension, mapped from the file.
    """

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write_unit(path: str, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray | bytes]) -> None:
    """Writes a unit under a temporary name beside `path`, then gives it its name.

    Raises:
        OSError: it cannot be written (a full disk); the temporary file is removed.
    """
    temporary = temporary_of(path)
    described, offset, checksum = {}, 0, 0
    try:
        with naming(path), Path(temporary).open("wb") as file:
            for name, values in arrays.items():
                kind = "bytes" if isinstance(values, bytes) else values.dtype.str
                contents = values if isinstance(values, bytes) else np.ascontiguousarray(values).tobytes()
                described[name] = [kind, offset, len(contents)]
                padding = bytes(-len(contents) % _ALIGNMENT)
                for block in (contents, padding):
                    checksum = google_crc32c.extend(checksum, block)
                    file.write(block)
                offset += len(contents) + len(padding)
            text = to_json({"header": header, "arrays": described}).encode()
            checksum = google_crc32c.extend(checksum, text)
            checksum = google_crc32c.extend(checksum, struct.pack("<I", len(text)))
            file.write(text + _TRAILER.pack(len(text), checksum, _MAGIC))
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink(missing_ok=True)
        raise


def read_unit(path: str, check: bool = False) -> Unit | None:
    """Opens a unit; None if there is none, or it is damaged.

    Args:
        path: the file.
        check: whether to read all of it and compare the checksum.
    """
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _TRAILER.size:
                return None
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        return None
    length, checksum, magic = _TRAILER.unpack(mapped[size - _TRAILER.size :])
    begin = size - _TRAILER.size - length
    if magic != _MAGIC or begin < 0 or (check and _checksum(mapped, size - _TRAILER.size + 4) != checksum):
        return None
    try:
        text = json.loads(mapped[begin : begin + length])
    except ValueError:
        return None
    view = memoryview(mapped)
    arrays = {}
    for name, (kind, offset, count) in text["arrays"].items():
        dtype = np.dtype(np.uint8 if kind == "bytes" else kind)
        arrays[name] = np.frombuffer(view, dtype, count // dtype.itemsize, offset)
    return Unit(text["header"], arrays)


def load_unit(path: str) -> Unit:
    """Opens a unit that must be there.

    Raises:
        FileNotFoundError: it is not, or is damaged: another task has finished the job and cleared up.
    """
    unit = read_unit(path)
    if unit is None:
        raise FileNotFoundError(errno.ENOENT, "no whole unit of work", path)
    return unit


def _checksum(mapped: mmap.mmap, end: int) -> int:
    checksum = 0
    for start in range(0, end, _BLOCK):
        checksum = google_crc32c.extend(checksum, mapped[start : min(start + _BLOCK, end)])
    return checksum
