"""Text files of any size, plain or compressed, read line by line; a fault in one is said in one line."""

import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator

from albert_tf.errors import InputError
from albert_tf.files import is_remote, open_binary

COMPRESSED = (".gz", ".xz")

_UTF8_MARK = b"\xef\xbb\xbf"
_LINES_BETWEEN_REPORTS = 64
_DAMAGE = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


def read_lines(path: str, report: Callable[[int], None] | None = None) -> Iterator[tuple[int, str]]:
    """Reads a text file, one line in memory at a time.

    Args:
        path: a local or remote file; one whose name ends in .gz or .xz is decompressed on the way.
        report: called now and then with the number of bytes read from the disk since the last call.

    Yields:
        (line number from 1, the line without its line end). A byte order mark is left out.

    Raises:
        InputError: the file is missing, a folder, not UTF-8, or an archive that is damaged or cut short.
    """
    number = 0
    try:
        for number, line in _read_raw_lines(path, report):
            yield number, line
    except (FileNotFoundError, IsADirectoryError) as error:
        raise InputError(f"{path}: {error.strerror}; give a text file, plain or .gz or .xz") from None
    except _DAMAGE as error:
        raise InputError(
            f"{path}: the archive is damaged or cut short after line {number} ({error}); copy it again"
        ) from None


def size_of_files(paths: list[str]) -> int:
    """The number of bytes that the files take on their disks."""
    if any(map(is_remote, paths)):
        from albert_tf.command import import_tensorflow

        return sum(import_tensorflow().io.gfile.stat(path).length for path in paths)
    return sum(os.path.getsize(path) for path in paths)


def _read_raw_lines(path: str, report: Callable[[int], None] | None) -> Iterator[tuple[int, str]]:
    with open_binary(path) as raw, _decompressed(raw, path) as file:
        offset = reported = 0
        for number, line in enumerate(file, 1):
            start, offset = offset, offset + len(line)
            if number == 1 and line.startswith(_UTF8_MARK):
                start, line = len(_UTF8_MARK), line[len(_UTF8_MARK) :]
            yield number, _decode(line, path, number, start).rstrip("\r\n")
            if report is not None and number % _LINES_BETWEEN_REPORTS == 0:
                position = raw.tell()
                report(position - reported)
                reported = position
        if report is not None:
            report(raw.tell() - reported)


def _decompressed(raw, path: str):
    if path.endswith(".gz"):
        return gzip.GzipFile(fileobj=raw)
    if path.endswith(".xz"):
        return lzma.LZMAFile(raw)
    return raw


def _decode(line: bytes, path: str, number: int, start: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: line {number} is not UTF-8 at byte {start + error.start} of the text "
            f"(0x{line[error.start]:02x}); convert the file, for example with iconv -f latin1 -t utf-8"
        ) from None
