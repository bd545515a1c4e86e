"""Files of SQuAD: what is read, what is said of bad ones, how they are found."""

import json

import pytest

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.split_files import SplitFiles
from albert_tf.tasks.squad import SquadTask
from albert_tf.tasks.squad_examples import read_squad

CONTEXT = "The river was in the city of paris and the film was good."
NAMES = ("{split}-v*.json",)


def test_questions_are_read(make_squad):
    task = make_squad("squad_v2", ("1", "where?", ["paris", "city of paris"], False), ("2", "who?", [], True))
    first, second = task.examples("train")
    assert (first.qas_id, first.question, first.context, first.is_impossible) == ("1", "where?", CONTEXT, False)
    assert [(answer.text, answer.start) for answer in first.answers] == [("paris", 29), ("city of paris", 21)]
    assert (second.answers, second.is_impossible) == ((), True)
    assert task.splits() == ("train", "dev", "test")


def test_a_test_file_needs_no_answers(make_squad):
    task = make_squad("squad_v1", ("1", "where?", None, False))
    [example] = task.examples("test")
    assert example.is_impossible is None
    with pytest.raises(InputError, match=r"dev-v1.1.json, data\[0\].paragraphs\[0\].qas\[0\]: no answers; training"):
        task.examples("dev")
    with pytest.raises(InputError, match="have no answers, so there is nothing to score"):
        task.scores([example], [])


@pytest.mark.parametrize("name", ["squad_v1", "squad_v2"])
def test_an_empty_list_of_answers_in_a_test_file_says_nothing(make_squad, name, caplog):
    task = make_squad(name, ("1", "where?", [], False), ("2", "who?", [], False))
    assert [(example.is_impossible, example.answers) for example in task.examples("test")] == [(None, ())] * 2
    assert not caplog.records


def test_a_dev_file_without_any_answers_is_read_as_the_official_evaluation_reads_it_and_noticed(write, caplog):
    question = {"id": "1", "question": "where?", "answers": [], "is_impossible": False}
    contents = {"data": [{"paragraphs": [{"context": "paris", "qas": [question]}]}]}
    [example] = read_squad(write("dev.json", json.dumps(contents)), with_impossible=True, need_answers=True)
    assert example.is_impossible is True
    assert "1 questions have no answers though is_impossible is false; taken for impossible" in caplog.text
    assert "no question has an answer; the best model of it never answers" in caplog.text


def test_a_test_file_with_some_answers_counts_as_one_without(make_squad, caplog):
    task = make_squad("squad_v1", ("1", "where?", None, False), ("2", "where?", ["paris"], False))
    assert [(example.is_impossible, example.answers) for example in task.examples("test")] == [(None, ())] * 2
    assert "1 of 2 examples have no label" in caplog.text


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("squad_v1", lambda s: s["qas"][0].pop("id"), r"qas\[0\]: id must be text; received None"),
        ("squad_v1", lambda s: s["qas"][0].update(question=5), r"qas\[0\]: question must be text; received 5"),
        ("squad_v1", lambda s: s.pop("context"), r"paragraphs\[0\]: context must be text"),
        ("squad_v1", lambda s: s.update(qas={}), r"paragraphs\[0\]: qas must be a list"),
        ("squad_v1", lambda s: s["qas"].append("x"), r"qas\[1\]: id must be text; received a value that is no object"),
        ("squad_v1", lambda s: s["qas"][0].update(answers=[]), r"qas\[0\]: the list of answers is empty; SQuAD v1.1"),
        ("squad_v1", lambda s: s["qas"][0].update(is_impossible=True), r"use --task_name=squad_v2"),
        ("squad_v2", lambda s: s["qas"][0].update(is_impossible=1), r"is_impossible must be true or false"),
        (
            "squad_v1",
            lambda s: s["qas"][0]["answers"][0].update(text="rome"),
            r'answers\[0\]: the answer "rome" is not',
        ),
        ("squad_v1", lambda s: s["qas"][0]["answers"][0].update(text=" "), r"answers\[0\]: the answer is empty"),
        (
            "squad_v1",
            lambda s: s["qas"][0]["answers"][0].update(answer_start="3"),
            "answer_start must be a whole number",
        ),
        ("squad_v1", lambda s: s["qas"].append(s["qas"][0]), r"qas\[1\]: the id '1' is also that of data\[0\].par"),
        ("squad_v1", lambda s: s["qas"].clear(), "train-v1.1.json holds no questions"),
    ],
)
def test_a_bad_file_is_one_line_with_its_place(write, tmp_path, squad_contents, name, change, message):
    contents = squad_contents(("1", "where?", ["paris"], False))
    change(contents["data"][0]["paragraphs"][0])
    write("train-v1.1.json", json.dumps(contents))
    with pytest.raises(InputError, match=message) as caught:
        SquadTask(name, SplitFiles(str(tmp_path), NAMES)).examples("train")
    assert "train-v1.1.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("", "not JSON"),
        ('{"data": [}', r"not JSON: .*line 1 column 11"),
        ("3", "a list of objects was expected; this is a int"),
        ("{}", "data must be a list; received None"),
    ],
)
def test_a_file_that_is_no_squad_is_named(write, tmp_path, contents, message):
    write("train-v1.1.json", contents)
    with pytest.raises(InputError, match=f"train-v1.1.json: .*{message}|train-v1.1.json: {message}"):
        SquadTask("squad_v1", SplitFiles(str(tmp_path), NAMES)).examples("train")


def test_an_answer_beside_its_place_is_found_where_it_stands(write, tmp_path, squad_contents, caplog):
    contents = squad_contents(("1", "what?", ["the"], False))
    contents["data"][0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] = 20
    write("train-v1.1.json", json.dumps(contents))
    [example] = SquadTask("squad_v1", SplitFiles(str(tmp_path), NAMES)).examples("train")
    assert example.answers[0].start == 17
    assert "1 answers do not stand where answer_start says" in caplog.text


def test_files_are_named_or_found(tmp_path, write):
    files = SplitFiles(str(tmp_path), NAMES)
    with pytest.raises(InputError, match="has no dev file .dev-v..json.; give it as --dev_file"):
        files.find("dev")
    write("dev-v1.1.json", "")
    write("dev-v2.0.json", "")
    with pytest.raises(InputError, match=r"several dev files \(dev-v1.1.json, dev-v2.0.json\); give one as --dev_file"):
        files.find("dev")
    named = write("else/where.json", "")
    assert SplitFiles(str(tmp_path), NAMES, dev_file=named).find("dev") == named
    assert SplitFiles(None, NAMES, dev_file=named).splits() == ("dev",)
    with pytest.raises(InputError, match="--train_file or --data_dir must say where"):
        SplitFiles(None, NAMES).find("train")
    with pytest.raises(InputError, match="--data_dir=none does not exist"):
        SplitFiles("none", NAMES).find("train")
    with pytest.raises(InputError, match="--train_file=none does not exist"):
        SplitFiles("none", NAMES, train_file="none").find("train")


def test_a_file_of_questions_may_be_of_any_size(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_SMALL_FILE", 100)
    path = tmp_path / "large.json"
    question = {"id": "q", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": "Ann sang. " * 20, "qas": [question]}]}]}))
    (example,) = read_squad(str(path), with_impossible=False, need_answers=True)
    assert example.question == "Who?"
