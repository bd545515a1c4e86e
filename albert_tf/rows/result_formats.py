"""Results as lines: JSON for programs, tables for spreadsheets, and one to be read on a terminal."""

import csv
import dataclasses
import functools
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Protocol

from albert_tf.rows.answered_rows import ERROR, ID, INPUT, ROW, WARNING
from albert_tf.rows.line_rows import ID_COLUMNS
from albert_tf.runtime.json_text import to_json

AUTO = "auto"
JSONL, TSV, CSV, PARQUET, TABLE = FORMATS = ("jsonl", "tsv", "csv", "parquet", "table")
# Their columns are those of all rows, which must be known before the first.
WITH_COLUMNS = (TSV, CSV, PARQUET)
_TEXT_WIDTH = 40
# What would end a cell of TSV.
_SPACES = dict.fromkeys(map(ord, "\t\n\r"), " ")
# Classes of one example, as in the files of training; other lists of an answer are words, or tags of words.
_SEPARATORS = {"labels": "|", "words": " ", "tags": " "}
_ENTITIES = "entities"


def choose_format(asked: str, output_file: str | None = None) -> str:
    """The format of the results of a command: the one asked for, else by the file's name, else by who reads.

    Results go to standard output, or a file, in one format; all else goes to standard error.

    Args:
        asked: one of FORMATS, or AUTO: TABLE on a terminal, JSONL to a program or into a file of no other ending.
        output_file: None for standard output.
    """
    if asked != AUTO:
        return asked
    if output_file is not None:
        ending = os.path.splitext(output_file)[1].lower().removeprefix(".")
        return ending if ending in WITH_COLUMNS else JSONL
    return TABLE if sys.stdout.isatty() else JSONL


@dataclasses.dataclass(frozen=True)
class ResultColumns:
    """The columns of a table of results, which are known before the first of them.

    Attributes:
        has_id: whether rows may have an id.
        inputs: names of the columns of the input that go along.
        answers: names of the columns of an answer.
    """

    has_id: bool
    inputs: tuple[str, ...]
    answers: tuple[str, ...]

    @classmethod
    def of(
        cls, columns: Iterable[str], answer: Mapping[str, Any], carried: Sequence[str] | None = None
    ) -> "ResultColumns":
        """The columns for an input.

        Args:
            columns: names of all columns of the input.
            answer: one of the model's, to whatever question.
            carried: names of those that go along; None: all.
        """
        columns = list(columns)
        inputs = tuple(name for name in columns if carried is None or name in carried)
        return cls(any(name in ID_COLUMNS for name in columns), inputs, tuple(answer_cells(answer)))

    @functools.cached_property
    def names(self) -> list[str]:
        """The names of all columns."""
        inputs = (f"{INPUT}: {name}" for name in self.inputs)
        return [ROW, *([ID] if self.has_id else []), *inputs, *self.answers, WARNING, ERROR]

    def cells(self, result: Mapping[str, Any], join: bool = True) -> list[Any]:
        """The values of a result; None where it has none. Lists of the answer are joined to a text, or left."""
        cells = {name: result[name] for name in (ROW, ID, WARNING, ERROR) if name in result}
        cells |= {f"{INPUT}: {name}": value for name, value in result[INPUT].items()} | answer_cells(result, join)
        return [cells.get(name) for name in self.names]


class ResultForm(Protocol):
    """The form in which results are written, a window of them after another.

    Attributes:
        is_final: whether the parts, one after another, are the file; else `finish` makes it of them.
    """

    is_final: bool

    def header(self) -> bytes:
        """The part before the first result."""

    def encode(self, results: Sequence[Mapping[str, Any]]) -> bytes:
        """The part of some results."""

    def finish(self, parts: BinaryIO, file: BinaryIO) -> None:
        """Writes the file of the parts, the header first; of a form that is not final."""


class LineForm:
    """Results as lines.

    Args:
        line_of: makes the line of a result, without its end.
        header: lines before the first.
    """

    is_final = True

    def __init__(self, line_of: Callable[[Mapping[str, Any]], str], header: Sequence[str] = ()):
        self._line_of, self._header = line_of, header

    def header(self) -> bytes:
        """See ResultForm."""
        return b"".join(map(to_bytes, self._header))

    def encode(self, results: Sequence[Mapping[str, Any]]) -> bytes:
        """See ResultForm."""
        return b"".join(to_bytes(self._line_of(result)) for result in results)

    def finish(self, parts: BinaryIO, file: BinaryIO) -> None:
        """See ResultForm."""
        shutil.copyfileobj(parts, file, 1 << 20)


def line_form(file_format: str, columns: ResultColumns | None = None) -> LineForm:
    """The form of results of answered_rows.

    Args:
        file_format: JSONL, TSV, CSV or TABLE.
        columns: of TSV and CSV.
    """
    if file_format not in _DELIMITED:
        return LineForm(json_line if file_format == JSONL else _terminal_line)
    line_of = _DELIMITED[file_format]
    return LineForm(lambda result: line_of(list(map(cell_text, columns.cells(result)))), [line_of(list(columns.names))])


def json_line(value: Any) -> str:
    """A value as a line of JSON."""
    return to_json(value, ensure_ascii=False)


def to_bytes(line: str) -> bytes:
    r"""A line in UTF-8; a lone surrogate, which that cannot hold, is written as \udcff, in JSON its own name."""
    return f"{line}\n".encode(errors="backslashreplace")


def answer_cells(result: Mapping[str, Any], join: bool = True) -> dict[str, Any]:
    """The model's answer as columns; each probability has its own. Lists of texts are joined to one, or left."""
    cells = {}
    for name, value in result.items():
        if name in (ROW, ID, INPUT, WARNING, ERROR):
            continue
        if isinstance(value, dict):
            cells |= {f"{name}: {key}": part for key, part in value.items()}
        elif name == _ENTITIES:
            # A list of objects is JSON in every table.
            cells[name] = json_line(value)
        else:
            cells[name] = _SEPARATORS[name].join(value) if join and name in _SEPARATORS else value
    return cells


def cell_text(value: Any) -> str:
    """A value as the text of a cell: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json_line(value)


def _tsv_line(cells: list[str]) -> str:
    """A line of tab-separated cells. No cell is quoted, so what would end one becomes a space."""
    return "\t".join(cell.translate(_SPACES) for cell in cells)


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


_DELIMITED: dict[str, Callable[[list[str]], str]] = {TSV: _tsv_line, CSV: _csv_line}


def _terminal_line(result: Mapping[str, Any]) -> str:
    """The row's number and id, the beginning of its text, and the answer, for a person."""
    answer = f"error: {result[ERROR]}" if ERROR in result else _shown(result)
    parts = [f"{result[ROW]:>5}", *([f"{printable(str(result[ID])):<12}"] if ID in result else [])]
    if "tags" not in result:
        given = result[INPUT]
        texts = [value for name, value in given.items() if isinstance(value, str) and name not in ID_COLUMNS]
        text = printable(str(given["question"] if "question" in given else max(texts, key=len, default="")))
        parts.append(f"{text if len(text) <= _TEXT_WIDTH else text[: _TEXT_WIDTH - 1] + '…':<{_TEXT_WIDTH}}")
    warning = f"({result[WARNING]})" if WARNING in result else ""
    return "  ".join(filter(None, [*parts, printable(answer), printable(warning)]))


def _shown(result: Mapping[str, Any]) -> str:
    chances = result.get("probabilities")
    if "label" in result:
        return f"{result['label']}  {chances[result['label']]:.4f}"
    if "labels" in result:
        return ", ".join(f"{label} {chances[label]:.4f}" for label in result["labels"]) or "none"
    if "choice" in result:
        option = result[INPUT].get("options", ())
        return f"{result['choice']}  {chances[result['choice']]:.4f}  {option[result['choice']] if option else ''}"
    if "tags" in result:
        return " ".join(f"{word}/{tag}" for word, tag in zip(result["words"], result["tags"]))
    if _ENTITIES in result:
        found = result[_ENTITIES]
        return ", ".join(f"{one['text']}/{one['label']} {one['start']}-{one['end']}" for one in found) or "none"
    if "answer" in result:
        place = f"{result['start']}-{result['end']}"
        return f"{result['answer']}  {place}  {result['score']:.2f}" if result["end"] else "no answer"
    return f"{result['score']:.4f}"


def printable(text: str) -> str:
    """A text without what would move the cursor or change the colours of a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)
