"""Text files to documents, and documents to parts: pieces of the corpus that one work unit takes.

A line is a sentence, a blank line ends a document. How the corpus is cut into parts depends on the text alone,
never on the number of workers, so that each part and what is drawn from it are the same in every run.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator

from albert_tf.errors import InputError
from data_prep.text_files import read_lines

# Characters in a part. A worker holds one part and all examples made of it; the corpus may be of any size.
PART_CHARACTERS = 1 << 20

# A longer line is no sentence, and its pieces beyond max_seq_length would be cut off anyway.
MAX_LINE_CHARACTERS = 1_000_000


@dataclasses.dataclass(frozen=True)
class Document:
    """A document, or a piece of one that is larger than a part.

    Attributes:
        source: number of the document in the corpus; pieces of one document share it.
        sentences: stripped lines, none empty.
    """

    source: int
    sentences: list[str]


@dataclasses.dataclass(frozen=True)
class Part:
    """Some documents that follow one another in the corpus.

    Attributes:
        index: number of the part, from 0.
        documents: at least two, unless the corpus has only one or one of them is many parts long.
    """

    index: int
    documents: list[Document]


def read_parts(
    paths: Iterable[str],
    part_characters: int = PART_CHARACTERS,
    join_files: bool = False,
    report: Callable[[int], None] | None = None,
) -> Iterator[Part]:
    """Reads the corpus as parts, two of them in memory at a time.

    Args:
        paths: text files, plain, .gz or .xz.
        part_characters: a part ends with the first document that brings it to this size.
        join_files: whether a document goes on in the next file unless a blank line ends it, as in the official
            code. By default the end of a file ends the document.
        report: called now and then with the number of bytes read since the last call.

    Raises:
        InputError: a file is missing, damaged, not UTF-8, or holds a line that cannot be a sentence.
    """
    held: list[Document] = []
    index = 0
    for group in _group(_read_documents(paths, part_characters, join_files, report), part_characters):
        if min(_count_sources(held), _count_sources(group)) >= 2:
            yield Part(index, held)
            index += 1
            held = group
        else:
            # Only the last group, or one that a very long document fills, has fewer than two sources.
            held = [*held, *group]
            if sum(_size(document.sentences) for document in held) >= 4 * part_characters:
                yield Part(index, held)
                index += 1
                held = []
    if held:
        yield Part(index, held)


def _group(documents: Iterator[Document], part_characters: int) -> Iterator[list[Document]]:
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += _size(document.sentences)
        if size >= part_characters:
            yield group
            group, size = [], 0
    if group:
        yield group


def _read_documents(
    paths: Iterable[str], most_characters: int, join_files: bool, report: Callable[[int], None] | None
) -> Iterator[Document]:
    source, sentences, size = 0, [], 0
    for path in paths:
        for number, line in read_lines(path, report):
            if len(line) > MAX_LINE_CHARACTERS:
                raise InputError(
                    f"{path}: line {number} has {len(line)} characters, at most {MAX_LINE_CHARACTERS} can be a "
                    "sentence; write one sentence a line, for example with split_sentences"
                )
            sentence = line.strip()
            if sentence:
                sentences.append(sentence)
                size += len(sentence)
                if size < most_characters:
                    continue
            if sentences:
                yield Document(source, sentences)
            sentences, size = [], 0
            source += not sentence
        if not join_files:
            if sentences:
                yield Document(source, sentences)
            sentences, size = [], 0
            source += 1
    if sentences:
        yield Document(source, sentences)


def _size(sentences: list[str]) -> int:
    return sum(map(len, sentences))


def _count_sources(documents: list[Document]) -> int:
    return len({document.source for document in documents})
