"""Standard input as a file among others: it is read more than once, so it is copied to the disk first."""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from albert_tf import files
from albert_tf.errors import InputError

STANDARD_INPUT = "-"

_ENDINGS = {"jsonl": ".jsonl", "parquet": ".parquet"}


@contextlib.contextmanager
def input_files(patterns: str, folder: str, input_format: str) -> Iterator[list[str]]:
    """The files that --input_file names; for "-" a copy of standard input, removed at the end.

    Args:
        patterns: comma list of paths and globs, or "-".
        folder: where the copy goes; made if missing, and removed again if nothing came of it.
        input_format: text, jsonl, parquet or auto, for the name of the copy.

    Raises:
        InputError: no file matches; or what the block raises, with "standard input" in place of the copy's name.
    """
    if patterns != STANDARD_INPUT:
        yield files.list_files(patterns)
        return
    folder = "" if files.is_remote(folder) else folder
    made = bool(folder) and not os.path.isdir(folder)
    if folder:
        files.make_folder(folder)
    copy = os.path.join(folder, f".standard-input.{os.getpid()}{_ENDINGS.get(input_format, '.txt')}")
    try:
        with Path(copy).open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        yield [copy]
    except InputError as error:
        raise type(error)(str(error).replace(copy, "standard input")) from None
    finally:
        Path(copy).unlink(missing_ok=True)
        if made and not os.listdir(folder):
            os.rmdir(folder)
