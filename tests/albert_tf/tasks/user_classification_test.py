"""A user's own tables: every format and kind of label, classes found or given, and bad files."""

import json
from pathlib import Path

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.split_files import SplitFiles
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.user_classification import FILE_NAMES, UserClassification

FILES = {
    "tsv": "text\tlabel\nthe good film\tgood\nthe bad film\tbad\n",
    "csv": 'text,label\n"the good film",good\nthe bad film,bad\n',
    "jsonl": '{"text": "the good film", "label": "good"}\n{"text": "the bad film", "label": "bad"}\n',
}


@pytest.fixture
def make(write, tmp_path):
    """A function of (contents, extension, options) that writes train, dev and test and returns the task."""

    def make_own(contents, extension="tsv", **options):
        for split in ("train", "dev", "test"):
            write(f"own/{split}.{extension}", contents)
        return make_task("classification", str(tmp_path / "own"), TaskOptions(**options))

    return make_own


def predict(task, rows):
    return task.predictions([], [], {"logits": [np.array(row, np.float32) for row in rows]}, TaskSettings())


@pytest.mark.parametrize("extension", FILES)
def test_classes_are_found_in_the_training_file(make, extension):
    task = make(FILES[extension], extension)
    assert task.labels == ("bad", "good")
    assert (task.head, task.metric) == ("classification", "accuracy")
    assert [(example.first, example.label) for example in task.examples("dev")] == [
        ("the good film", 1),
        ("the bad film", 0),
    ]
    assert task.splits() == ("train", "dev", "test")


def test_given_classes_keep_their_order(make):
    assert [example.label for example in make(FILES["tsv"], labels=("good", "bad", "fair")).examples("train")] == [0, 1]


def test_numbers_are_classes_in_the_order_of_numbers(make):
    task = make('{"text": "a", "label": 10}\n{"text": "b", "label": 9}\n', "jsonl")
    assert task.labels == ("9", "10")
    assert make("text\tlabel\na\t10.5\nb\t+1\nc\t-2\nd\t-10\n").labels == ("-10", "-2", "+1", "10.5")
    assert make("text\tlabel\na\t10\nb\t9\nc\tnan\n").labels == ("10", "9", "nan")


def test_a_number_of_json_is_one_class_however_it_is_written(make):
    task = make('{"text": "a", "label": 1}\n{"text": "b", "label": 1.0}\n{"text": "c", "label": 0}\n', "jsonl")
    assert task.labels == ("0", "1")
    assert [example.label for example in task.examples("train")] == [1, 1, 0]


def test_true_and_false_are_classes_but_not_beside_others(make):
    assert make('{"text": "a", "label": true}\n{"text": "b", "label": false}\n', "jsonl").labels == ("false", "true")
    with pytest.raises(InputError, match="jsonl, line 2: the label is true or false, and in .*line 1 it is not; name"):
        make('{"text": "a", "label": 1}\n{"text": "b", "label": false}\n', "jsonl")
    with pytest.raises(InputError, match="line 1: the label is true or false, and in .*line 2 it is not; name"):
        make('{"text": "a", "label": true}\n{"text": "b", "label": "x"}\n', "jsonl")


def test_columns_can_have_other_names_and_there_can_be_pairs(make):
    task = make('q\ta\tok\tmore\nx\ty\t1\tz\n"u\tv\t0\t\n', text_column="q", text_pair_column="a", label_column="ok")
    assert [(e.first, e.second, e.label) for e in task.examples("train")] == [("x", "y", 1), ('"u', "v", 0)]
    assert task.input_fields == ("text", "text_pair")


def test_numbers_can_be_the_label(make, tokenizer):
    task = make("text\tlabel\na\t-1.5\nb\t2\nc\t1e-1\n", regression=True)
    examples = task.examples("train")
    assert [example.label for example in examples] == [-1.5, 2.0, 0.1]
    assert (task.labels, task.head, task.metric) == ((), "regression", "pearson")
    predictions = predict(task, [[-3.0], [4.0], [0.2]])
    assert task.scores(examples, predictions) == pytest.approx(
        {"pearson": 1.0, "spearman": 1.0, "mean_squared_error": (1.5**2 + 2**2 + 0.1**2) / 3}, abs=1e-6
    )


def test_examples_can_have_several_classes_or_none(make, tmp_path):
    lines = [{"text": "a", "label": ["x", "y"]}, {"text": "b", "label": []}, {"text": "c", "label": "z"}]
    task = make("".join(json.dumps(line) + "\n" for line in lines), "jsonl", multi_label=True)
    examples = task.examples("train")
    assert task.labels == ("x", "y", "z")
    assert [example.label for example in examples] == [(1, 1, 0), (0, 0, 0), (0, 0, 1)]
    predictions = predict(task, [[5, -5, -5], [-5, -5, -5], [-5, 5, 5]])
    assert predictions[0].value == (1, 0, 0)
    assert predictions[0].probabilities[0] == pytest.approx(1 / (1 + np.exp(-5)))
    # Decisions: x y of a: one of two found; z of c found, y made up: 2 right of 3 said and 3 true.
    assert task.scores(examples, predictions) == pytest.approx(
        {"micro_f1": 2 / 3, "macro_f1": (1 + 0 + 1) / 3, "exact_match": 1 / 3}
    )
    report = task.report(examples, predictions)
    y = report.values["classes"][1]
    assert {name: y[name] for name in ("label", "found", "missed", "wrongly_seen", "precision", "recall")} == {
        **{"label": "y", "found": 0, "missed": 1, "wrongly_seen": 1, "precision": 0.0, "recall": 0.0}
    }
    assert report.values["wrong"] == 2
    surest, other = report.values["errors"]
    assert (surest["example"], surest["labels"], surest["predictions"], surest["text"]) == (0, ["x", "y"], ["x"], "a")
    assert surest["probabilities"] == {"y": pytest.approx(1 / (1 + np.exp(5)), abs=1e-4)}
    assert (other["example"], other["labels"], other["predictions"]) == (2, ["z"], ["y", "z"])
    assert "  y | z instead of z: c" in report.text
    [path] = task.write_predictions(str(tmp_path / "out"), "dev", examples, predictions)
    assert json.loads(Path(path).read_text().splitlines()[2])["prediction"] == ["y", "z"]


def test_classes_of_a_table_are_separated_by_a_bar(make):
    assert make(
        '{"text": "a", "label": [""]}\n{"text": "b", "label": ["x", " "]}\n', "jsonl", multi_label=True
    ).labels == ("x",)
    task = make("text\tlabel\na\ty| x\nb\t\n", multi_label=True)
    assert [example.label for example in task.examples("train")] == [(1, 1), (0, 0)]


@pytest.mark.parametrize(
    "contents", ["text\na\n", "text\tlabel\na\t\n", '{"text": "a"}\n', '{"text": "a", "label": null}\n']
)
def test_a_test_file_needs_no_labels(write, tmp_path, contents):
    extension = "jsonl" if contents.startswith("{") else "tsv"
    path = write(f"predict.{extension}", contents)
    task = make_task("classification", None, TaskOptions(test_file=path, labels=("x", "y")))
    assert [example.label for example in task.examples("test")] == [None]
    assert task.splits() == ("test",)


def test_a_test_file_with_some_labels_counts_as_one_without(write, caplog):
    path = write("predict.tsv", "text\tlabel\na\tx\nb\t\n")
    task = make_task("classification", None, TaskOptions(test_file=path, labels=("x", "y")))
    assert [example.label for example in task.examples("test")] == [None, None]
    assert "predict.tsv: 1 of 2 examples have no label; the others' are left aside" in caplog.text


@pytest.mark.parametrize(
    ("contents", "extension", "message"),
    [
        ("txt\tlabel\na\tx\n", "tsv", "train.tsv, line 1: the header lacks 'text'; it has 'txt', 'label'"),
        ("text\na\n", "tsv", "train.tsv, line 1: the header lacks 'label'"),
        ("text\tlabel\na\tx\nb\n", "tsv", "train.tsv, line 3: the row has no value of 'label'"),
        ("text\tlabel\na\tx\nb\t \n", "tsv", "train.tsv, line 3: the label is empty"),
        ("text\tlabel\na\tx\nb\ty\tz\n", "tsv", "train.tsv, line 3: 1 more fields"),
        ("text\tlabel\na\tx\n", "tsv", "at least two classes are needed; there is x"),
        ("text\tlabel\n", "tsv", "train.tsv holds no examples with labels"),
        ("", "csv", "train.csv is empty"),
        ('{"text": "a", "label": "x"}\n{"text": 1.5}\n', "jsonl", "line 2: the row has no value of 'label'"),
        ('{"text": "a", "label": "x"}\n{"text": "b", "label": ["y"]}\n', "jsonl", "line 2: 'label' must be text"),
        ('{"text": "a", "label": "x"}\n{"label": "y"}\n', "jsonl", "line 2: the row has no value of 'text'"),
    ],
)
def test_a_bad_file_is_one_line_with_file_and_line(make, contents, extension, message):
    with pytest.raises(InputError, match=message) as caught:
        make(contents, extension).examples("train")
    assert "\n" not in str(caught.value)


def test_a_class_that_training_did_not_have_is_named(make, write):
    task = make(FILES["tsv"])
    write("own/dev.tsv", "text\tlabel\na\tgood\nb\tugly\n")
    with pytest.raises(InputError, match=r"dev.tsv, line 3: unknown label 'ugly'; the labels are bad, good \(found in"):
        task.examples("dev")


def test_a_score_that_is_no_number_is_named(make):
    task = make("text\tlabel\na\t1\nb\thigh\n", regression=True)
    with pytest.raises(InputError, match="line 3: with --regression the label must be a number; received 'high'"):
        task.examples("train")


@pytest.mark.parametrize("score, rule", [("1_000", "a number"), ("inf", "a number"), ("-1e40", r"from -1e\+18 to")])
def test_a_score_that_cannot_be_learned_is_named(make, score, rule):
    task = make(f"text\tlabel\na\t1\nb\t{score}\n", regression=True)
    with pytest.raises(InputError, match=f"line 3: with --regression the label must be {rule}.*received '{score}'"):
        task.examples("train")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"multi_label": True, "regression": True}, "exclude each other"),
        ({"regression": True, "labels": ("a", "b")}, "--regression has none"),
        ({"labels": ("a", "a")}, "--labels names a class twice"),
        ({"text_column": "label"}, "must name different columns; they name label, label$"),
        ({"text_pair_column": "text"}, "must name different columns; they name text, text, label$"),
        ({"beam": True}, "--beam means nothing to --task_name=classification"),
        ({"race_level": "high"}, "--race_level means nothing"),
    ],
)
def test_options_that_contradict_one_another_are_refused(make, options, message):
    with pytest.raises(InputError, match=message):
        make(FILES["tsv"], **options)


def test_without_a_training_file_classes_must_be_named(write, tmp_path):
    path = write("dev.tsv", FILES["tsv"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no training file to find the classes in: give --train_file"):
        make_task("classification", None, TaskOptions(dev_file=path))
    with pytest.raises(InputError, match="no training file to find the classes in: give --train_file"):
        make_task("classification", str(tmp_path / "empty"))
    with pytest.raises(InputError, match="--data_dir=.*none does not exist"):
        make_task("classification", str(tmp_path / "none"))


def test_other_columns_make_other_features(make):
    contents = "text\tother\tlabel\na\tb\tx\nc\td\ty\n"
    assert make(contents).options() != make(contents, text_column="other").options()


def test_tasks_are_made_by_name(tmp_path):
    with pytest.raises(InputError, match="--task_name must be one of cola, sst-2, .*; received 'imdb'$"):
        make_task("imdb", str(tmp_path))
    for name, meant in (
        ("MRPC", "mrpc"),
        ("MisMNLI", "mnli"),
        ("SQuAD_v1", "squad_v1"),
        ("sst2", "sst-2"),
        ("stsb", "sts-b"),
        ("squad", "squad_v1"),
    ):
        with pytest.raises(InputError, match=f"received '{name}'; write --task_name={meant}$"):
            make_task(name, str(tmp_path))
    with pytest.raises(InputError, match="--data_dir must say where the files of --task_name=rte are"):
        make_task("rte")
    with pytest.raises(InputError, match="--race_level must be one of all, middle, high. Received .low."):
        make_task("race", str(tmp_path), TaskOptions(race_level="low"))
    assert make_task("race", str(tmp_path), TaskOptions(race_level="high")).levels == ("high",)
    assert make_task("squad_v2", str(tmp_path)).head == "span_beam"
    assert make_task("squad_v2", str(tmp_path), TaskOptions(beam=False)).head == "span"
    assert make_task("squad_v1", str(tmp_path)).head == "span"


def test_every_row_of_a_test_file_has_a_prediction_with_its_id(write, tmp_path):
    write("test.csv", 'id,text\n7,a\n8,""\n,\n9,b\n')
    task = UserClassification(SplitFiles(str(tmp_path), FILE_NAMES), labels=("x", "y"))
    examples = task.examples("test")
    assert [(example.guid, example.first) for example in examples] == [("7", "a"), ("8", ""), ("2", ""), ("9", "b")]
    [path] = task.write_predictions(str(tmp_path / "out"), "test", examples, predict(task, [[0, 1]] * 4))
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    assert [line["guid"] for line in lines] == ["7", "8", "2", "9"]
