"""ReCoRD from rows in the published formats: entities in the blank, the likeliest of a query, scores, submission."""

import json
from pathlib import Path

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.registry import make_task
from albert_tf.tasks.task import TaskSettings

TEXT = "Ada met Bob.\n@highlight\nBob lives in New York"
# The end is the place of the last character.
ENTITIES = [{"start": 0, "end": 2}, {"start": 8, "end": 10}, {"start": 24, "end": 26}, {"start": 37, "end": 44}]
QUERIES = [
    {"query": "It was @placeholder who came.", "answers": [{"start": 8, "end": 10, "text": "Bob"}], "idx": 7},
    {"query": "She likes @placeholder.", "answers": [{"start": 37, "end": 44, "text": "New York"}], "idx": 8},
]
ROW = {"source": "x", "passage": {"text": TEXT, "entities": ENTITIES}, "qas": QUERIES, "idx": 3}
FLAT = {
    "passage": TEXT,
    "query": QUERIES[0]["query"],
    "entities": ["Ada", "Bob", "New York"],
    "answers": ["Bob"],
    "idx": {"passage": 3, "query": 7},
}


@pytest.fixture
def make(write, tmp_path):
    """A function of (name of a file, rows) that writes it and returns the task."""

    def make_one(file, *rows):
        write(f"superglue/ReCoRD/{file}", "".join(json.dumps(row) + "\n" for row in rows))
        return make_task("record", str(tmp_path / "superglue"))

    return make_one


def predicted(task, examples, chances):
    logits = [np.log([1 - chance, chance]) for chance in chances]
    return task.predictions(examples, [None] * len(examples), {"logits": logits}, TaskSettings())


def test_every_entity_is_put_into_the_blank_of_every_query_once(make):
    examples = make("train.jsonl", ROW).examples("train")
    assert [example.guid for example in examples] == ["7-0", "7-1", "7-2", "8-0", "8-1", "8-2"]
    assert [example.label for example in examples] == [0, 1, 0, 0, 0, 1]
    assert examples[1].first == "Ada met Bob.\n-\nBob lives in New York"
    assert [example.second for example in examples[:3]] == [
        f"It was {who} who came." for who in ("Ada", "Bob", "New York")
    ]
    assert {example.group for example in examples[3:]} == {"8"}


def test_a_row_for_each_query_is_the_same(make):
    assert make("val.jsonl", FLAT).examples("dev") == make("train.jsonl", ROW).examples("train")[:3]


def test_the_likeliest_entity_answers_and_its_words_are_scored(make):
    task = make("val.jsonl", ROW)
    examples = task.examples("dev")
    found = predicted(task, examples, [0.4, 0.3, 0.2, 0.1, 0.2, 0.3])
    assert task.scores(examples, found) == {"f1": 0.5, "exact_match": 0.5}
    assert task.metrics == ("f1", "exact_match")
    better = predicted(task, examples, [0.4, 0.5, 0.2, 0.1, 0.2, 0.3])
    assert task.scores(examples, better) == {"f1": 1.0, "exact_match": 1.0}
    assert task.with_metric("exact_match").metric == "exact_match"


def test_a_submission_has_the_text_of_an_entity_for_each_query(make, tmp_path):
    queries = [{name: value for name, value in query.items() if name != "answers"} for query in QUERIES]
    task = make("test.jsonl", ROW | {"qas": queries})
    examples = task.examples("test")
    assert {example.label for example in examples} == {None}
    found = predicted(task, examples, [0.1, 0.3, 0.2, 0.1, 0.2, 0.3])
    paths = task.write_predictions(str(tmp_path / "out"), "test", examples, found)
    assert [Path(path).name for path in paths] == ["test_predictions.jsonl", "ReCoRD.jsonl"]
    lines = [json.loads(line) for line in Path(paths[1]).read_text().splitlines()]
    assert lines == [{"idx": 7, "label": "Bob"}, {"idx": 8, "label": "New York"}]
    with pytest.raises(InputError, match="record: these examples have no labels"):
        task.scores(examples, found)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (ROW | {"passage": {"text": TEXT}}, "'entities' must be a list of objects"),
        (ROW | {"passage": {"text": 3, "entities": []}}, "'passage' must be an object with a 'text'"),
        (ROW | {"passage": {"text": "x", "entities": ENTITIES}}, "an entity from 0 to 2 is no part of the passage"),
        (ROW | {"qas": [QUERIES[0] | {"query": "It came."}]}, "the query 7 has no @placeholder"),
        (ROW | {"qas": [QUERIES[0] | {"answers": []}]}, "the query 7 has no answers"),
        (ROW | {"qas": [QUERIES[0], QUERIES[0]]}, "the query 7 stands in .*train.jsonl, line 1 too"),
        (ROW | {"passage": {"text": TEXT, "entities": []}}, "the query 7 has no entities to choose from"),
        (ROW | {"qas": [{**QUERIES[0], "idx": None}]}, "'idx' must be a whole number from 0; received None"),
        (FLAT | {"entities": "Ada"}, "'entities' must be a list of texts"),
        (FLAT | {"idx": 4}, "'idx' must be an object with passage, query"),
    ],
)
def test_a_bad_row_is_one_line_with_file_and_line(make, row, message):
    with pytest.raises(InputError, match=f"train.jsonl, line 1: {message}"):
        make("train.jsonl", row).examples("train")
