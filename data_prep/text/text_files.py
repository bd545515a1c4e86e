"""Text files of any size, plain or compressed, read line by line; a fault in one is said in one line."""

import codecs
import contextlib
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import is_remote, open_binary

# A longer line (bytes) is a binary file or an endless one; it is refused before it fills the memory.
LONGEST_LINE = 1 << 28

_UTF8_MARK = codecs.BOM_UTF8
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLOCK = 1 << 18
_DAMAGE = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


def read_lines(path: str, report: Callable[[int], None] | None = None) -> Iterator[tuple[int, str]]:
    """Reads a text file, a block of lines in memory at a time.

    Args:
        path: a local or remote file; one whose name ends in .gz, .xz or .zst is decompressed on the way.
        report: called now and then with the number of bytes read from the disk since the last call.

    Yields:
        (line number from 1, the line without its line end). A byte order mark is left out.

    Raises:
        InputError: the file is missing, a folder, not UTF-8, an archive that is damaged or cut short, or a line has
            no end.
    """
    number = 0
    try:
        with open_binary(path) as raw, decompressed(raw, path) as file:
            for first, block in _read_blocks(file, path, raw, report):
                for number, line in enumerate(block, first):
                    yield number, line
    except (FileNotFoundError, IsADirectoryError) as error:
        raise InputError(f"{path}: {error.strerror}; give a text file, plain or .gz, .xz or .zst") from None
    except _DAMAGE as error:
        raise InputError(
            f"{path}: the archive is damaged or cut short after line {number} ({error}); copy it again"
        ) from None
    except OSError as error:
        # Else it would be taken for an error of the output.
        if error.filename is None:
            error.filename = path
        raise


def size_of_files(paths: list[str]) -> int:
    """The number of bytes that the files take on their disks."""
    if any(map(is_remote, paths)):
        from albert_tf.runtime.tensorflow_import import remote_files

        return sum(remote_files().stat(path).length for path in paths)
    return sum(os.path.getsize(path) for path in paths)


@contextlib.contextmanager
def decompressed(raw, path: str) -> Iterator:
    """The bytes of an open file as they were before it was compressed; its name tells how it was."""
    name = path.lower()
    if name.endswith(".gz"):
        with gzip.GzipFile(fileobj=raw) as file:
            yield file
    elif name.endswith(".xz"):
        yield io.BufferedReader(_XzReader(raw), _BLOCK)
    elif name.endswith(".zst"):
        yield io.BufferedReader(_ZstandardReader(raw), _BLOCK)
    else:
        yield raw


def import_zstandard():
    """The package zstandard.

    Raises:
        InputError: it is not installed.
    """
    try:
        import zstandard
    except ImportError:
        raise InputError(".zst files need the extra zstd: pip install 'albert_tf[zstd]'") from None
    return zstandard


class _XzReader(io.RawIOBase):
    """The decompressed bytes of one or several xz streams, with padding or without; what else follows is an error.

    Python's LZMAFile takes a damaged stream for the end, if it is not the first one, and so does it padding.
    """

    def __init__(self, raw):
        self._raw = raw
        self._stream: lzma.LZMADecompressor | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        while True:
            compressed = b""
            if self._stream is None or self._stream.eof:
                compressed = self._begin_of_stream()
                if not compressed and self._stream is not None:
                    return 0
                self._stream = lzma.LZMADecompressor()
            elif self._stream.needs_input:
                compressed = self._raw.read(io.DEFAULT_BUFFER_SIZE)
            if not compressed and self._stream.needs_input:
                raise EOFError("the file ended before its end marker")
            found = self._stream.decompress(compressed, len(buffer))
            if found:
                buffer[: len(found)] = found
                return len(found)

    def _begin_of_stream(self) -> bytes:
        """The first bytes of the next stream, or none, without the zeros that may stand before it."""
        begin = b"" if self._stream is None else self._stream.unused_data
        while not (begin := begin.lstrip(b"\0")):
            begin = self._raw.read(io.DEFAULT_BUFFER_SIZE)
            if not begin:
                return b""
        return begin


class _ZstandardReader(io.RawIOBase):
    """The decompressed bytes of one or several zstd frames; a last frame that is cut short is an error."""

    def __init__(self, raw):
        self._zstandard = import_zstandard()
        self._raw, self._held, self._frame = raw, b"", None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        while not self._held:
            compressed = b""
            if self._frame is not None and self._frame.eof:
                compressed, self._frame = self._frame.unused_data, None
            compressed = compressed or self._raw.read(_BLOCK)
            if not compressed:
                if self._frame is not None:
                    raise EOFError("the file ended before its end marker")
                return 0
            if self._frame is None:
                self._frame = self._zstandard.ZstdDecompressor().decompressobj()
            try:
                self._held = self._frame.decompress(compressed)
            except self._zstandard.ZstdError as error:
                raise EOFError(str(error)) from None
        count = min(len(buffer), len(self._held))
        buffer[:count], self._held = self._held[:count], self._held[count:]
        return count


def _read_blocks(file, path: str, raw, report: Callable[[int], None] | None) -> Iterator[tuple[int, list[str]]]:
    """Yields (number of the first line, lines) of each block."""
    number, offset, reported = 1, 0, 0
    held: list[bytes] = []
    while True:
        # read1 gives what is there: the lines before a damage are still read.
        block = getattr(file, "read1", file.read)(_BLOCK)
        if report is not None:
            position = raw.tell()
            report(position - reported)
            reported = position
        end = block.rfind(b"\n") + 1
        if block and not end:
            held.append(block)
            if sum(map(len, held)) > LONGEST_LINE:
                raise InputError(f"{path}: line {number} is longer than {LONGEST_LINE} bytes; this is no text file")
            continue
        lines = b"".join((*held, block[:end]))
        held = [block[end:]]
        if lines:
            text = _decode(lines, path, number, offset)
            offset += len(lines)
            decoded = text.split("\n")
            if end:
                decoded.pop()
            if "\r" in text:
                # Alone it ends a line too, as on old Macs.
                decoded = [part for line in decoded for part in line.rstrip("\r").split("\r")]
            yield number, decoded
            number += len(decoded)
        if not block:
            return


def _decode(lines: bytes, path: str, number: int, offset: int) -> str:
    """Lines as text, without the byte order mark of a file; `number` and `offset` are those of the first."""
    mark = len(_UTF8_MARK) if offset == 0 and lines.startswith(_UTF8_MARK) else 0
    try:
        return lines[mark:].decode("utf-8")
    except UnicodeDecodeError as error:
        at = mark + error.start
        encoding = "utf-16" if offset == 0 and lines.startswith(_UTF16_MARKS) else "latin1"
        line = number + lines.count(b"\n", 0, at)
        raise InputError(
            f"{path}: line {line} is not UTF-8 at byte {offset + at} of the text "
            f"(0x{lines[at]:02x}); convert the file, for example with iconv -f {encoding} -t utf-8"
        ) from None
