"""Standard input and pipes as files among others: text is read more than once, so they are copied to the disk first."""

import contextlib
import os
import select
import shutil
import sys
import time
from collections.abc import Iterator

from absl import logging

from albert_tf.runtime import files, temporaries
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.output_paths import STANDARD_INPUT
from albert_tf.runtime.text_endings import COMPRESSED

# How long a pipe may have no writer, in seconds, before it is given up: a shell starts both ends at once.
PATIENCE = 10.0

_ENDINGS = {"jsonl": ".jsonl", "parquet": ".parquet"}
_KNOWN_ENDINGS = (".txt", ".jsonl", ".ndjson", ".json", ".parquet")
_COPIES = "standard-input"
_BLOCK = 1 << 20
_SECONDS_BETWEEN_LINES = 10.0


@contextlib.contextmanager
def input_files(patterns: str, folder: str, input_format: str) -> Iterator[list[str]]:
    """The files that --input_file names; for "-" and for a pipe, as of <(command), a copy, removed at the end.

    Args:
        patterns: comma list of paths and globs, or "-".
        folder: where the copies go; made if missing, and removed again if nothing came of it.
        input_format: text, jsonl, parquet or auto, for the name of a copy whose source's name does not say it.

    Raises:
        InputError: no file matches, or one is a device; or what the block raises, with what was copied in place of the
            copy's name.
    """
    paths = [STANDARD_INPUT] if patterns == STANDARD_INPUT else files.list_files(patterns)
    for path in paths:
        kind = None if files.is_remote(path) else files.describe_special(path)
        if kind not in (None, "a pipe"):
            raise InputError(f"--input_file: {path} is {kind}; give a file, a pipe, or - for standard input")
    special = [path for path in paths if path == STANDARD_INPUT or files.describe_special(path)]
    if not special:
        yield paths
        return
    folder = "" if files.is_remote(folder) else folder
    made = bool(folder) and not os.path.isdir(folder)
    if folder:
        files.make_folder(folder)
    names: dict[str, str] = {}
    try:
        temporaries.remove_leftovers(folder)
        with temporaries.created_folder(os.path.join(folder, _COPIES)) as copies:
            try:
                for path in special:
                    copy = os.path.join(copies, f"{len(names)}{_ending(path, input_format)}")
                    names[copy] = "standard input" if path == STANDARD_INPUT else path
                    _copy(path, copy)
                    paths[paths.index(path)] = copy
                yield paths
            finally:
                shutil.rmtree(copies)
    except InputError as error:
        message = str(error)
        for copy, name in names.items():
            message = message.replace(copy, name)
        raise type(error)(message) from None
    finally:
        if made and os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)


def name_of_input(patterns: str, path: str) -> str:
    """The name of an input in a manifest; of a file, its name without its folder."""
    if patterns == STANDARD_INPUT:
        return "standard input"
    return "a pipe" if os.path.basename(os.path.dirname(path)).startswith(f".{_COPIES}.") else os.path.basename(path)


def _copy(path: str, copy: str) -> None:
    blocks = _read_standard_input() if path == STANDARD_INPUT else read_pipe(path)
    try:
        with open(copy, "xb") as file:
            for block in blocks:
                file.write(block)
    except OSError as error:
        if error.filename is None:
            error.filename = copy
        raise


def read_pipe(path: str, patience: float = PATIENCE) -> Iterator[bytes]:
    """The bytes of a pipe until its last writer closes it.

    Raises:
        InputError: nobody writes to it for `patience` seconds.
    """
    # Opened so, a pipe that nobody writes to does not hold the program up.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    progress = _Progress(path)
    written = False
    try:
        while True:
            try:
                block = os.read(descriptor, _BLOCK)
            except BlockingIOError:
                # There is a writer, and nothing from it yet.
                written = True
                select.select([descriptor], [], [], _SECONDS_BETWEEN_LINES)
                progress.advance(0)
                continue
            if block:
                written = True
                progress.advance(len(block))
                yield block
            elif written or _was_closed(descriptor):
                return
            elif progress.seconds > patience:
                raise InputError(
                    f"--input_file: nobody writes to {path}, a pipe; start what writes to it, or give a file"
                )
            else:
                time.sleep(0.05)
    finally:
        os.close(descriptor)


def _read_standard_input() -> Iterator[bytes]:
    progress = _Progress("standard input")
    if sys.stdin.isatty():
        logging.info("reading standard input; end it with Ctrl-D")
    while block := sys.stdin.buffer.read1(_BLOCK):
        progress.advance(len(block))
        yield block


class _Progress:
    """Says now and then how much has come; its end is not known."""

    def __init__(self, name: str):
        self._name, self._bytes = name, 0
        self._started = self._last_line = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def advance(self, count: int) -> None:
        self._bytes += count
        if time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            waiting = "" if count else ", waiting for more"
            logging.info("copying %s: %.1f MB in %.0f s%s", self._name, self._bytes / 1e6, self.seconds, waiting)


def _was_closed(descriptor: int) -> bool:
    """Tells whether a pipe that gives nothing had a writer, who has closed it."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def _ending(path: str, input_format: str) -> str:
    """The ending of a copy's name, which tells what is in it: that of its source, else of the format that was given."""
    name, packed = path.lower(), ""
    for ending in COMPRESSED:
        if name.endswith(ending):
            name, packed = name.removesuffix(ending), ending
    known = next((ending for ending in _KNOWN_ENDINGS if name.endswith(ending)), None)
    return (known or _ENDINGS.get(input_format, ".txt")) + packed
