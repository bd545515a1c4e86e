"""The task of spans that may overlap: its labels, its scores by hand, what it writes and says."""

import json
from pathlib import Path

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.entity_files import Entity, MarkedText
from albert_tf.tasks.entity_pieces import FoundEntity
from albert_tf.tasks.registry import TaskOptions, make_task

TEXT = "Ada met Bob in Rome."
ROWS = [
    {"id": "a", "text": TEXT, "spans": [[0, 3, "PER"], [0, 11, "ACT"], [15, 19, ["LOC", "END"]]], "entities": 3},
    {"id": "b", "text": "Nobody.", "spans": []},
]
FOUND = [
    (
        FoundEntity(Entity("PER", 0, 3), 0.9),
        FoundEntity(Entity("PER", 0, 11), 0.8),
        FoundEntity(Entity("END", 15, 19), 0.7),
    ),
    (),
]


@pytest.fixture
def make(write, tmp_path):
    """A function of options that writes the files and returns the task."""

    def make_own(train=ROWS, **options):
        for split, rows in (("train", train), ("dev", ROWS), ("test", [{"text": TEXT}])):
            write(f"own/{split}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        return make_task("span_categories", str(tmp_path / "own"), TaskOptions(**options))

    return make_own


def test_labels_are_those_of_the_training_file_or_named(make):
    task = make()
    assert task.labels == ("ACT", "END", "LOC", "PER")
    assert (task.head, task.metric, task.input_fields) == ("span_categories", "f1", ("text",))
    assert [len(one.entities) for one in task.examples("dev")] == [4, 0]
    assert [one.entities for one in task.examples("test")] == [None]
    assert make(labels=("O", "PER", "LOC", "ACT", "END")).labels == ("O", "PER", "LOC", "ACT", "END")
    with pytest.raises(InputError, match=r"dev\.jsonl, line 1: unknown kind of entity 'END'; the kinds are PER, LOC"):
        make(labels=("PER", "LOC", "ACT")).examples("dev")


def test_a_list_of_another_name_is_taken_where_it_is_asked_for(make):
    rows = [{"text": TEXT, "marks": [[0, 3, "X"], [0, 3, "Y"]]}]
    assert make(train=rows, label_column="marks").labels == ("X", "Y")


def test_scores_are_of_all_spans_and_the_report_of_each_label(make):
    task = make()
    examples = task.examples("dev")
    # Two of three found are right, and two of four true ones are found.
    assert task.scores(examples, FOUND) == pytest.approx({"precision": 2 / 3, "recall": 1 / 2, "f1": 4 / 7})
    report = task.report(examples, FOUND)
    by_label = {one["kind"]: (one["precision"], one["recall"], one["entities"]) for one in report.values["kinds"]}
    assert by_label == {
        "all": (2 / 3, 1 / 2, 4),
        "ACT": (0.0, 0.0, 1),
        "END": (1.0, 1.0, 1),
        "LOC": (0.0, 0.0, 1),
        "PER": (1 / 2, 1.0, 1),
    }
    with pytest.raises(InputError, match="span_categories: these texts have no spans marked"):
        task.scores([MarkedText("0", TEXT)], FOUND[:1])


def test_predictions_can_be_read_as_a_training_file(make, write, tmp_path):
    task = make()
    [path] = task.write_predictions(str(tmp_path), "dev", task.examples("dev"), FOUND)
    first = json.loads(Path(path).read_text().splitlines()[0])
    assert first["spans"][1] == {"start": 0, "end": 11, "label": "PER", "text": "Ada met Bob", "score": 0.8}
    assert [one["label"] for one in first["true_spans"]] == ["PER", "ACT", "END", "LOC"]
    again = make_task("span_categories", None, TaskOptions(train_file=path))
    assert [one.entities for one in again.examples("train")] == [tuple(one.entity for one in row) for row in FOUND]
