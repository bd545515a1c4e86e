"""ReCoRD of SuperGLUE: which entity of a passage stands in the blank of a sentence about it.

Every entity put into the blank is an example, right or wrong; the one that is likeliest to be right answers the query.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from albert_tf.runtime.errors import InputError
from albert_tf.tasks import squad_scores
from albert_tf.tasks.row_files import read_row_file
from albert_tf.tasks.superglue import SuperGlueTask
from albert_tf.tasks.superglue_rows import INDEX, LABEL, numbers_of, objects_in, whole_number
from albert_tf.tasks.tables import Row
from albert_tf.tasks.task import with_all_labels_or_none
from albert_tf.tasks.text_classification import TextExample, TextPrediction

_BLANK = "@placeholder"
# Between the sentences of a summary in front of the article.
_HIGHLIGHT = "@highlight"


@dataclasses.dataclass(frozen=True)
class RecordExample(TextExample):
    """A passage, and a sentence with one entity in its blank; the group is the query's number.

    Attributes:
        entity: its text.
        answers: the texts that are right; () where they are not known.
    """

    entity: str = ""
    answers: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Query:
    """A sentence with a blank, and what may stand there."""

    number: int
    passage: str
    query: str
    entities: tuple[str, ...]
    answers: tuple[str, ...] | None


class RecordTask(SuperGlueTask):
    """ReCoRD from its official file, or from a row for each query."""

    unit = "query"

    def examples(self, split: str) -> list[RecordExample]:
        path = self.split_files.find(split)
        found: list[RecordExample] = []
        rows_of: dict[int, str] = {}
        for row in read_row_file(path):
            for query in _nested(row) if "qas" in row.values else [_flat(row)]:
                if query.number in rows_of:
                    raise InputError(f"{row.where}: the query {query.number} stands in {rows_of[query.number]} too")
                rows_of[query.number] = row.where
                found += _examples(query, row, need_answers=split != "test")
        if not found:
            raise InputError(f"{path} holds no examples")
        return with_all_labels_or_none(found, path, label=None)

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.table.score_names

    def scores(self, examples, predictions) -> dict[str, float]:
        """F1 and exact match of the chosen entity with the answer that fits best, means over the queries."""
        self._gold(examples)
        chosen = _chosen(examples, predictions)
        measures = {"f1": squad_scores.f1, "exact_match": squad_scores.exact_match}
        return {
            name: sum(max(measure(one.entity, answer) for answer in one.answers) for one in chosen) / len(chosen)
            for name, measure in measures.items()
        }

    def _submission(self, examples, predictions) -> Iterator[dict[str, Any]]:
        for example in _chosen(examples, predictions):
            yield {INDEX: int(example.group), LABEL: example.entity}


def _chosen(examples: Sequence[RecordExample], predictions: Sequence[TextPrediction]) -> list[RecordExample]:
    """The example of each query whose entity is likeliest to be right; of equals the first."""
    best: dict[str, tuple[float, RecordExample]] = {}
    for example, prediction in zip(examples, predictions, strict=True):
        chance, group = prediction.probabilities[1], example.group or ""
        if group not in best or chance > best[group][0]:
            best[group] = chance, example
    return [example for _, example in best.values()]


def _examples(query: _Query, row: Row, need_answers: bool) -> Iterator[RecordExample]:
    if need_answers and not query.answers:
        raise InputError(f"{row.where}: the query {query.number} has no answers")
    if not query.entities:
        raise InputError(f"{row.where}: the query {query.number} has no entities to choose from")
    if _BLANK not in query.query:
        raise InputError(f"{row.where}: the query {query.number} has no {_BLANK}")
    passage = query.passage.replace(_HIGHLIGHT, "-")
    for place, entity in enumerate(query.entities):
        label = None if not query.answers else int(entity in query.answers)
        texts = passage, query.query.replace(_BLANK, entity)
        yield RecordExample(
            f"{query.number}-{place}", *texts, label, str(query.number), entity, tuple(query.answers or ())
        )


def _nested(row: Row) -> Iterator[_Query]:
    """The queries of a row of the official file; places of entities are those of their first and last characters."""
    passage = row.values.get("passage")
    places = objects_in(row, passage, "entities")
    text = passage.get("text") if isinstance(passage, Mapping) else None
    if not isinstance(text, str):
        raise InputError(f"{row.where}: 'passage' must be an object with a 'text'")
    entities = []
    for place in places:
        start, last = (whole_number(dataclasses.replace(row, values=dict(place)), name) for name in ("start", "end"))
        if not start <= last < len(text):
            raise InputError(f"{row.where}: an entity from {start} to {last} is no part of the passage")
        entities.append(text[start : last + 1])
    for asked in objects_in(row, row.values, "qas"):
        values = dataclasses.replace(row, values=dict(asked))
        answers = None
        if asked.get("answers") is not None:
            found = objects_in(row, asked, "answers")
            answers = tuple(dataclasses.replace(row, values=dict(one)).text("text") for one in found)
        yield _Query(whole_number(values, INDEX), text, values.text("query"), tuple(dict.fromkeys(entities)), answers)


def _flat(row: Row) -> _Query:
    """The query of a row as the data sets library has it."""
    entities, answers = (_texts(row, name) for name in ("entities", "answers"))
    _, number = numbers_of(row, ("passage", "query"))
    return _Query(number, row.text("passage"), row.text("query"), tuple(dict.fromkeys(entities)), answers or None)


def _texts(row: Row, name: str) -> tuple[str, ...]:
    found = row.values.get(name)
    if found is None and name == "answers":
        return ()
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise InputError(f"{row.where}: {name!r} must be a list of texts")
    return tuple(found)
