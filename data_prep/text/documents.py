"""Files to documents, and documents to parts: pieces of the corpus that one work unit takes.

How the corpus is cut into parts depends on the text alone, never on the number of workers, so that each part and
what is drawn from it are the same in every run. Nothing is taken apart here that a worker can take apart: a document
of a JSONL file is its line.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Iterator

from albert_tf.runtime.errors import InputError
from data_prep.text.parquet_files import read_rows
from data_prep.text.text_files import read_lines
from data_prep.text.text_reading import TextReading

# Characters in a part. A worker holds one part and some examples made of it; the corpus may be of any size.
PART_CHARACTERS = 1 << 20

# A longer line is no sentence, and its pieces beyond max_seq_length would be cut off anyway.
MAX_LINE_CHARACTERS = 1_000_000

# What the texts of a document are: sentences; paragraphs to split; one JSON object; text with blank lines.
SENTENCES, PARAGRAPHS, JSON, TEXT = "sentences", "paragraphs", "json", "text"


@dataclasses.dataclass(frozen=True)
class Document:
    """A document, or a piece of one that is larger than a part.

    Attributes:
        source: number of the document in the corpus; pieces of one document share it.
        texts: stripped sentences, none empty; or what `kind` says.
        kind: what the texts are.
        where: file and line, for errors.
    """

    source: int
    texts: list[str]
    kind: str = SENTENCES
    where: str = ""


@dataclasses.dataclass(frozen=True)
class Part:
    """Some documents that follow one another in the corpus.

    Attributes:
        index: number of the part, from 0.
        documents: at least two, unless the corpus has only one or one of them is many parts long.
    """

    index: int
    documents: list[Document]

    def digest(self) -> str:
        """A digest of the documents, in hexadecimal."""
        digest = hashlib.blake2b(digest_size=16)
        for document in self.documents:
            digest.update(f"{document.source} {document.kind} {len(document.texts)}\n".encode())
            digest.update("\n".join(document.texts).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def describe(self) -> str:
        """Number and place of the part, for errors."""
        return f"part {self.index} ({self.documents[0].where})"


def read_parts(
    paths: Iterable[str],
    part_characters: int = PART_CHARACTERS,
    join_files: bool = False,
    report: Callable[[int], None] | None = None,
    reading: TextReading | None = None,
) -> Iterator[Part]:
    """Reads the corpus as parts, two of them in memory at a time.

    Args:
        paths: files.
        part_characters: a part ends with the first document that brings it to this size.
        join_files: whether a document goes on in the next file unless a blank line ends it, as in the official
            code. By default the end of a file ends the document.
        report: called now and then with the number of bytes read since the last call.
        reading: how the files are read; by default as sentences.

    Raises:
        InputError: a file is missing, damaged, not UTF-8, or holds a line that cannot be a sentence.
    """
    documents = read_documents(paths, part_characters, join_files, report, reading or TextReading())
    held: list[Document] = []
    index = 0
    for group in _group(documents, part_characters):
        if min(_count_sources(held), _count_sources(group)) >= 2:
            yield Part(index, held)
            index += 1
            held = group
        else:
            # Only the last group, or one that a very long document fills, has fewer than two sources.
            held = [*held, *group]
            if sum(_size(document.texts) for document in held) >= 4 * part_characters:
                yield Part(index, held)
                index += 1
                held = []
    if held:
        yield Part(index, held)


def sentences_of(document: Document, reading: TextReading) -> list[str]:
    """The sentences of a document, whatever its form.

    Raises:
        InputError: a JSON line that holds no text.
    """
    if document.kind == SENTENCES:
        return document.texts
    # Only raw text needs the splitter.
    from data_prep.text.sentences import paragraphs_of_json, paragraphs_of_text, split_paragraph

    paragraphs, keep_headings = document.texts, reading.headings == "keep"
    if document.kind == JSON:
        paragraphs = paragraphs_of_json(document.texts[0], document.where, keep_headings)
    elif document.kind == TEXT:
        paragraphs = paragraphs_of_text(document.texts[0], keep_headings)
    return [
        sentence
        for paragraph in paragraphs
        for sentence in split_paragraph(paragraph, reading.language, reading.longest_sentence)
    ]


def _group(documents: Iterator[Document], part_characters: int) -> Iterator[list[Document]]:
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += _size(document.texts)
        if size >= part_characters:
            yield group
            group, size = [], 0
    if group:
        yield group


def read_documents(
    paths: Iterable[str],
    most_characters: int,
    join_files: bool,
    report: Callable[[int], None] | None,
    reading: TextReading,
) -> Iterator[Document]:
    """Reads the corpus document by document; one that is larger than `most_characters` comes in several pieces.

    Arguments and errors are those of read_parts.
    """
    collector = _Collector(most_characters)
    for path in paths:
        kind = reading.format_of(path)
        if kind == "jsonl":
            yield from collector.whole(read_lines(path, report), JSON, path, "line")
        elif kind == "parquet":
            yield from collector.whole(read_rows(path, reading.text_column, report), TEXT, path, "row")
        elif reading.split_sentences:
            lines = read_lines(path, report)
            yield from collector.paragraphs(lines, path, reading.blank_line == "document")
        else:
            yield from collector.sentences(read_lines(path, report), path)
        if not join_files:
            yield from collector.end()
    yield from collector.end()


class _Collector:
    """Gathers texts to documents, which are cut where they reach a size; counts the documents of the corpus."""

    def __init__(self, most_characters: int):
        self._most = most_characters
        self._source = 0
        self._texts: list[str] = []
        self._characters = 0
        self._kind, self._where = SENTENCES, ""

    def whole(self, texts: Iterable[tuple[int, str]], kind: str, path: str, unit: str) -> Iterator[Document]:
        """Each text is a document."""
        yield from self.end()
        for number, text in texts:
            if text.strip():
                yield Document(self._source, [text], kind, f"{path}: {unit} {number}")
                self._source += 1

    def sentences(self, lines: Iterable[tuple[int, str]], path: str) -> Iterator[Document]:
        """Each line is a sentence; a blank one ends the document."""
        self._kind = SENTENCES
        for number, line in lines:
            if len(line) > MAX_LINE_CHARACTERS:
                raise InputError(
                    f"{path}: line {number} has {len(line)} characters, at most {MAX_LINE_CHARACTERS} can be a "
                    "sentence; write one sentence a line, for example with split_sentences"
                )
            sentence = line.strip()
            if sentence:
                yield from self._add(sentence, path, number)
            else:
                yield from self.end()

    def paragraphs(self, lines: Iterable[tuple[int, str]], path: str, blank_line_ends: bool) -> Iterator[Document]:
        """Lines up to a blank one are a paragraph, which ends the document or not."""
        held: list[str] = []
        size = start = 0
        self._kind = PARAGRAPHS
        for number, line in lines:
            if line.strip():
                start = start if held else number
                held.append(line)
                size += len(line)
                if size < self._most:
                    continue
            if held:
                yield from self._add("\n".join(held), path, start)
                held, size = [], 0
            if blank_line_ends and not line.strip():
                yield from self.end()
        if held:
            yield from self._add("\n".join(held), path, start)

    def end(self) -> Iterator[Document]:
        """The document ends here."""
        if self._texts:
            yield self._take()
        if self._where:
            self._source += 1
            self._where = ""

    def _add(self, text: str, path: str, number: int) -> Iterator[Document]:
        if not self._texts:
            self._where = f"{path}: line {number}"
        self._texts.append(text)
        self._characters += len(text)
        if self._characters >= self._most:
            yield self._take()

    def _take(self) -> Document:
        document = Document(self._source, self._texts, self._kind, self._where)
        self._texts, self._characters = [], 0
        return document


def _size(texts: list[str]) -> int:
    return sum(map(len, texts))


def _count_sources(documents: list[Document]) -> int:
    return len({document.source for document in documents})
