"""Files of other file systems with all that Python's own files have."""

import io
from typing import Any, BinaryIO


def as_python_file(file: Any) -> BinaryIO:
    """The same file where it is one of Python's; a tf.io.gfile file, open for reading, as one of them."""
    return file if isinstance(file, io.IOBase) else io.BufferedReader(_RemoteReader(file))


class _RemoteReader(io.RawIOBase):
    def __init__(self, file: Any):
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._file.seek(offset, whence)
        return self._file.tell()

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer) -> int:
        contents = self._file.read(len(buffer))
        buffer[: len(contents)] = contents
        return len(contents)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
