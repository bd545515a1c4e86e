"""SuperGLUE: official files of every task, written here in their formats, and as the data sets library saves them."""

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.superglue import TABLES, submission_files
from albert_tf.tasks.task import TaskSettings

PAIRS = {
    "boolq": ("passage", "question"),
    "cb": ("premise", "hypothesis"),
    "superglue_rte": ("premise", "hypothesis"),
    "ax-b": ("sentence1", "sentence2"),
    "ax-g": ("premise", "hypothesis"),
}
WIC = {"word": "film", "sentence1": "A film.", "sentence2": "The film was good."}
WIC |= {"start1": 2, "end1": 6, "start2": 4, "end2": 8, "version": 1.1}
TARGET = {"span1_index": 0, "span1_text": "Mark", "span2_index": 3, "span2_text": "he"}
COPA = {"premise": "The man fell.", "choice1": "He slipped.", "choice2": "He sang.", "question": "cause"}
PASSAGE = {
    "text": "The river was in the city.",
    "questions": [
        {
            "question": "Where was the river?",
            "idx": 5,
            "answers": [{"text": "In the city", "idx": 11, "label": 1}, {"text": "In paris", "idx": 12, "label": 0}],
        },
        {"question": "Was it good?", "idx": 6, "answers": [{"text": "Yes", "idx": 13, "label": 0}]},
    ],
}
# Official labels, of the first class and the second; and rows without them.
LABELS = {
    **dict.fromkeys(("boolq", "wic", "wsc"), (False, True)),
    "cb": ("entailment", "contradiction"),
    "copa": (0, 1),
    **dict.fromkeys(("superglue_rte", "ax-b", "ax-g"), ("entailment", "not_entailment")),
}
ROWS = {
    **{name: dict(zip(columns, ("The river.", "the city"))) for name, columns in PAIRS.items()},
    "wic": WIC,
    "wsc": {"target": TARGET, "text": "Mark said that he sang."},
    "copa": COPA,
}


def official(name, labels):
    """The lines of an official file with a row for each label; None: without labels."""
    rows = [
        ROWS[name] | {"idx": number} | ({} if label is None else {"label": label})
        for number, label in enumerate(labels)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def multirc(idx=2, labelled=True):
    passage = json.loads(json.dumps(PASSAGE))
    for question in [] if labelled else passage["questions"]:
        question["answers"] = [{"text": one["text"], "idx": one["idx"]} for one in question["answers"]]
    return json.dumps({"idx": idx, "version": 1.1, "passage": passage}) + "\n"


@pytest.fixture
def make(write, tmp_path):
    """A function of (task, name of a file, contents) that writes the file and returns the task."""

    def make_one(name, file, contents):
        write(f"superglue/{TABLES[name].folder}/{file}", contents)
        return make_task(name, str(tmp_path / "superglue"))

    return make_one


def predicted(task, examples, values, classes=3):
    logits = [np.where(np.arange(classes) == value, 4.0, 0.0) for value in values]
    return task.predictions(examples, [None] * len(examples), {"logits": logits}, TaskSettings())


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("name", LABELS)
def test_official_rows_are_read_and_numbered(make, name):
    split, file = ("test", f"{TABLES[name].folder}.jsonl") if name.startswith("ax") else ("train", "train.jsonl")
    task = make(name, file, official(name, [*LABELS[name], LABELS[name][0]]))
    assert task.splits() == (split,)
    examples = task.examples(split)
    assert [(example.guid, example.label) for example in examples] == [("0", 0), ("1", 1), ("2", 0)]
    if name in PAIRS:
        assert (examples[0].first, examples[0].second) == ("The river.", "the city")
    if name == "wic":
        assert (examples[0].first, examples[0].second) == ('film: A " film ".', 'The " film " was good.')
    if name == "wsc":
        assert (examples[0].first, examples[0].second) == ('Mark said that " he " sang.', "Mark")
    if name == "copa":
        assert examples[0].options == ("He slipped.", "He sang.")
        assert (examples[0].article, examples[0].question) == ("The man fell.", "because")


def test_every_task_is_tested_here_with_its_official_labels():
    assert {*LABELS, "multirc", "record"} == set(TABLES)


def test_multirc_has_an_example_for_each_answer(make):
    task = make("multirc", "val.jsonl", multirc(2) + multirc(3))
    examples = task.examples("dev")
    assert [example.guid for example in examples] == [
        *("2-5-11", "2-5-12", "2-6-13"),
        *("3-5-11", "3-5-12", "3-6-13"),
    ]
    assert [example.label for example in examples] == [1, 0, 0] * 2
    assert (examples[1].first, examples[1].second) == (PASSAGE["text"], "Where was the river? In paris")


# As datasets.load_dataset("super_glue", ...) has them: numbers of classes, -1 in test splits, WSC and MultiRC flat.
SAVED = {name: row | {"idx": 4, "label": 1} for name, row in ROWS.items()}
SAVED["wsc"] = {"text": ROWS["wsc"]["text"], **TARGET, "idx": 4, "label": 1}
SAVED["multirc"] = {
    "paragraph": PASSAGE["text"],
    "question": "Was it good?",
    "answer": "Yes",
    "idx": {"paragraph": 2, "question": 6, "answer": 13},
    "label": 1,
}


@pytest.mark.parametrize("name", SAVED)
def test_rows_that_the_data_sets_library_saved_are_the_same_in_every_format(make, tmp_path, name):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    row, split = SAVED[name], "test"
    contents = multirc() if name == "multirc" else official(name, [LABELS[name][1]])
    like = make(name, "test.jsonl", contents).examples(split)[-1]
    folder = tmp_path / "superglue" / TABLES[name].folder
    (folder / "test.jsonl").unlink()
    task = make(name, "test.json", json.dumps([row, row | {"label": 0}]))
    [found, other] = task.examples(split)
    assert (found.label, other.label) == (1, 0)
    assert found == dataclasses.replace(like, label=1, guid="2-6-13" if name == "multirc" else "4")
    (folder / "test.json").unlink()
    with (folder / "test.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(row)
    assert task.examples(split) == [found]
    (folder / "test.csv").unlink()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), folder / "test-00000-of-00001.parquet")
    assert task.examples(split) == [found]
    hidden = make(name, "test.jsonl", json.dumps(row | {"label": -1}))
    assert [example.label for example in hidden.examples(split)] == [None]


def test_the_dev_file_is_called_val_validation_or_dev(make, tmp_path):
    for file in ("dev.jsonl", "validation.jsonl", "val.jsonl"):
        task = make("boolq", file, official("boolq", [True]))
        assert Path(task.input_files("dev")[0]).name == file
    with pytest.raises(InputError, match=r"has no train file \(train\.jsonl, train\.json, train\.csv, train\.parquet"):
        task.input_files("train")
    assert task.splits() == ("dev",)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"has no dev file \(val\.jsonl"):
        make_task("boolq", str(tmp_path / "empty")).input_files("dev")


def test_the_folder_may_be_the_tasks_own_and_files_may_be_named(make, write, tmp_path):
    make("cb", "train.jsonl", official("cb", ["neutral"]))
    own = make_task("cb", str(tmp_path / "superglue" / "CB"))
    assert [example.label for example in own.examples("train")] == [2]
    path = write("elsewhere/mine.jsonl", official("cb", ["contradiction"]))
    assert [one.label for one in make_task("cb", None, TaskOptions(dev_file=path)).examples("dev")] == [1]
    with pytest.raises(InputError, match="--train_file or --data_dir must say where the train file is"):
        make_task("cb").examples("train")
    with pytest.raises(InputError, match="--labels means nothing to --task_name=cb"):
        make_task("cb", None, TaskOptions(labels=("a",)))
    with pytest.raises(InputError, match="--train_file means nothing to --task_name=ax-b"):
        make_task("ax-b", None, TaskOptions(train_file=path))


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("boolq", '{"question": "a", "label": true}', "line 1: the row has no value of 'passage'"),
        ("boolq", '{"question": "a", "passage": "b"}', "line 1: the row has no label; they are false, true"),
        ("boolq", '{"question": "a", "passage": "b", "label": "yes"}', "line 1: unknown label 'yes'"),
        ("boolq", '{"question": "a", "passage": "b", "label": true, "idx": "x"}', "'idx' must be a whole number"),
        ("cb", '{"premise": "a", "hypothesis": "b", "label": 3}', "line 1: unknown label 3; the labels are entail"),
        ("cb", "", "train.jsonl holds no examples"),
        ("copa", "", "train.jsonl holds no examples"),
        ("copa", json.dumps(COPA | {"label": 2}), "line 1: unknown label 2; the labels are choice1, choice2"),
        ("copa", json.dumps({**COPA, "question": 1, "label": 0}), "'question' must be cause or effect"),
        ("wsc", '{"text": "a", "target": [1], "label": 0}', "'target' must be an object; received a list"),
        ("multirc", '{"idx": 0, "passage": {"text": "a"}}', "line 1: 'questions' must be a list of objects"),
        ("multirc", '{"paragraph": "a", "question": "b", "answer": "c", "label": 1}', "'idx' must be an object"),
    ],
)
def test_a_bad_row_is_one_line_with_file_and_line(make, name, contents, message):
    with pytest.raises(InputError, match=message) as caught:
        make(name, "train.jsonl", contents).examples("train")
    assert "train.jsonl" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_scores_are_the_official_ones(make):
    task = make("cb", "val.jsonl", official("cb", ["entailment", "entailment", "neutral", "contradiction"]))
    examples = task.examples("dev")
    # F1 of entailment 2/3 (precision 1, recall 1/2), of contradiction 2/3 (1/2, 1), of neutral 1.
    assert task.scores(examples, predicted(task, examples, [0, 1, 2, 1])) == pytest.approx(
        {"accuracy": 0.75, "macro_f1": 7 / 9}
    )
    assert task.metrics[:2] == ("accuracy", "macro_f1")


def test_multirc_has_f1_over_all_answers_and_exact_match_by_question(make):
    task = make("multirc", "val.jsonl", multirc(2) + multirc(3))
    examples = task.examples("dev")
    found = predicted(task, examples, [1, 0, 0, 1, 1, 0], classes=2)
    # Of six answers two are right, three are said to be, two of those are; of four questions one has an answer wrong.
    assert task.scores(examples, found) == pytest.approx({"f1": 0.8, "exact_match": 0.75})
    best = task.with_metric("exact_match")
    assert (best.metric, set(best.scores(examples, found))) == ("exact_match", {"f1", "exact_match"})
    assert set(task.with_metric("accuracy").scores(examples, found)) == {"f1", "exact_match", "accuracy"}


def test_pronouns_of_both_genders_are_to_be_answered_alike(make):
    rows = [
        ROWS["ax-g"] | {"idx": number, "pair_id": number // 2, "label": label}
        for number, label in enumerate(["entailment", "entailment", "not_entailment", "not_entailment"])
    ]
    task = make("ax-g", "AX-g.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    examples = task.examples("test")
    found = predicted(task, examples, [1, 1, 1, 0], classes=2)
    assert task.scores(examples, found) == {"accuracy": 0.25, "gender_parity": 0.5}
    assert task.scores_test(examples)
    without = make("ax-g", "AX-g.jsonl", official("ax-g", LABELS["ax-g"])).examples("test")
    assert task.scores(without, found[:2]) == {"accuracy": 0.5}


def test_a_test_split_without_labels_has_no_scores(make):
    task = make("boolq", "test.jsonl", official("boolq", [None, None]))
    examples = task.examples("test")
    assert not task.scores_test(examples)
    with pytest.raises(InputError, match="boolq: these examples have no labels"):
        task.scores(examples, predicted(task, examples, [0, 1], classes=2))


@pytest.mark.parametrize(
    ("name", "values", "labels"),
    [
        ("boolq", [1, 0], ["true", "false"]),
        ("cb", [2, 1], ["neutral", "contradiction"]),
        ("copa", [1, 0], [1, 0]),
        ("superglue_rte", [1, 0], ["not_entailment", "entailment"]),
        ("wic", [1, 0], ["true", "false"]),
        ("wsc", [1, 0], ["True", "False"]),
        ("ax-b", [1, 0], ["not_entailment", "entailment"]),
        ("ax-g", [1, 0], ["not_entailment", "entailment"]),
    ],
)
def test_a_submission_has_the_official_name_and_lines(make, tmp_path, name, values, labels):
    task = make(name, "test.jsonl", official(name, [None, None]))
    examples = task.examples("test")
    paths = task.write_predictions(str(tmp_path / "out"), "test", examples, predicted(task, examples, values))
    assert [Path(path).name for path in paths] == ["test_predictions.jsonl", f"{TABLES[name].folder}.jsonl"]
    assert lines_of(paths[1]) == [{"idx": number, "label": label} for number, label in enumerate(labels)]
    assert [line["guid"] for line in lines_of(paths[0])] == ["0", "1"]
    [only] = task.write_predictions(str(tmp_path / "out"), "dev", examples, predicted(task, examples, values))
    assert Path(only).name == "dev_predictions.jsonl"


def test_a_submission_of_multirc_has_answers_within_questions_within_paragraphs(make, tmp_path):
    task = make("multirc", "test.jsonl", multirc(labelled=False))
    examples = task.examples("test")
    found = predicted(task, examples, [0, 1, 1], classes=2)
    path = task.write_predictions(str(tmp_path / "out"), "test", examples, found)[-1]
    questions = [
        {"idx": 5, "answers": [{"idx": 11, "label": 0}, {"idx": 12, "label": 1}]},
        {"idx": 6, "answers": [{"idx": 13, "label": 1}]},
    ]
    assert (Path(path).name, lines_of(path)) == ("MultiRC.jsonl", [{"idx": 2, "passage": {"questions": questions}}])


def test_a_choice_of_copa_has_a_feature_with_both_options_and_a_report(make, tokenizer):
    task = make("copa", "train.jsonl", official("copa", [1, 0]))
    examples = task.examples("train")
    [feature] = task.features(3, examples[0], tokenizer, TaskSettings(max_seq_length=64))
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    premise = tokenizer.encode("The man fell.")
    for ids, choice in zip(feature.input_ids, ("He slipped.", "He sang."), strict=True):
        assert list(ids) == [cls, *premise, sep, *tokenizer.encode(f"because {choice}"), sep]
    assert (feature.example, feature.label) == (3, 1)
    found = predicted(task, examples, [0, 0], classes=2)
    assert task.scores(examples, found) == {"accuracy": 0.5}
    assert "1 of 2 wrong" in task.report(examples, found).text


def test_the_head_of_one_rte_predicts_the_other_and_the_diagnostic_sets():
    labels = TABLES["superglue_rte"].labels
    rte = FinetunedTask("classification", 2, labels, "rte")
    for name in ("superglue_rte", "ax-b", "ax-g"):
        assert rte.shares_head_with(FinetunedTask("classification", 2, labels, name))
    assert not rte.shares_head_with(FinetunedTask("classification", 2, labels, "qnli"))


def test_a_submission_has_a_file_for_each_task():
    assert sorted(submission_files()) == sorted(f"{table.folder}.jsonl" for table in TABLES.values())
