"""The task of entities: its kinds, its scores by hand, what it writes and says."""

import json
from pathlib import Path

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.entity_files import Entity, MarkedText, read_marked_texts
from albert_tf.tasks.entity_pieces import FoundEntity
from albert_tf.tasks.registry import TaskOptions, make_task

TEXT = "Ada met Bob in Rome."
ROWS = [
    {"id": "a", "text": TEXT, "entities": [[0, 3, "PER"], [8, 11, "PER"], [15, 19, "LOC"]]},
    {"id": "b", "text": "Nobody.", "entities": []},
]
FOUND = [
    (FoundEntity(Entity("PER", 0, 3), 0.9), FoundEntity(Entity("LOC", 8, 11), 0.8)),
    (FoundEntity(Entity("PER", 0, 6), 0.5),),
]


@pytest.fixture
def make(write, tmp_path):
    """A function of options that writes the files and returns the task."""

    def make_own(train=ROWS, test=({"text": TEXT},), **options):
        for split, rows in (("train", train), ("dev", ROWS), ("test", test)):
            write(f"own/{split}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        return make_task("entities", str(tmp_path / "own"), TaskOptions(**options))

    return make_own


def test_tags_are_made_of_the_kinds_in_the_training_file(make):
    task = make()
    assert task.labels == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    assert (task.head, task.metric, task.input_fields) == ("token_classification", "f1", ("text",))
    assert [one.guid for one in task.examples("dev")] == ["a", "b"]
    assert [one.entities for one in task.examples("test")] == [None]
    assert make(labels=("PER", "LOC")).labels == ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


def test_labels_may_be_the_tags_of_a_checkpoint(make):
    tags = make().labels
    assert make(labels=tags).labels == tags
    with pytest.raises(InputError, match="must be O, then B- and I- of each kind; received O, B-PER"):
        make(labels=("O", "B-PER"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ("PER", "PER")}, "names a kind of entity twice"),
        ({"train": ROWS[1:]}, r"train\.jsonl holds no entities"),
        ({"text_pair_column": "b"}, "--text_pair_column means nothing to --task_name=entities"),
        ({"labels": ("PER",)}, r"dev\.jsonl, line 1: unknown kind of entity 'LOC'; the kinds are PER"),
    ],
)
def test_what_does_not_fit_is_one_line(make, options, message):
    with pytest.raises(InputError, match=message):
        make(**options).examples("dev")


def test_without_a_training_file_the_kinds_must_be_named():
    with pytest.raises(InputError, match="--labels must name the kinds of entities"):
        make_task("entities")


def test_some_texts_without_entities_make_a_test_split_without_labels(make, caplog):
    texts = make(test=[{"text": TEXT}, ROWS[0]]).examples("test")
    assert [one.entities for one in texts] == [None, None]
    assert "1 of 2 examples have no label" in caplog.text


def test_an_entity_is_right_if_kind_and_both_ends_are(make):
    task = make()
    examples = task.examples("dev")
    # One of three found is right, and one of three true ones is found.
    assert task.scores(examples, FOUND) == pytest.approx({"precision": 1 / 3, "recall": 1 / 3, "f1": 1 / 3})
    report = task.report(examples, FOUND)
    assert {one["kind"]: one["entities"] for one in report.values["kinds"]} == {"all": 3, "LOC": 1, "PER": 2}
    errors = [(one["kind"], one["entity"], one["text"]) for one in report.values["errors"]]
    assert sorted(errors) == [
        ("made up", "LOC", "Bob"),
        ("made up", "PER", "Nobody"),
        ("missed", "LOC", "Rome"),
        ("missed", "PER", "Bob"),
    ]
    with pytest.raises(InputError, match="no entities marked"):
        task.scores([MarkedText("0", TEXT)], FOUND[:1])


def test_predictions_can_be_read_as_a_training_file(make, tmp_path):
    task = make()
    [path] = task.write_predictions(str(tmp_path), "dev", task.examples("dev"), FOUND)
    assert [one.entities for one in read_marked_texts(path)] == [tuple(one.entity for one in row) for row in FOUND]
    first = json.loads(Path(path).read_text().splitlines()[0])
    assert first["entities"][0] == {"start": 0, "end": 3, "label": "PER", "text": "Ada", "score": 0.9}
    assert first["true_entities"][2] == {"start": 15, "end": 19, "label": "LOC", "text": "Rome"}


def test_a_text_is_an_example(make):
    assert make().make_example({"text": TEXT}, "here") == MarkedText("here", TEXT)
    with pytest.raises(InputError, match="here: unknown field 'words'"):
        make().make_example({"words": []}, "here")
