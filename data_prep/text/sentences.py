"""Raw text to sentences: one a line, a blank line between documents.

Sentences are found by sentencex (Wikimedia's segmenter, about 300 languages); docs/tokenization.md says why.
"""

import contextlib
import dataclasses
import gzip
import json
import lzma
import os
import re
from collections.abc import Callable, Iterable, Iterator

import sentencex
from absl import logging

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import replace_file
from albert_tf.runtime.json_text import refuse_repeats
from albert_tf.runtime.progress import ByteProgress
from albert_tf.tokenization.text_cleaning import LONE_SURROGATES, REPLACEMENT_CHARACTER
from data_prep.text.standard_input import input_files
from data_prep.text.text_files import (
    COMPRESSED,
    import_zstandard,
    read_lines,
    size_of_files,
)

INPUT_FORMATS = ("auto", "text", "jsonl")
HEADINGS = ("drop", "keep")
BLANK_LINES = ("document", "paragraph")

# In JSON lines a paragraph that starts so is a heading.
_HEADING = re.compile(r"#{1,6}\s+")
_BLANK_LINE = re.compile(r"\n\s*\n")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*", re.IGNORECASE)
_KINDS = {"text": "plain", "jsonl": "json"}
_ENDINGS = {".jsonl": "json", ".ndjson": "json", ".json": "json", ".txt": "plain"}

# A paragraph of plain text that grows longer than this many characters is cut at the next line end.
LONGEST_PARAGRAPH = 4_000_000
# Fewer sentences a document than this make hardly any segment pairs.
_FEW_SENTENCES = 3.0


@dataclasses.dataclass(frozen=True)
class SentenceSplitting:
    """What to split, and how.

    Attributes:
        input_file: comma list of paths and globs: .txt or .jsonl, plain or .gz, .xz or .zst.
        output_file: where the sentences go; compressed if its name ends in .gz, .xz or .zst.
        language: code of the text's language, such as "en"; it chooses abbreviations and sentence ends.
        headings: "drop" or "keep" (as a sentence of its own) the headings of JSON lines.
        blank_line: what ends at a blank line of a .txt file: a "document" or only a "paragraph".
        input_format: "text" or "jsonl"; "auto": by the ending of each file.
    """

    input_file: str
    output_file: str
    language: str = "en"
    headings: str = "drop"
    blank_line: str = "document"
    input_format: str = "auto"

    def __post_init__(self):
        if not _LANGUAGE.fullmatch(self.language):
            raise InputError(f"--language must be a code such as en or pt-br. Received {self.language!r}")
        if self.headings not in HEADINGS:
            raise InputError(f"--headings must be drop or keep. Received {self.headings!r}")
        if self.blank_line not in BLANK_LINES:
            raise InputError(f"--blank_line must be document or paragraph. Received {self.blank_line!r}")


@dataclasses.dataclass
class SentenceCounts:
    """What was written: documents, sentences, and bytes of text (UTF-8, before compression)."""

    documents: int = 0
    sentences: int = 0
    bytes: int = 0


def split_files(settings: SentenceSplitting) -> SentenceCounts:
    """Splits all input files into one output file, in order, a paragraph in memory at a time.

    Raises:
        InputError: a file is missing, damaged, not UTF-8 or malformed JSON, or there is no text in any of them.
    """
    counts = SentenceCounts()
    folder = os.path.dirname(settings.output_file)
    with input_files(settings.input_file, folder, settings.input_format) as paths:
        for path in paths:
            _format_of(path, settings.input_format)
        _split_files(paths, settings, counts)
    _warn_of_short_documents(counts, settings)
    return counts


def _split_files(paths: list[str], settings: SentenceSplitting, counts: SentenceCounts) -> None:
    with (
        ByteProgress(size_of_files(paths), "splitting") as progress,
        replace_file(settings.output_file) as raw,
        _compressed(raw, settings.output_file) as output,
    ):
        for path in paths:
            _write_documents(read_paragraphs(path, settings, progress.advance), settings.language, output, counts)
        if not counts.sentences:
            raise InputError(f"--input_file: there is no text in {', '.join(paths)}")


def split_paragraph(paragraph: str, language: str = "en") -> list[str]:
    """The sentences of one paragraph, white space collapsed; line breaks inside it are only spaces.

    >>> split_paragraph("Dr. Smith came.  He\\nstayed.")
    ['Dr. Smith came.', 'He stayed.']
    """
    joined = " ".join(LONE_SURROGATES.sub(REPLACEMENT_CHARACTER, paragraph).split())
    sentences = (" ".join(sentence.split()) for sentence in sentencex.segment(language, joined))
    return [sentence for sentence in sentences if sentence]


def read_paragraphs(
    path: str, settings: SentenceSplitting, report: Callable[[int], None] | None = None
) -> Iterator[str | None]:
    """The paragraphs of a file; None ends a document.

    Args:
        path: a .txt or .jsonl file, plain or compressed.
        settings: how to take headings and blank lines.
        report: see read_lines.
    """
    lines = read_lines(path, report)
    if _format_of(path, settings.input_format) == "json":
        return _json_paragraphs(lines, path, keep_headings=settings.headings == "keep")
    return _plain_paragraphs(lines, blank_line_ends_document=settings.blank_line == "document")


def _plain_paragraphs(lines: Iterable[tuple[int, str]], blank_line_ends_document: bool) -> Iterator[str | None]:
    held: list[str] = []
    length = 0
    for _, line in lines:
        blank = not line.strip()
        if not blank:
            held.append(line)
            length += len(line)
        if held and (blank or length > LONGEST_PARAGRAPH):
            yield " ".join(held)
            held, length = [], 0
        if blank and blank_line_ends_document:
            yield None
    if held:
        yield " ".join(held)
    yield None


def _json_paragraphs(lines: Iterable[tuple[int, str]], path: str, keep_headings: bool) -> Iterator[str | None]:
    for number, line in lines:
        if not line.strip():
            continue
        yield from paragraphs_of_json(line, f"{path}: line {number}", keep_headings)
        yield None


def paragraphs_of_json(line: str, where: str, keep_headings: bool) -> Iterator[str]:
    """The paragraphs of a document in JSON: of its "text", between blank lines, or its "paragraphs".

    Args:
        line: a JSON object.
        where: file and line, for errors.
        keep_headings: whether a heading ("# ...") is a paragraph of its own, or is left out.

    Raises:
        InputError: not such an object.
    """
    return _without_headings(_paragraphs_of_document(line, where), keep_headings)


def paragraphs_of_text(text: str, keep_headings: bool) -> Iterator[str]:
    """What stands between blank lines; headings as in paragraphs_of_json."""
    return _without_headings(_BLANK_LINE.split(text), keep_headings)


def _without_headings(paragraphs: Iterable[str], keep_headings: bool) -> Iterator[str]:
    for paragraph in paragraphs:
        heading = _HEADING.match(paragraph)
        if heading is None:
            yield paragraph
        elif keep_headings:
            yield paragraph[heading.end() :]


def _paragraphs_of_document(line: str, where: str) -> list[str]:
    try:
        document = json.loads(line, object_pairs_hook=refuse_repeats)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON ({error}); each line must be one JSON object") from None
    if isinstance(document, dict) and isinstance(document.get("text"), str):
        return _BLANK_LINE.split(document["text"])
    paragraphs = document.get("paragraphs") if isinstance(document, dict) else None
    if not isinstance(paragraphs, list) or not all(isinstance(paragraph, str) for paragraph in paragraphs):
        raise InputError(
            f'{where} has no text; a document is {{"paragraphs": ["...", ...]}} or {{"text": "..."}}. '
            f"Received {line[:60]!r}"
        )
    return paragraphs


def _write_documents(paragraphs: Iterable[str | None], language: str, output, counts: SentenceCounts) -> None:
    inside = False
    for paragraph in paragraphs:
        if paragraph is None:
            inside = False
            continue
        sentences = split_paragraph(paragraph, language)
        if not sentences:
            continue
        if not inside:
            separator = b"\n" if counts.documents else b""
            counts.documents += 1
            counts.bytes += output.write(separator)
            inside = True
        counts.sentences += len(sentences)
        counts.bytes += output.write(("\n".join(sentences) + "\n").encode("utf-8"))


def _format_of(path: str, input_format: str) -> str:
    if input_format != "auto":
        return _KINDS[input_format]
    name = path
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    for ending, kind in _ENDINGS.items():
        if name.lower().endswith(ending):
            return kind
    raise InputError(
        f"--input_file: {path} is neither .txt nor .jsonl (nor such a file with .gz, .xz or .zst); rename it, or give "
        "--input_format"
    )


@contextlib.contextmanager
def _compressed(raw, path: str):
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


def _warn_of_short_documents(counts: SentenceCounts, settings: SentenceSplitting) -> None:
    if counts.sentences < _FEW_SENTENCES * counts.documents:
        logging.warning(
            "a document has %.1f sentences on average, which makes few segment pairs; "
            "if the blank lines of your .txt files separate paragraphs, give --blank_line=paragraph",
            counts.sentences / counts.documents,
        )
