"""Raw text files to one file of sentences: one a line, a blank line between documents."""

import contextlib
import dataclasses
import gzip
import lzma
import os
from typing import Annotated

from absl import logging

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import replace_file
from albert_tf.runtime.progress import ByteProgress
from albert_tf.runtime.settings import check, described
from data_prep.text.documents import read_documents, sentences_of
from data_prep.text.standard_input import input_files
from data_prep.text.text_files import import_zstandard, size_of_files
from data_prep.text.text_reading import TextReading

# A paragraph or a document that grows longer than this many characters is split piece by piece.
LONGEST_PIECE = 4_000_000
# Fewer sentences a document than this make hardly any segment pairs.
_FEW_SENTENCES = 3.0


@described
@dataclasses.dataclass(frozen=True)
class SentenceSplitting:
    """Settings for splitting text into sentences."""

    input_file: Annotated[
        str,
        'Comma list of files and globs: .txt; .jsonl with {"paragraphs": [...]} or {"text": "..."} on each line; '
        ".parquet with a column of text; the first two also .gz, .xz or .zst.",
    ]
    output_file: Annotated[str, "Where to write the sentences; a name in .gz, .xz or .zst is compressed."]
    reading: Annotated[TextReading, "How the files are read."] = dataclasses.field(
        default_factory=lambda: TextReading(split_sentences=True)
    )

    def __post_init__(self):
        check(self)


@dataclasses.dataclass
class SentenceCounts:
    """Counts of what was written: documents, sentences, and bytes of text (UTF-8, before compression)."""

    documents: int = 0
    sentences: int = 0
    bytes: int = 0


def split_files(settings: SentenceSplitting) -> SentenceCounts:
    """Splits all input files into one output file, in order, a piece of a document in memory at a time.

    Raises:
        InputError: a file is missing, damaged, not UTF-8 or malformed JSON, or there is no text in any of them.
    """
    counts = SentenceCounts()
    folder = os.path.dirname(settings.output_file)
    with (
        input_files(settings.input_file, folder, settings.reading.input_format) as paths,
        ByteProgress(size_of_files(paths), "splitting") as progress,
        replace_file(settings.output_file) as raw,
        _compressed(raw, settings.output_file) as output,
    ):
        settings.reading.check_files(paths)
        documents = read_documents(paths, LONGEST_PIECE, False, progress.advance, settings.reading)
        _write_documents(documents, settings.reading, output, counts)
        if not counts.sentences:
            raise InputError(f"--input_file: there is no text in {', '.join(paths)}")
    _warn_of_short_documents(counts)
    return counts


def _write_documents(documents, reading: TextReading, output, counts: SentenceCounts) -> None:
    written = None
    for document in documents:
        sentences = sentences_of(document, reading)
        if not sentences:
            continue
        if document.source != written:
            separator = b"" if written is None else b"\n"
            counts.bytes += output.write(separator)
            counts.documents += 1
            written = document.source
        counts.sentences += len(sentences)
        counts.bytes += output.write(("\n".join(sentences) + "\n").encode("utf-8"))


@contextlib.contextmanager
def _compressed(raw, path: str):
    path = path.lower()
    if path.endswith(".gz"):
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as file:
            yield file
    elif path.endswith(".xz"):
        with lzma.LZMAFile(raw, "wb", preset=1) as file:
            yield file
    elif path.endswith(".zst"):
        with import_zstandard().ZstdCompressor(level=3).stream_writer(raw, closefd=False) as file:
            yield file
    else:
        yield raw


def _warn_of_short_documents(counts: SentenceCounts) -> None:
    if counts.sentences < _FEW_SENTENCES * counts.documents:
        logging.warning(
            "a document has %.1f sentences on average, which makes few segment pairs; "
            "if the blank lines of your .txt files separate paragraphs, give --blank_line=paragraph",
            counts.sentences / counts.documents,
        )
