"""CoNLL columns: a word and its tags on a line, an empty line after each sentence."""

import dataclasses
import itertools
from collections.abc import Iterator

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.tables import read_lines

# Between the documents of CoNLL-2003.
_DOCUMENT_START = "-DOCSTART-"


@dataclasses.dataclass(frozen=True)
class Sentence:
    """The words of a sentence.

    Attributes:
        guid: its number in the file, from 0.
        words: as they stand there.
        tags: the number of each word's tag; None without labels.
    """

    guid: str
    words: tuple[str, ...]
    tags: tuple[int, ...] | None = None


def read_sentences(
    path: str, word_column: int, tag_column: int, tags_may_lack: bool
) -> list[tuple[Sentence, list[tuple[str, str]] | None]]:
    """The sentences of a file, all at once; arguments and errors are those of each_sentence."""
    return list(each_sentence(path, word_column, tag_column, tags_may_lack))


def each_sentence(
    path: str, word_column: int, tag_column: int, tags_may_lack: bool
) -> Iterator[tuple[Sentence, list[tuple[str, str]] | None]]:
    """Yields the sentences of a file, each with (file and line, tag) of its words.

    Columns are separated by tabs, where the line has any, else by white space. In a file with tabs a line without
    them that starts with # is a comment.

    Args:
        path: the file.
        word_column, tag_column: numbers of columns; negative ones count from the end.
        tags_may_lack: whether a file with the words alone is read (a test file).

    Raises:
        InputError: no such file, no sentences, or lines with different numbers of columns.
    """
    with_tabs = any("\t" in line for _, line in read_lines(path))
    count, words, tags = 0, [], []
    columns: int | None = None
    # An empty line after the last ends its sentence.
    for number, line in itertools.chain(read_lines(path), ((0, ""),)):
        if not line.strip() or line.startswith(_DOCUMENT_START):
            if words:
                yield Sentence(str(count), tuple(words)), tags or None
                count, words, tags = count + 1, [], []
            continue
        if with_tabs and line.startswith("#") and "\t" not in line:
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        columns = len(fields) if columns is None else columns
        if len(fields) != columns:
            raise InputError(f"{path}, line {number}: {len(fields)} columns; the lines before it have {columns}")
        words.append(_column(fields, word_column, path, number))
        if columns > 1 or not tags_may_lack:
            if columns == 1:
                raise InputError(f"{path}, line {number}: one column; a word and its tag were expected")
            tags.append((f"{path}, line {number}", _column(fields, tag_column, path, number)))
            if word_column % columns == tag_column % columns:
                raise InputError(
                    f"{path}, line {number}: --text_column={word_column} and --label_column={tag_column} are the same "
                    f"of its {columns} columns"
                )
    if not count:
        raise InputError(f"{path} holds no sentences")


def _column(fields: list[str], column: int, path: str, line: int) -> str:
    if not -len(fields) <= column < len(fields):
        raise InputError(f"{path}, line {line}: there is no column {column} (from 0); the line has {len(fields)}")
    value = fields[column].strip()
    if not value:
        raise InputError(f"{path}, line {line}: column {column} (from 0) is empty")
    return value
