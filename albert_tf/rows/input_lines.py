"""The lines of what predict and fill_mask read: a file, a named pipe or standard input, none of them without an end."""

import io
import os
import stat
import time
from collections.abc import Iterator
from typing import BinaryIO

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.remote_reader import as_python_file

# Bytes; what is longer is no text that anybody wrote, and may have no end.
LONGEST_LINE = 1 << 24
# Seconds in which a named pipe must find a program that writes into it.
PATIENCE = 10.0
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


def read_lines(file: BinaryIO, name: str) -> Iterator[str]:
    r"""Yields each line without its end; only \n and \r\n end one. A byte order mark at the start is dropped.

    Bytes that are not UTF-8 become lone surrogates, which `input_fields.is_unicode` finds.

    Args:
        file: open for reading.
        name: what to call it in an error.

    Raises:
        InputError: a line of more than LONGEST_LINE bytes.
    """
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise InputError(f"{name}, line {number}: longer than {LONGEST_LINE >> 20} MiB; this is no text")
        text = line.decode("utf-8", "surrogateescape")
        if number == 1:
            text = text.removeprefix(_BYTE_ORDER_MARK)
        yield text.removesuffix("\n").removesuffix("\r")


def open_input(path: str) -> BinaryIO:
    """Opens a file or a named pipe.

    Raises:
        InputError: there is none, it is a folder or a device, or a pipe that nobody writes into.
        OSError: no right to read it.
    """
    check_input(path)
    if not files.is_remote(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        return _open_pipe(path)
    return as_python_file(files.open_binary(path))


class LineFile:
    """A file of lines, or a named pipe, which is open while they are read."""

    def __init__(self, path: str):
        self._path = path
        self._file: BinaryIO | None = None

    def lines(self) -> Iterator[str]:
        """Yields the lines; errors are those of open_input and read_lines."""
        with open_input(self._path) as self._file:
            yield from read_lines(self._file, self._path)

    def share_read(self) -> float:
        """Tells how much of a file was read so far, from 0 to 1."""
        if self._file is None:
            return 0.0
        return 1.0 if self._file.closed else self._file.tell() / max(1, os.path.getsize(self._path))


def check_input(path: str) -> None:
    """Raises InputError if there is nothing at the path, or a thing that is not read to an end."""
    if files.is_remote(path):
        if not files.exists(path):
            raise InputError(f"{path} does not exist")
        return
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except ValueError:
        raise InputError(f"{path!r} is no file name") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder; a file was expected")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise InputError(f"{path} is a device; name a file, or leave it out to read standard input")


def _open_pipe(path: str) -> BinaryIO:
    """The reading end of a named pipe; opening it in the usual way would wait for a writer without an end."""
    descriptor, deadline = os.open(path, os.O_RDONLY | os.O_NONBLOCK), time.monotonic() + PATIENCE
    try:
        while not (first := _first_byte(descriptor)) and first is not None:
            if time.monotonic() > deadline:
                raise InputError(f"{path}: no program writes into this pipe; waited {PATIENCE:.0f} seconds")
            time.sleep(0.05)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return io.BufferedReader(_Pipe(descriptor, first or b""))


def _first_byte(descriptor: int) -> bytes | None:
    """Reads a byte of a pipe that does not block: b"" if nobody writes, None if somebody has written nothing yet."""
    try:
        return os.read(descriptor, 1)
    except BlockingIOError:
        return None


class _Pipe(io.RawIOBase):
    """A pipe after the byte that was read of it already."""

    def __init__(self, descriptor: int, first: bytes):
        self._file, self._first = os.fdopen(descriptor, "rb", buffering=0), first

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int | None:
        if not self._first:
            return self._file.readinto(buffer)
        buffer[:1], self._first = self._first, b""
        return 1

    def close(self) -> None:
        self._file.close()
        super().close()
