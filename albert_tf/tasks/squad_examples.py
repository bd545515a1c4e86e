"""Files of SQuAD v1.1 and v2.0, and tables of questions, every part of them checked."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from absl import logging

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.tasks.squad_tables import is_table, places_of, table_questions


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer that stands in the paragraph.

    Attributes:
        text: its characters.
        start: where they start, in characters.
    """

    text: str
    start: int


@dataclasses.dataclass(frozen=True)
class SquadExample:
    """A question about a paragraph.

    Attributes:
        qas_id: the question's id.
        question, context: the texts.
        answers: one or several that count as right; () if there is none in the paragraph, and without labels.
        is_impossible: whether the paragraph holds no answer; None without labels.
    """

    qas_id: str
    question: str
    context: str
    answers: tuple[Answer, ...] = ()
    is_impossible: bool | None = None


def read_squad(path: str, with_impossible: bool, need_answers: bool) -> list[SquadExample]:
    """The questions of a SQuAD file, or of a table, in its order.

    Args:
        path: SQuAD's JSON file, or what squad_tables reads.
        with_impossible: whether questions may have no answer (v2.0).
        need_answers: refuse questions without labels; else they may be there (a test file). In a test file an empty
            list of answers is no label, unless is_impossible says that there is none.

    Raises:
        InputError: no such file, not JSON, not SQuAD, or an answer that is not in its paragraph.
    """
    moved = unsaid = 0
    examples = []
    ids: dict[str, str] = {}
    for where, context, question in table_questions(path) if is_table(path) else _questions(path):
        example, was_moved = _example(where, context, question, with_impossible, need_answers)
        if need_answers and example.is_impossible is None:
            raise InputError(f"{where}: no answers; training and evaluation need them")
        if example.qas_id in ids:
            raise InputError(f"{where}: the id {example.qas_id!r} is also that of {ids[example.qas_id]}")
        ids[example.qas_id] = where.removeprefix(f"{path}, ")
        moved += was_moved
        unsaid += example.is_impossible is True and question.get("is_impossible") is False
        examples.append(example)
    if not examples:
        raise InputError(f"{path} holds no questions")
    if moved:
        logging.warning("%s: %d answers do not stand where answer_start says; taken where they stand", path, moved)
    if unsaid:
        logging.warning(
            "%s: %d questions have no answers though is_impossible is false; taken for impossible", path, unsaid
        )
    if need_answers and all(example.is_impossible for example in examples):
        logging.warning("%s: no question has an answer; the best model of it never answers", path)
    return examples


def _questions(path: str) -> Iterator[tuple[str, str, dict]]:
    """Yields (file and place, paragraph, question) of every question."""
    if not files.exists(path):
        raise InputError(f"{path} does not exist")
    articles = _field(files.read_json(path, of_any_size=True), "data", list, path)
    for article_number, article in enumerate(articles):
        place = f"{path}, data[{article_number}]"
        for paragraph_number, paragraph in enumerate(_field(article, "paragraphs", list, place)):
            inner = f"{place}.paragraphs[{paragraph_number}]"
            context = _field(paragraph, "context", str, inner)
            for number, question in enumerate(_field(paragraph, "qas", list, inner)):
                yield f"{inner}.qas[{number}]", context, question


def _example(
    where: str, context: str, question: dict, with_impossible: bool, need_answers: bool
) -> tuple[SquadExample, int]:
    qas_id, text = _field(question, "id", str, where), _field(question, "question", str, where)
    impossible = question.get("is_impossible", False)
    if not isinstance(impossible, bool):
        raise InputError(f"{where}: is_impossible must be true or false; received {impossible!r}")
    if impossible and not with_impossible:
        raise InputError(f"{where}: a question without an answer (is_impossible); use --task_name=squad_v2")
    says_nothing = not need_answers and not impossible and question.get("answers") == []
    if ("answers" not in question and not impossible) or says_nothing:
        return SquadExample(qas_id, text, context), 0
    answers, moved = [], 0
    for number, answer in enumerate(_field({"answers": [], **question}, "answers", list, where)):
        place = f"{where}.answers[{number}]"
        wanted, start = _field(answer, "text", str, place), _field(answer, "answer_start", int, place)
        found = _find(context, wanted, start, place)
        moved += found != start
        answers.append(Answer(wanted, found))
    if impossible:
        return SquadExample(qas_id, text, context, (), True), moved
    if not answers and not with_impossible:
        raise InputError(f"{where}: the list of answers is empty; SQuAD v1.1 has an answer to every question")
    return SquadExample(qas_id, text, context, tuple(answers), not answers), moved


def _find(context: str, wanted: str, start: int, where: str) -> int:
    """Finds the place of the answer: its start, else the occurrence nearest to it."""
    if not wanted.strip():
        raise InputError(f"{where}: the answer is empty")
    if start >= 0 and context.startswith(wanted, start):
        return start
    places = places_of(context, wanted)
    if not places:
        raise InputError(f"{where}: the answer {to_json(wanted, ensure_ascii=False)} is not in the paragraph")
    return min(places, key=lambda place: abs(place - start))


def _field(values: Any, name: str, kind: type, where: str) -> Any:
    """A field of a JSON object, of the right type."""
    named = {list: "a list", str: "text", int: "a whole number"}[kind]
    value = values.get(name) if isinstance(values, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        found = "a value that is no object" if not isinstance(values, dict) else f"{value!r:.40}"
        raise InputError(f"{where}: {name} must be {named}; received {found}")
    return value
