"""Documents of a text in two files: to train on, and held out."""

import itertools
import os
from collections.abc import Iterator

from absl import logging

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.text_endings import COMPRESSED, NOT_TEXT, RAW_FORMATS

TRAIN, HELD_OUT = "train.txt", "held_out.txt"
_NOT_PLAIN = (*COMPRESSED, *RAW_FORMATS, *NOT_TEXT)


def check_documents(paths: list[str], every: int) -> None:
    """Sees that documents of a text can be held out.

    Args:
        paths: text files, a sentence a line, a blank line between documents; a file's end ends a document.
        every: how manyth document is held out.

    Raises:
        InputError: a file is no plain text, or there are too few documents.
    """
    for path in paths:
        if path.lower().endswith(_NOT_PLAIN):
            raise InputError(f"--held_out_every takes plain text; {path} is not: split it, and give --held_out_file")
    found = sum(1 for _ in itertools.islice(_documents(paths), every))
    if found < every:
        raise InputError(
            f"--input_file holds {found} documents, too few for --held_out_every={every}; a blank line ends a document"
        )


def split_documents(paths: list[str], every: int, folder: str) -> None:
    """Writes every so manyth document to HELD_OUT, and all others to TRAIN; the folder appears whole or not at all.

    Args:
        paths: text files that `check_documents` let pass.
        every: 20 holds out the 20th document, the 40th, ...
        folder: for the two.
    """
    with files.replace_folder(folder) as temporary:
        counts = [0, 0]
        with (
            open(os.path.join(temporary, TRAIN), "wb") as train,
            open(os.path.join(temporary, HELD_OUT), "wb") as held_out,
        ):
            for number, document in enumerate(_documents(paths), 1):
                is_held_out = number % every == 0
                counts[is_held_out] += 1
                (held_out if is_held_out else train).write(document + b"\n")
    logging.info("%s: %d documents to train on, %d held out", folder, *counts)


def _documents(paths: list[str]) -> Iterator[bytes]:
    """The documents of files, as bytes that end in a line's end."""
    for path in paths:
        lines: list[bytes] = []
        with files.open_binary(path) as file:
            for line in file:
                if line.strip():
                    lines.append(line.rstrip(b"\r\n") + b"\n")
                elif lines:
                    yield b"".join(lines)
                    lines = []
        if lines:
            yield b"".join(lines)
