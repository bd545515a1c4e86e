"""The rows of SuperGLUE: their texts as fields of a model, a text and another or options; their labels and numbers.

The names of the columns are those of the official JSON Lines, and of the data sets library, which has the same but for
MultiRC and WSC. A word that a task asks about stands in quotation marks, with spaces inside them, so that its own
pieces stay what they are.
"""

import ast
import dataclasses
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.tables import Row

LABEL, INDEX = "label", "idx"
_NO_LABEL = -1
_TEXT, _TEXT_PAIR = "text", "text_pair"
# Of COPA: the word between the premise and a choice.
_CONNECTIVES = {"cause": "because", "effect": "so"}


@dataclasses.dataclass(frozen=True)
class RowForm:
    """Rules by which a task's rows become fields.

    Attributes:
        columns: the names of its columns, beside the label's; several lists where they may be called differently.
        fields: makes {field: value} of a row.
    """

    columns: tuple[tuple[str, ...], ...]
    fields: Callable[[Row], dict[str, Any]]

    def fits(self, present: Collection[str]) -> bool:
        """Tells whether all columns are there."""
        return any(set(names) <= set(present) for names in self.columns)


def whole_number(row: Row, column: str) -> int:
    """A number from 0, which a CSV file has as digits.

    Raises:
        InputError: it is something else.
    """
    value = row.values.get(column)
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InputError(f"{row.where}: {column!r} must be a whole number from 0; received {value!r}")
    return value


def _pair(first: str, second: str) -> RowForm:
    """Two columns, as they are."""
    return RowForm(((first, second),), lambda row: {_TEXT: row.text(first), _TEXT_PAIR: row.text(second)})


def _word_in_context(row: Row) -> dict[str, Any]:
    """WiC: the word and the first sentence, the second sentence; the word in quotation marks in both."""
    first, second = (_quoted_word(row, number) for number in "12")
    return {_TEXT: f"{row.text('word')}: {first}", _TEXT_PAIR: second}


def _quoted_word(row: Row, number: str) -> str:
    sentence = row.text(f"sentence{number}")
    start, end = (whole_number(row, f"{name}{number}") for name in ("start", "end"))
    if not start < end <= len(sentence):
        raise InputError(
            f"{row.where}: from 'start{number}' to 'end{number}', {start} to {end}, is no part of a sentence of "
            f"{len(sentence)} characters"
        )
    return _quote(sentence, start, end)


def _quote(text: str, start: int, end: int) -> str:
    return f'{text[:start]}" {text[start:end]} "{text[end:]}'


def _pronoun(row: Row) -> dict[str, Any]:
    """WSC: the text with the pronoun in quotation marks, and what it may stand for."""
    target = row.values.get("target")
    if target is not None and not isinstance(target, dict):
        raise InputError(f"{row.where}: 'target' must be an object; received a {type(target).__name__}")
    spans = dataclasses.replace(row, values={**row.values, **(target or {})})
    text, pronoun = row.text("text"), spans.text("span2_text").strip()
    return {
        _TEXT: _quote(text, *_place_of(pronoun, text, whole_number(spans, "span2_index"), row.where)),
        _TEXT_PAIR: spans.text("span1_text"),
    }


def _place_of(pronoun: str, text: str, index: int, where: str) -> tuple[int, int]:
    """(start, end) of a pronoun: at the word of this number, else where it is nearest; some published ones are off."""
    found = re.finditer(rf"(?<!\w){re.escape(pronoun)}(?!\w)", text, re.IGNORECASE)
    starts = [match.start() for match in found] if pronoun else []
    if not starts:
        raise InputError(f"{where}: 'span2_text', {pronoun!r}, does not stand in the text")
    # The number of the word that a place is in.
    start = min(starts, key=lambda place: abs(len(re.findall(r"\S+", text[: place + 1])) - 1 - index))
    return start, start + len(pronoun)


def _answer(row: Row) -> dict[str, Any]:
    """MultiRC: the paragraph, and a question with one of its answers."""
    return {_TEXT: row.text("paragraph"), _TEXT_PAIR: f"{row.text('question')} {row.text('answer')}"}


def _alternatives(row: Row) -> dict[str, Any]:
    """COPA: the premise, "because" or "so", and the two choices."""
    asked = row.text("question").strip()
    if asked not in _CONNECTIVES:
        raise InputError(f"{row.where}: 'question' must be {' or '.join(_CONNECTIVES)}; received {asked!r}")
    choices = [row.text("choice1"), row.text("choice2")]
    return {"article": row.text("premise"), "question": _CONNECTIVES[asked], "options": choices}


_WIC = ("word", "sentence1", "sentence2", "start1", "end1", "start2", "end2")
ROW_FORMS = {
    "boolq": _pair("passage", "question"),
    "cb": _pair("premise", "hypothesis"),
    "copa": RowForm((("premise", "question", "choice1", "choice2"),), _alternatives),
    "multirc": RowForm((("paragraph", "question", "answer"),), _answer),
    "superglue_rte": _pair("premise", "hypothesis"),
    "wic": RowForm((_WIC,), _word_in_context),
    "wsc": RowForm((("text", "span1_text", "span2_text", "span2_index"), ("text", "target")), _pronoun),
    "ax-b": _pair("sentence1", "sentence2"),
    "ax-g": _pair("premise", "hypothesis"),
}


def label_of(row: Row, labels: Sequence[str], optional: bool) -> int | None:
    """The number of a row's class; None where it has none, and needs none.

    A class may be its name, in any case; its number; or true and false.

    Raises:
        InputError: none of these, or nothing.
    """
    value = row.values.get(LABEL)
    text = str(value).strip().lower()
    if value is None or text in ("", str(_NO_LABEL)):
        if optional:
            return None
        raise InputError(f"{row.where}: the row has no label; they are {', '.join(labels)}")
    if text in labels:
        return labels.index(text)
    if text.isascii() and text.isdigit() and int(text) < len(labels):
        return int(text)
    raise InputError(f"{row.where}: unknown label {value!r}; the labels are {', '.join(labels)}, or their numbers")


def index_of(row: Row, number: int) -> str:
    """The row's idx, else its number from 0."""
    return str(number if row.values.get(INDEX) is None else whole_number(row, INDEX))


_PLACES = ("paragraph", "question", "answer")


def numbers_of(row: Row, names: Sequence[str]) -> tuple[int, ...]:
    """The numbers of these names in a row's idx, which CSV has as Python writes it."""
    value = row.values.get(INDEX)
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
    if not isinstance(value, Mapping):
        raise InputError(f"{row.where}: 'idx' must be an object with {', '.join(names)}")
    numbered = dataclasses.replace(row, values=dict(value))
    return tuple(whole_number(numbered, name) for name in names)


def places_of(row: Row) -> tuple[int, ...]:
    """The numbers of paragraph, question and answer in a row's idx."""
    return numbers_of(row, _PLACES)


def answers_of(row: Row) -> Iterator[Row]:
    """Rows of the answers that stand in a row of the official file, one for each."""
    passage = row.values.get("passage")
    paragraph = whole_number(row, INDEX)
    for number, asked in enumerate(objects_in(row, passage, "questions")):
        for place, answer in enumerate(objects_in(row, asked, "answers")):
            idx = dict(zip(_PLACES, (paragraph, asked.get(INDEX, number), answer.get(INDEX, place))))
            texts = dict(zip(_PLACES, (passage.get("text"), asked.get("question"), answer.get("text"))))
            yield dataclasses.replace(row, values={**texts, INDEX: idx, LABEL: answer.get(LABEL)})


def objects_in(row: Row, value: Any, name: str) -> list[dict[str, Any]]:
    """The objects of a list within an object."""
    found = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise InputError(f"{row.where}: {name!r} must be a list of objects in an object")
    return found
