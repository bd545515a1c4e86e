"""Results as lines: JSON for programs, tables for spreadsheets, and one to be read on a terminal."""

import csv
import io
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from albert_tf.runtime.json_text import to_json
from albert_tf.serving.answered_rows import (
    ERROR,
    ID,
    ID_COLUMNS,
    INPUT,
    ROW,
    WARNING,
)

AUTO = "auto"
JSONL, TSV, CSV, TABLE = FORMATS = ("jsonl", "tsv", "csv", "table")
_TEXT_WIDTH = 40
# Classes of one example, as in the files of training; other lists of an answer are words, or tags of words.
_SEPARATORS = {"labels": "|", "words": " ", "tags": " "}


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
        return ending if ending in (TSV, CSV) else JSONL
    return TABLE if sys.stdout.isatty() else JSONL


def format_results(results: Iterable[Mapping[str, Any]], file_format: str, columns: Iterable[str]) -> Iterator[str]:
    """Yields the lines of the results of answered_rows.

    Args:
        results: of answer_rows.
        file_format: one of FORMATS.
        columns: names of all columns of the input, for the header of TSV and CSV.
    """
    if file_format == JSONL:
        return map(_json_line, results)
    if file_format == TABLE:
        return map(_terminal_line, results)
    return _delimited(results, list(columns), _tsv_line if file_format == TSV else _csv_line)


def _json_line(value: Any) -> str:
    return to_json(value, ensure_ascii=False)


def to_bytes(line: str) -> bytes:
    r"""A line in UTF-8; a lone surrogate, which that cannot hold, is written as \udcff, in JSON its own name."""
    return f"{line}\n".encode(errors="backslashreplace")


def _delimited(results, columns: list[str], line_of: Callable[[list[str]], str]) -> Iterator[str]:
    """The header, once the first answer shows its columns, and the rows."""
    results = iter(results)
    waiting = []
    for result in results:
        waiting.append(result)
        if ERROR not in result:
            break
    has_id = any(ID in result for result in waiting)
    answer = _answer_cells(waiting[-1]) if waiting and ERROR not in waiting[-1] else {}
    header = [ROW, *([ID] if has_id else []), *(f"{INPUT}: {name}" for name in columns), *answer, WARNING, ERROR]
    yield line_of(header)
    for result in itertools.chain(waiting, results):
        given = {f"{INPUT}: {name}": value for name, value in result[INPUT].items()}
        cells = {name: result[name] for name in (ROW, ID, WARNING, ERROR) if name in result}
        cells |= given | _answer_cells(result)
        yield line_of([_cell(cells.get(name, "")) for name in header])


def _answer_cells(result: Mapping[str, Any]) -> dict[str, Any]:
    """The model's answer as columns; each probability has its own."""
    cells = {}
    for name, value in result.items():
        if name in (ROW, ID, INPUT, WARNING, ERROR):
            continue
        if isinstance(value, dict):
            cells |= {f"{name}: {key}": part for key, part in value.items()}
        else:
            cells[name] = _SEPARATORS[name].join(value) if name in _SEPARATORS else value
    return cells


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else _json_line(value)


def _tsv_line(cells: list[str]) -> str:
    """A line of tab-separated cells. No cell is quoted, so what would end one becomes a space."""
    return "\t".join(cell.translate(dict.fromkeys(map(ord, "\t\n\r"), " ")) for cell in cells)


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


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
    if "answer" in result:
        place = f"{result['start']}-{result['end']}"
        return f"{result['answer']}  {place}  {result['score']:.2f}" if result["end"] else "no answer"
    return f"{result['score']:.4f}"


def printable(text: str) -> str:
    """A text without what would move the cursor or change the colours of a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)
