"""Files of texts to train vectors on: a text in each row or several that belong together, and perhaps a score."""

import dataclasses
import os
from collections.abc import Iterator, Sequence

import numpy as np
from absl import logging

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.parquet_files import open_parquet
from albert_tf.tasks.row_files import PARQUET, parquet_rows
from albert_tf.tasks.tables import (
    FORMATS,
    Row,
    columns_of,
    describe_lines,
    read_lines,
    read_rows,
    require_columns,
)

# Names of a column of scores, as sentence-transformers has them.
SCORE_COLUMNS = ("label", "labels", "score", "scores")
# Columns that tell which row it is.
_ID_COLUMNS = ("id", "idx", "index", "guid", "qid")
_LINE = "text"


@dataclasses.dataclass(frozen=True)
class TextTable:
    """The rows of a file.

    Attributes:
        path: of the file.
        columns: the names of its texts, K of them.
        texts: of each row, K texts.
        scores: float32, of each row, 1 for two texts that are the same; None where there are none.
    """

    path: str
    columns: tuple[str, ...]
    texts: Sequence[tuple[str, ...]]
    scores: np.ndarray | None


def read_table(
    path: str,
    columns: Sequence[str] = (),
    score_column: str | None = None,
    max_score: float = 1.0,
    needs_scores: bool = True,
) -> TextTable:
    """Reads a file; rows with a blank text are left out, with a warning.

    Args:
        path: .jsonl, .tsv, .csv or .parquet; any other file has a text in each line.
        columns: of the texts, in their order; () takes all but ids and the scores.
        score_column: of the scores; None, or if the file lacks it: one of SCORE_COLUMNS, if there is one.
        max_score: the score of two texts that are the same.
        needs_scores: whether scores are learned from; if not, one of SCORE_COLUMNS is left aside, whatever is in it.

    Raises:
        InputError: the file cannot be read, lacks a column, or a value is not what it should be.
    """
    present = columns_in(path)
    if not _has_columns(path):
        return _read_lines(path, columns)
    is_named = score_column in present
    if not is_named:
        score_column = next((name for name in SCORE_COLUMNS if name in present and name not in columns), None)
    texts = tuple(columns) or text_columns(present, score_column)
    require_columns(path, texts, present)
    if not texts:
        raise InputError(f"{path}: no column of texts; it has {', '.join(map(repr, present))}")
    if score_column is not None and not (needs_scores or is_named):
        warn_of_unread(f"{path}, column {score_column!r},")
        score_column = None
    return _read_columns(path, texts, score_column, max_score, () if columns else present)


def warn_of_unread(where: str) -> None:
    """Says that the scores there are not learned from."""
    logging.warning(
        "the scores of %s are not read: all texts of a row count as belonging together; leave rows out that do not",
        where,
    )


def text_columns(present: Sequence[str], score_column: str | None) -> tuple[str, ...]:
    """The columns of texts where none are named: all but those of ids and scores."""
    left_out = (*_ID_COLUMNS, *([score_column] if score_column in present else SCORE_COLUMNS))
    return tuple(name for name in present if name and name not in left_out)


def columns_in(path: str) -> list[str]:
    """The names of a file's columns; none of a file of lines.

    Raises:
        InputError: it cannot be read, or is empty.
    """
    if not files.exists(path):
        raise InputError(f"{path} does not exist")
    if not _has_columns(path):
        return []
    if not _is_parquet(path):
        return columns_of(path)
    with open_parquet(path) as file:
        return list(file.schema.names)


def _has_columns(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in (*FORMATS, PARQUET)


def _is_parquet(path: str) -> bool:
    return os.path.splitext(path)[1].lower() == PARQUET


def _read_lines(path: str, columns: Sequence[str]) -> TextTable:
    if columns:
        endings = ", ".join((*FORMATS, PARQUET))
        raise InputError(
            f"{path} has no column {columns[0]!r}: it is read as lines, a text in each; the name of a file with "
            f"columns ends in {endings}"
        )
    texts = [(text,) for _, text in read_lines(path) if text.strip()]
    if not texts:
        raise InputError(f"{path}: no text in it")
    return TextTable(path, (_LINE,), texts, None)


def _rows_of(path: str, columns: Sequence[str]) -> Iterator[Row]:
    if not _is_parquet(path):
        yield from read_rows(path)
        return
    yield from parquet_rows(path, columns)


def _read_columns(
    path: str, columns: tuple[str, ...], score_column: str | None, max_score: float, present: Sequence[str] = ()
) -> TextTable:
    """Reads the texts of some columns; where `present`, all that the first row has, chose them, no row has another."""
    texts, scores, blank = [], [], []
    names = [*columns, *([] if score_column is None else [score_column])]
    for row in _rows_of(path, names):
        row.check_length()
        _check_names(row, present)
        found = tuple(row.text(name) for name in columns)
        if score_column is not None:
            score = _score(row, score_column, max_score)
        if not all(text.strip() for text in found):
            blank.append(row.line)
            continue
        texts.append(found)
        if score_column is not None:
            scores.append(score)
    if blank:
        logging.warning("%s: %d rows with a blank text are left out (%s)", path, len(blank), describe_lines(blank))
    if not texts:
        raise InputError(f"{path}: no row in it with a text in {', '.join(map(repr, columns))}")
    return TextTable(path, columns, texts, None if score_column is None else np.array(scores, np.float32))


def _check_names(row: Row, present: Sequence[str]) -> None:
    """Raises InputError if a row of JSONL has a text, or a score, that the first one lacks: it would be passed over."""
    for name, value in row.values.items() if present else ():
        if name not in (*present, *_ID_COLUMNS) and value is not None:
            raise InputError(
                f"{row.where}: the first row has no {name!r}, by which columns are chosen; give all rows the same "
                "columns, or name those of texts by --text_columns"
            )


def _score(row: Row, column: str, max_score: float) -> float:
    """A score, divided by the largest there may be."""
    text = row.text(column)
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if not -max_score <= score <= max_score:
        raise InputError(
            f"{row.where}: {column!r} must be a number from {-max_score:g} to {max_score:g} (--max_score). "
            f"Received {text!r}."
        )
    return score / max_score
