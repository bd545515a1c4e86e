"""Questions in tables of a user's own, as the questions of SQuAD: a row has a question, a context and its answers.

JSONL, a list in a .json file, CSV or TSV. The answers of a row are `answers`, {"text": [...], "answer_start": [...]} as
Hugging Face has them or a list of objects with both, in CSV and TSV written as JSON; or one text in `answer`, with its
place in `answer_start` if it is known; or `answer_start` and `answer_end` alone.
"""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from absl import logging

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.json_rows import JSON_FORMATS, load_json, read_objects
from albert_tf.tasks.tables import FORMATS, Row, read_rows, require_columns

QUESTION, CONTEXT, ANSWERS, ANSWER_START, ANSWER_END = "question", "context", "answers", "answer_start", "answer_end"
IS_IMPOSSIBLE = "is_impossible"
_ANSWER_NAMES = ("answer", "answer_text")
_ID_NAMES = ("id", "guid", "qid", "index")
_WORDS = {"": False, "false": False, "0": False, "true": True, "1": True}


def is_table(path: str) -> bool:
    """Tells whether a file is a table, not a nested file of SQuAD: by its name, and of .json by what stands in it."""
    ending = os.path.splitext(path)[1].lower()
    if ending != ".json":
        return ending in FORMATS
    found = load_json(path)
    return not isinstance(found, Mapping) or QUESTION in found


def table_questions(path: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields (file and place, context, question) of every row; the question as an object of SQuAD's `qas`.

    An answer without a place is taken where it first stands as whole words, else where it first stands at all; the
    number of those that stand at several places is warned of.

    Raises:
        InputError: the file cannot be read, or a row is not what it should be.
    """
    several = 0
    rows = read_objects(path) if os.path.splitext(path)[1].lower() in JSON_FORMATS else read_rows(path)
    for number, row in enumerate(rows):
        row.check_length()
        if number == 0:
            _check_columns(row)
        context = row.text(CONTEXT)
        named = (row.values.get(name) for name in _ID_NAMES)
        qas_id = next((str(value) for value in named if value not in (None, "")), str(number))
        question: dict[str, Any] = {"id": qas_id, QUESTION: row.text(QUESTION)}
        is_impossible = _truth(row)
        if is_impossible is not None:
            question[IS_IMPOSSIBLE] = is_impossible
        given = _answers(row, context)
        if given is not None:
            question[ANSWERS] = []
            for text, start in given:
                if start is None and text.strip():
                    places = places_of(context, text)
                    several += len(places) > 1
                    start = _likeliest(context, text, places) if places else 0
                question[ANSWERS].append({"text": text, ANSWER_START: start or 0})
        yield row.where, context, question
    if several:
        logging.warning(
            "%s: %d answers without answer_start stand at several places; taken where they first stand as whole words",
            *(path, several),
        )


def _check_columns(row: Row) -> None:
    if os.path.splitext(row.path)[1].lower() not in JSON_FORMATS:
        require_columns(row.path, (QUESTION, CONTEXT), list(row.values))


def _answers(row: Row, context: str) -> list[tuple[str, int | None]] | None:
    """(text, place or None) of each answer; None where the row says nothing of answers."""
    value = row.values.get(ANSWERS)
    is_blank = isinstance(value, str) and not value.strip()
    if value is not None and not is_blank:
        return _listed(row, _parsed(row, value) if isinstance(value, str) else value)
    name = next((name for name in _ANSWER_NAMES if row.values.get(name) is not None), None)
    start, end = (_place(row, key, row.values.get(key)) for key in (ANSWER_START, ANSWER_END))
    if name is not None:
        text = row.text(name)
        return [(text, start)] if text.strip() else []
    if start is None:
        # A blank cell says that there is none, where nothing else says more.
        return [] if is_blank else None
    if end is None:
        raise InputError(f"{row.where}: {ANSWER_START} without an answer; give its text as 'answer', or {ANSWER_END}")
    if not 0 <= start < end <= len(context):
        raise InputError(f"{row.where}: {start} to {end} is no part of a context of {len(context)} characters")
    return [(context[start:end], start)]


def _parsed(row: Row, text: str) -> Any:
    """The answers in a cell of a table."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(
            f"{row.where}: {ANSWERS} must be JSON; one answer alone may stand in a column 'answer'"
        ) from None


def _listed(row: Row, value: Any) -> list[tuple[str, int | None]]:
    if isinstance(value, Mapping):
        texts = value.get("text")
        starts = value.get(ANSWER_START) or [None] * (len(texts) if isinstance(texts, list) else 0)
        if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
            raise InputError(
                f'{row.where}: {ANSWERS} must be {{"text": [...], "{ANSWER_START}": [...]}}, of equal lengths'
            )
        value = [{"text": text, ANSWER_START: start} for text, start in zip(texts, starts)]
    if not isinstance(value, list):
        raise InputError(f"{row.where}: {ANSWERS} must be a list, or an object of lists; received {value!r:.40}")
    found = []
    for number, one in enumerate(value):
        one = {"text": one} if isinstance(one, str) else one
        text = one.get("text") if isinstance(one, Mapping) else None
        if not isinstance(text, str):
            raise InputError(f"{row.where}: {ANSWERS}[{number}] must have a text; received {one!r:.40}")
        found.append((text, _place(row, f"{ANSWERS}[{number}].{ANSWER_START}", one.get(ANSWER_START))))
    return found


def _place(row: Row, name: str, value: Any) -> int | None:
    """A place in characters, of JSON or of a cell; None where there is none."""
    if value is None or value == "":
        return None
    try:
        # A column of numbers with gaps has 12.0 for 12.
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else float("nan")
    except ValueError:
        number = float("nan")
    if not number.is_integer():
        raise InputError(f"{row.where}: {name} must be a whole number; received {value!r:.40}")
    return int(number)


def _truth(row: Row) -> bool | None:
    value = row.values.get(IS_IMPOSSIBLE)
    if value is None or isinstance(value, bool):
        return value
    if str(value).strip().lower() not in _WORDS:
        raise InputError(f"{row.where}: {IS_IMPOSSIBLE} must be true or false; received {value!r:.40}")
    return _WORDS[str(value).strip().lower()]


def places_of(context: str, text: str) -> list[int]:
    """All places where a text stands in another."""
    places, place = [], context.find(text)
    while place >= 0:
        places.append(place)
        place = context.find(text, place + 1)
    return places


def _likeliest(context: str, text: str, places: list[int]) -> int:
    """The first place where a text stands as whole words, else the first of all."""

    def is_whole(place: int) -> bool:
        end = place + len(text)
        cuts_before = place > 0 and context[place - 1].isalnum() and text[0].isalnum()
        return not cuts_before and not (end < len(context) and context[end].isalnum() and text[-1].isalnum())

    return next(filter(is_whole, places), places[0])
