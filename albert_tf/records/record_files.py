"""TFRecord files, written and checked without tensorflow.

A record on disk is: length, uint64 little-endian; masked crc32c of those 8 bytes, uint32; the data; masked crc32c
of the data, uint32 (tensorflow/core/lib/io/record_writer.cc). A file may be compressed as a whole, by gzip or zlib.
"""

import contextlib
import gzip
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import google_crc32c

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
FRAME_BYTES = _HEADER.size + _FOOTER.size
# A length beyond this is a damaged length; the largest pre-training record is a few kilobytes.
_MAX_RECORD_BYTES = 1 << 31


def frame(data: bytes) -> bytes:
    """The record as it stands in a TFRecord file: length, checksum, data, checksum."""
    length = len(data).to_bytes(8, "little")
    return b"".join(
        (length, _FOOTER.pack(masked_crc32c(length)), data, _FOOTER.pack(masked_crc32c(data))),
    )


def masked_crc32c(data: bytes) -> int:
    """The crc32c of the bytes, rotated and shifted by a constant as TFRecord does (lib/hash/crc32c.h)."""
    crc = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def detect_compression(path: str) -> str:
    """Recognises the compression of a TFRecord file by its first bytes, whatever its name.

    Returns:
        "", "GZIP" or "ZLIB": what tf.data.TFRecordDataset takes as its compression_type.
    """
    with files.open_binary(path) as file:
        start = file.read(_HEADER.size)
    if len(start) == _HEADER.size and _header_is_sound(start):
        return ""
    if start[:2] == b"\x1f\x8b":
        return "GZIP"
    if len(start) >= 2 and start[0] == 0x78 and int.from_bytes(start[:2], "big") % 31 == 0:
        return "ZLIB"
    return ""


def is_record_file(path: str) -> bool:
    """Tells whether a file begins as a TFRecord file does, compressed or not."""
    with _open(path, detect_compression(path)) as file:
        try:
            start = _read(file, path, 0, _HEADER.size)
        except InputError:
            return False
    return len(start) == _HEADER.size and _header_is_sound(start)


def read_records(path: str) -> Iterator[tuple[int, bytes]]:
    """Reads a TFRecord file, compressed or not, checking every checksum.

    Yields:
        (offset of the record in the file, data). In a compressed file the offset is that in the decompressed bytes.

    Raises:
        InputError: the file is damaged; the message names the file and the offset.
    """
    compression = detect_compression(path)
    with _open(path, compression) as file:
        offset = 0
        while True:
            header = _read(file, path, offset, _HEADER.size)
            if not header:
                return
            where = f"{path}: offset {offset}" + (" of the decompressed bytes" if compression else "")
            if len(header) < _HEADER.size:
                raise InputError(f"{where}: the file ends inside a record; copy or make it again")
            if not _header_is_sound(header):
                raise InputError(_describe_bad_header(path, offset, where))
            length = _HEADER.unpack(header)[0]
            body = _read(file, path, offset, length + _FOOTER.size)
            if len(body) < length + _FOOTER.size:
                raise InputError(f"{where}: the file ends inside a record; copy or make it again")
            data = body[:length]
            if masked_crc32c(data) != _FOOTER.unpack(body[length:])[0]:
                raise InputError(f"{where}: a record is corrupt (wrong checksum); copy or make the file again")
            yield offset, data
            offset += length + FRAME_BYTES


def count_examples(paths: Iterable[str]) -> int:
    """The number of records in the files, from the length of each record; the data is not checked.

    Raises:
        InputError: a length is damaged; the message names the file and the offset.
    """
    total = 0
    for path in paths:
        if detect_compression(path):
            total += sum(1 for _ in read_records(path))
            continue
        size = file_size(path)
        with files.open_binary(path) as file:
            offset = 0
            while offset < size:
                file.seek(offset)
                header = file.read(_HEADER.size)
                if len(header) < _HEADER.size or not _header_is_sound(header):
                    raise InputError(_describe_bad_header(path, offset, f"{path}: offset {offset}"))
                offset += _HEADER.unpack(header)[0] + FRAME_BYTES
                total += 1
            if offset != size:
                raise InputError(f"{path}: offset {size}: the file ends inside a record; copy or make it again")
    return total


def locate_damage(paths: Iterable[str]) -> str | None:
    """Finds the first corrupt record: one line with file and byte offset; None if all records are sound.

    TensorFlow's DataLossError often names neither; call this after one.
    """
    for path in paths:
        try:
            for _ in read_records(path):
                pass
        except InputError as error:
            return str(error)
    return None


def file_size(path: str) -> int:
    """The size of a local or remote file in bytes."""
    if not files.is_remote(path):
        return os.path.getsize(path)
    with files.open_binary(path) as file:
        return file.size()


def are_as_noted(paths: Iterable[str], noted: Iterable[Mapping[str, Any]]) -> bool:
    """Tells whether files have the names and sizes that a run noted of those that it read: {"name", "bytes"} each."""
    there = sorted((os.path.basename(path), file_size(path)) for path in paths)
    return there == sorted((file["name"], file["bytes"]) for file in noted)


def _header_is_sound(header: bytes) -> bool:
    length, checksum = _HEADER.unpack(header)
    return length <= _MAX_RECORD_BYTES and masked_crc32c(header[:8]) == checksum


def _describe_bad_header(path: str, offset: int, where: str) -> str:
    if offset == 0:
        return f"{path}: not a TFRecord file, or damaged at its start; give files made by create_pretraining_data"
    return f"{where}: a record is corrupt (wrong length); copy or make the file again"


@contextlib.contextmanager
def _open(path: str, compression: str) -> Iterator:
    with files.open_binary(path) as file:
        if compression == "GZIP":
            with gzip.GzipFile(fileobj=file, mode="rb") as unzipped:
                yield unzipped
        elif compression == "ZLIB":
            yield _ZlibReader(file)
        else:
            yield file


def _read(file, path: str, offset: int, size: int) -> bytes:
    try:
        return file.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = str(error).rstrip(".")
        raise InputError(
            f"{path}: offset {offset} of the decompressed bytes: the compressed data is damaged ({reason}); "
            "copy or make the file again"
        ) from error


class _ZlibReader:
    """The decompressed bytes of a zlib stream, read a little at a time."""

    def __init__(self, file) -> None:
        self._file = file
        self._decompress = zlib.decompressobj()
        self._held = b""

    def read(self, size: int) -> bytes:
        pieces, wanted = [self._held], size - len(self._held)
        while wanted > 0:
            compressed = self._file.read(1 << 16)
            if not compressed:
                if not self._decompress.eof:
                    raise EOFError("the file ended before its end marker")
                break
            pieces.append(self._decompress.decompress(compressed))
            wanted -= len(pieces[-1])
        everything = b"".join(pieces)
        self._held = everything[size:]
        return everything[:size]
