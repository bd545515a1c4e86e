"""Rows with the model's answers: one for each input row, in order, whatever became of it."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from albert_tf.runtime.errors import InputError
from albert_tf.serving.input_fields import empty_fields
from albert_tf.serving.input_rows import InputRow

ROW, ID, INPUT, ERROR, WARNING = "row", "id", "input", "error", "warning"
# Columns that say which example a row is; the first that is there counts.
ID_COLUMNS = (ID, "guid", "index", "idx", "qid")


def answer_rows(predictor, rows: Iterable[InputRow], batch_size: int) -> Iterator[dict[str, Any]]:
    """Yields for each row a dict that JSON can hold.

    "row", its number; "id", where it has one; "input", its columns as they were given; and what Predictor.predict says
    of it, with a "warning" where its text is empty or a second text is not read. A row that cannot be answered has an
    "error" instead.

    Args:
        predictor: an albert_tf.serving.predictor.Predictor.
        rows: see input_rows.
        batch_size: rows that are run together.
    """
    rows = iter(rows)
    while batch := list(itertools.islice(rows, batch_size)):
        results = [_checked(predictor, row) for row in batch]
        answered = [number for number, result in enumerate(results) if ERROR not in result]
        found = _predictions(predictor, [batch[number] for number in answered])
        for number, prediction in zip(answered, found, strict=True):
            warning = {WARNING: results[number].pop(WARNING)} if WARNING in results[number] else {}
            results[number] |= prediction | warning
        yield from results


def _predictions(predictor, rows: Sequence[InputRow]) -> list[dict[str, Any]]:
    """The predictions of sound rows; where the model fails on the batch, each row by itself, with its error."""
    try:
        return predictor.predict([row.values for row in rows])
    except InputError as error:
        if len(rows) == 1:
            return [{ERROR: f"{rows[0].where}: {error}"}]
    return [prediction for row in rows for prediction in _predictions(predictor, [row])]


def count_errors(results: Iterable[dict[str, Any]], errors: list[str]) -> Iterator[dict[str, Any]]:
    """The same results; those of them that are errors are noted on the way."""
    for result in results:
        if ERROR in result:
            errors.append(result[ERROR])
        yield result


def _checked(predictor, row: InputRow) -> dict[str, Any]:
    """The row as it will be written, with its error, or its warning, if it has one."""
    named = next((row.values[column] for column in ID_COLUMNS if column in row.values), None)
    result = {ROW: row.number, **({} if named is None else {ID: named}), INPUT: dict(row.values)}
    if row.error is not None:
        return {**result, ERROR: f"{row.where}: {row.error}"}
    try:
        checked = predictor.example_fields.check(row.values, row.where)
    except InputError as error:
        return {**result, ERROR: str(error)}
    empty = empty_fields(checked, predictor.example_fields.names)
    warning = f"no text in {', '.join(map(repr, empty))}" if empty else predictor.example_fields.unread(row.values)
    return result if warning is None else {**result, WARNING: f"{row.where}: {warning}"}
