"""Rows of every format: each input row is a row, in order, with its columns; faulty ones with their fault."""

import dataclasses
import io
import json
import os
import threading

import pytest

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.rows import input_lines
from albert_tf.rows.input_lines import LONGEST_LINE, open_input, read_lines
from albert_tf.rows.input_rows import read_rows
from albert_tf.runtime.errors import InputError
from albert_tf.serving.input_fields import ExampleFields, empty_fields
from albert_tf.tasks.registry import TaskOptions

TEXT = FinetunedTask("classification", 2, ("a", "b"), "classification", ("text",))
REVIEWS = dataclasses.replace(TEXT, options=dataclasses.asdict(TaskOptions(text_column="review", label_column="stars")))
TAGS = FinetunedTask("token_classification", 2, ("O", "B-X"), "token_classification", ("words?", "text?"))
CHOICE = FinetunedTask("multiple_choice", 1, (), "race", ("article", "question", "options"))
SPAN = FinetunedTask("span", 2, (), "squad_v1", ("question", "context"))
CATEGORIES = FinetunedTask("span_categories", 2, ("x", "y"), "span_categories", ("text",))


def rows_of(source, task=TEXT, file_format="auto"):
    names = ("words",) if task is TAGS else task.input_fields
    return list(read_rows(source, ExampleFields(names, task), task, file_format))


@pytest.fixture
def write(tmp_path):
    def run(name, contents):
        path = tmp_path / name
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return str(path)

    return run


def test_every_line_is_a_row_with_its_number(write):
    lines = b'\xef\xbb\xbffirst\r\n\n  third \n{"text": "fourth", "id": 4}\n\xff\n'
    expected = [{"text": "first"}, {"text": ""}, {"text": "  third "}, {"text": "fourth", "id": 4}, {"text": "\udcff"}]
    for rows in (rows_of(write("a.txt", lines)), rows_of(io.BytesIO(lines))):
        assert [row.values for row in rows] == expected
        assert [row.number for row in rows] == [1, 2, 3, 4, 5]
        assert [row.error for row in rows] == [None] * 5
    assert rows[2].where == "stdin, line 3"
    assert rows_of(["one", "two"])[1].where == "argument 2"


@pytest.mark.parametrize(
    "line, error",
    [
        ("{oops", "not JSON: Expecting property name"),
        ('{"text": "a", "text": "b"}', "the name 'text' stands twice"),
        ('{"text": NaN}', "NaN is not a value of JSON"),
        ('{"text": 1e999}', "1e999 is too large a number"),
        ('{"text": ' + "[" * 100_000 + "}", "nested too deep"),
        ("[1]", "a JSON object was expected; this is a list"),
        ("", "the line is empty"),
    ],
)
def test_a_line_that_is_no_object_is_a_row_with_its_fault(write, line, error):
    path = write("a.jsonl", f'{{"text": "x"}}\n{line}\n{{"text": "y"}}\n')
    before, row, after = rows_of(path)
    assert (before.error, after.error) == (None, None)
    assert error in row.error
    assert row.values == {"line": line}
    assert (row.number, row.where) == (2, f"{path}, line 2")


def test_a_text_that_begins_with_a_brace_is_told_how_to_be_written(write):
    _, row = rows_of(write("a.txt", "one\n{two} and three\n"))
    assert row.error.startswith("not JSON: ")
    assert row.error.endswith('; a line that begins with { is an object: write a text that does as {"text": "..."}')
    (row,) = rows_of(write("b.jsonl", "{two}\n"))
    assert "begins with" not in row.error


@pytest.mark.parametrize("ending, gap", [("tsv", "\t"), ("csv", ",")])
def test_a_table_keeps_all_columns_and_every_line(write, ending, gap):
    table = "key,review,stars\n1,good,5\n\n2,,3\n3,bad\n4,so,1,more\n".replace(",", gap)
    rows = rows_of(write(f"a.{ending}", table), REVIEWS)
    assert [row.number for row in rows] == [1, 2, 3, 4, 5]
    assert rows[0].values == {"key": "1", "review": "good", "stars": "5"}
    assert [row.error for row in rows] == [
        None,
        "the line is empty",
        None,
        "2 fields; the header has 3 columns",
        "1 more fields than the header has columns",
    ]


def test_a_table_of_one_column_may_have_an_empty_text(write):
    rows = rows_of(write("a.tsv", "text\none\n\ntwo\n"))
    assert [(row.values["text"], row.error) for row in rows] == [("one", None), ("", None), ("two", None)]


def test_a_field_of_csv_may_hold_line_breaks(write):
    rows = rows_of(write("a.csv", 'text,id\n"one\r\ntwo, ""three""",1\nfour,2\n'))
    assert [row.values for row in rows] == [{"text": 'one\ntwo, "three"', "id": "1"}, {"text": "four", "id": "2"}]
    assert rows[1].where.endswith("line 4")


@pytest.mark.parametrize(
    "table, match",
    [
        ("", "line 1: a header with the names of the columns was expected; it is empty"),
        ("a\tb\nx\ty\n", "line 1: the header has no 'text' or 'review'; there is 'a', 'b'"),
        ("text\ttext\nx\ty\n", "line 1: the header names 'text' twice"),
    ],
)
def test_a_table_without_the_columns_is_refused(write, table, match):
    with pytest.raises(InputError, match=match):
        rows_of(write("a.tsv", table), REVIEWS)


def test_csv_that_is_none_is_refused(write):
    with pytest.raises(InputError, match=r"a.csv, line 2: not CSV: unexpected end of data"):
        rows_of(write("a.csv", 'text\n"one\n'))


def test_columns_are_named_as_in_training_or_as_the_fields():
    fields = ExampleFields(("text",), REVIEWS)
    assert fields.check({"review": "x", "text": "a title"}, "here") == {"text": "x"}
    assert fields.check({"text": "x"}, "here") == {"text": "x"}
    mnli = ExampleFields(("text", "text_pair"), dataclasses.replace(TEXT, name="mnli"))
    assert mnli.check({"sentence1": "x", "sentence2": "y"}, "here") == {"text": "x", "text_pair": "y"}
    assert ExampleFields(("text",), dataclasses.replace(TEXT, name="cola")).check({"sentence": "x"}, "here") == {
        "text": "x"
    }


def test_a_list_in_a_table_is_json(write):
    good, bad = rows_of(write("a.tsv", 'article\tquestion\toptions\nx\ty\t["1", "2"]\nx\ty\t1|2\n'), CHOICE)
    assert good.values["options"] == ["1", "2"]
    assert bad.error == '\'options\' must be a list of texts in JSON, as ["a", "b"]'


def test_conll_columns_are_for_a_tagging_model_whatever_the_files_name_is(write):
    contents = "Ada B-X\nwrote O\n\nit O\n"
    for name in ("a.conll", "a.bio", "a.txt", "a.tsv"):
        first, second = rows_of(write(name, contents.replace(" ", "\t") if name == "a.tsv" else contents), TAGS)
        assert first.values == {"words": ["Ada", "wrote"], "tags": ["B-X", "O"]}
        assert second.where.endswith("sentence 2")
    assert [row.values for row in rows_of(write("a.conll", "Ada\nwrote\n"), TAGS)] == [{"words": ["Ada", "wrote"]}]
    assert [row.values for row in rows_of(write("a.txt", "Ada wrote\n"), TAGS)] == [{"text": "Ada wrote"}]
    with pytest.raises(
        InputError, match="CoNLL columns are for a model that tags words; this one is of classification"
    ):
        rows_of(write("a.conll", contents))
    with pytest.raises(InputError, match="CoNLL columns are for .*; this one is of entities"):
        rows_of(write("a.conll", contents), FinetunedTask("token_classification", 3, (), "entities", ("text",)))


def test_a_tagging_model_takes_a_text_or_words():
    fields = ExampleFields(("words",), TAGS)
    assert fields.check("Ada  wrote\tit", "here") == {"words": ["Ada", "wrote", "it"]}
    assert fields.check({"text": "Ada wrote"}, "here") == fields.check({"words": ["Ada", "wrote"]}, "here")
    assert empty_fields(fields.check("", "here"), fields.names) == ["words"]


def test_a_file_of_squad_gives_its_questions_with_their_ids(write):
    question = {"id": "q7", "question": "Who?", "answers": []}
    squad = {"data": [{"paragraphs": [{"context": "Ada did.", "qas": [question]}]}]}
    (row,) = rows_of(write("dev.json", json.dumps(squad)), SPAN)
    assert row.values == {"id": "q7", "question": "Who?", "context": "Ada did."}
    (row,) = rows_of(write("dev.json", json.dumps(squad)))
    with pytest.raises(InputError, match="no 'text'; there is 'data'"):
        ExampleFields(TEXT.input_fields, TEXT).check(row.values, row.where)


@pytest.mark.parametrize("task", [SPAN, CATEGORIES])
def test_json_that_is_no_squad_gives_its_objects_as_they_are(write, task):
    given = [{"question": "Who?", "context": "Ada did.", "topic": "sums"}, {"question": "Who?"}]
    assert [row.values for row in rows_of(write("list.json", json.dumps(given)), task)] == given
    for end in ("", "\n" + json.dumps(given[1])):
        rows = rows_of(write("rows.json", json.dumps(given[0]) + end), task)
        assert [row.values for row in rows] == given[: len(rows)] and len(rows) == (2 if end else 1)


def test_a_list_in_json_gives_its_objects(write):
    rows = rows_of(write("rows.json", json.dumps([{"text": "One."}, {"text": "Two.", "id": 7}])))
    assert [row.values for row in rows] == [{"text": "One."}, {"text": "Two.", "id": 7}]
    assert rows[1].where.endswith("rows.json, [1]")


@pytest.mark.parametrize(
    "task, example, match",
    [
        (TEXT, 5, "an object with text was expected; received 5"),
        (TEXT, {"text": None}, "'text' must be text. Received None"),
        (TEXT, {"text": ["x"]}, "'text' must be text. Received a list"),
        (TEXT, {"text": "\ud800"}, "'text' is not UTF-8"),
        (TEXT, {"txt": "x"}, "no 'text'; there is 'txt'"),
        (TEXT, {}, "no 'text'; there is nothing"),
        (SPAN, "Who?", "this model takes question, context: give them by name"),
        (SPAN, {"question": "x"}, "no 'context'; there is 'question'"),
        (CHOICE, {"article": "", "question": "", "options": []}, "at least 2 texts; it has 0"),
        (CHOICE, {"article": "", "question": "", "options": "ab"}, "'options' must be a list of texts. Received 'ab'"),
        (TAGS, {"words": ["a", " "]}, r"'words\[1\]' is empty"),
        (TAGS, {"words": ["a", 1]}, r"'words\[1\]' must be text. Received 1"),
        (TAGS, {"x": 1}, "no 'words' or 'text'; there is 'x'"),
    ],
)
def test_a_field_that_is_not_what_it_should_be_is_one_line(task, example, match):
    names = ("words",) if task is TAGS else task.input_fields
    with pytest.raises(InputError, match=f"^here: .*{match}") as error:
        ExampleFields(names, task).check(example, "here")
    assert len(str(error.value)) < 200


def test_a_deep_value_is_named_without_being_followed():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="must be text. Received a list"):
        ExampleFields(("text",), TEXT).check({"text": deep}, "here")


def test_what_never_ends_is_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="stdin, line 1: longer than 16 MiB"), open("/dev/zero", "rb") as zeros:
        list(read_lines(zeros, "stdin"))
    with pytest.raises(InputError, match="/dev/zero is a device; name a file, or leave it out"):
        open_input("/dev/zero")
    monkeypatch.setattr(input_lines, "PATIENCE", 0.2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no program writes into this pipe"):
        open_input(str(tmp_path / "pipe"))
    assert list(read_lines(io.BytesIO(b"x" * LONGEST_LINE), "stdin")) == ["x" * LONGEST_LINE]


def test_a_pipe_is_read_to_its_end(tmp_path):
    path = str(tmp_path / "pipe.txt")
    os.mkfifo(path)

    def write():
        with open(path, "wb") as pipe:
            pipe.write(b"one\ntwo\n")

    writer = threading.Thread(target=write)
    writer.start()
    assert [row.values["text"] for row in rows_of(path)] == ["one", "two"]
    writer.join()


@pytest.mark.parametrize(
    "name, match", [(".", "is a folder"), ("nowhere", "does not exist"), ("a\0b", "is no file name")]
)
def test_what_is_no_file_is_refused(tmp_path, name, match):
    with pytest.raises(InputError, match=match):
        rows_of(str(tmp_path / name))
