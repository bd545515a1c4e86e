"""Documents of a text in two files: to train on, and held out."""

import hashlib
import os
from collections.abc import Iterator

from absl import logging

from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json

TRAIN, HELD_OUT = "train.txt", "held_out.txt"
_COMPRESSED = (".gz", ".xz", ".zst", ".jsonl", ".parquet")


def digest_of(paths: list[str]) -> str:
    """A digest of the contents of files, in their order."""
    return hashlib.sha256(to_json([describe_file(path) for path in paths]).encode()).hexdigest()


def split_documents(paths: list[str], every: int, folder: str) -> None:
    """Writes every so manyth document to HELD_OUT, and all others to TRAIN; the folder appears whole or not at all.

    Args:
        paths: text files, a sentence a line, a blank line between documents; a file's end ends a document.
        every: 20 holds out the 20th document, the 40th, ...
        folder: for the two.

    Raises:
        InputError: a file is compressed, or there are too few documents.
    """
    for path in paths:
        if path.endswith(_COMPRESSED):
            raise InputError(f"--held_out_every takes plain text; {path} is not: split it, and give --held_out_file")
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
        if not all(counts):
            raise InputError(
                f"--input_file holds {sum(counts)} documents, too few for --held_out_every={every}; "
                "a blank line ends a document"
            )
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
