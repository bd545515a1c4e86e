"""Each input row gives one result, in order, and each format shows all of it."""

import csv
import io
import json

import pytest
from stand_in_model import TASK, Lengths, answer_all

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.rows import answered_rows
from albert_tf.rows.answered_rows import RowAsker, begin_rows
from albert_tf.rows.input_rows import columns_of, read_rows
from albert_tf.rows.line_rows import InputRow
from albert_tf.rows.result_formats import (
    AUTO,
    ResultColumns,
    choose_format,
    line_form,
)
from albert_tf.serving.input_fields import ExampleFields

LINES = ['{"text": "one", "id": "x1", "n": [1, 2]}', "", '{"text": 3}', "fo\tur", '{"text": "\\ud800"}', "{", "seven"]


def results_of(lines, batch_size=3, carried=None):
    predictor = Lengths()
    rows = list(read_rows(lines, predictor.example_fields, TASK))
    results = answer_all(RowAsker(predictor, carried), rows, batch_size)
    columns = ResultColumns.of(columns_of(rows), RowAsker(predictor).answer([{"text": "a"}])[0], carried)
    return results, columns, predictor.batches[:-1]


def lines_of(results, file_format, columns=None):
    form = line_form(file_format, columns)
    return (form.header() + form.encode(results)).decode().splitlines()


def test_each_row_gives_one_result_with_its_number_columns_and_answer_or_error():
    results, _, batches = results_of(LINES)
    assert [result["row"] for result in results] == list(range(1, 8))
    assert [sorted(batch) for batch in batches] == [["", "fo\tur", "one"], ["seven"]]
    assert results[0] == {
        "row": 1,
        "id": "x1",
        "input": {"text": "one", "id": "x1", "n": [1, 2]},
        "label": "odd",
        "probabilities": {"odd": 1.0, "even": 0.0},
    }
    assert results[1]["label"] == "even"
    assert results[1]["warning"] == "argument 2: no text in 'text'"
    assert results[2] == {"row": 3, "input": {"text": 3}, "error": "argument 3: 'text' must be text. Received 3"}
    assert [sorted(set(result) - {"row", "input"}) for result in results[3:]] == [
        ["label", "probabilities"],
        ["error"],
        ["error"],
        ["label", "probabilities"],
    ]


def test_a_row_on_which_the_model_fails_keeps_no_other_from_its_answer():
    results, _, batches = results_of(["one", "fails", "two"])
    assert ["error" in result for result in results] == [False, True, False]
    assert results[1]["error"] == "argument 2: the model failed"
    assert batches == [["one", "two", "fails"], ["one"], ["two"], ["fails"]]


def test_batches_are_of_like_lengths_and_results_in_the_order_given(monkeypatch):
    monkeypatch.setattr(answered_rows, "WINDOW_BATCHES", 3)
    texts = ["aaaa", "a", "aaa", "aaaaa", "aa", "aaaaaa", "b", "bb"]
    results, _, batches = results_of(texts, batch_size=2)
    assert [result["input"]["text"] for result in results] == texts
    assert [result["label"] for result in results] == ["odd" if len(text) % 2 else "even" for text in texts]
    assert batches == [["a", "aa"], ["aaa", "aaaa"], ["aaaaa", "aaaaaa"], ["b", "bb"]]


def test_a_window_holds_no_more_characters_than_memory_should(monkeypatch):
    monkeypatch.setattr(answered_rows, "WINDOW_CHARACTERS", 100)
    rows = [InputRow(number, "here", {"text": "x" * 30}) for number in range(7)]
    assert [len(window) for window in begin_rows(RowAsker(Lengths()), rows, 32)] == [3, 3, 1]


def test_chosen_columns_go_along_and_the_id_with_them():
    results, columns, _ = results_of(['{"text": "one", "id": "x1", "n": 1}', "two"], carried=["n"])
    assert results[0]["input"] == {"n": 1} and results[0]["id"] == "x1"
    assert results[1]["input"] == {}
    assert lines_of(results, "tsv", columns)[0].startswith("row\tid\tinput: n\tlabel")


def test_a_second_text_that_is_not_read_is_warned_of():
    results, _, _ = results_of(['{"text": "one", "text_pair": "two"}', '{"text": "one", "text_pair": ""}'])
    assert results[0]["warning"] == "argument 1: 'text_pair' is not read; this model takes text"
    assert "warning" not in results[1]
    pairs = ExampleFields(("text", "text_pair"), TASK)
    assert pairs.unread({"text": "one", "text_pair": "two"}) is None
    as_column = FinetunedTask(
        "classification", 2, ("a", "b"), "classification", ("text",), options={"text_column": "text_pair"}
    )
    assert ExampleFields(("text",), as_column).unread({"text_pair": "two"}) is None


def test_json_lines_hold_the_results_as_they_are():
    results, _, _ = results_of(LINES)
    assert [json.loads(line) for line in lines_of(results, "jsonl")] == results


@pytest.mark.parametrize("file_format", ["tsv", "csv"])
def test_tables_have_a_column_for_everything(file_format):
    results, columns, _ = results_of(LINES)
    form = line_form(file_format, columns)
    text = (form.header() + form.encode(results)).decode()
    rows = list(
        csv.reader(
            io.StringIO(text),
            delimiter="\t" if file_format == "tsv" else ",",
            quoting=csv.QUOTE_MINIMAL if file_format == "csv" else csv.QUOTE_NONE,
        )
    )
    assert rows[0] == [
        *("row", "id", "input: text", "input: id", "input: n", "input: line"),
        *("label", "probabilities: odd", "probabilities: even", "warning", "error"),
    ]
    assert {len(row) for row in rows} == {11}
    assert len(rows) == 1 + len(LINES)
    assert rows[1][:9] == ["1", "x1", "one", "x1", "[1, 2]", "", "odd", "1.0", "0.0"]
    assert rows[4][2] == ("fo ur" if file_format == "tsv" else "fo\tur")
    assert rows[3][6:] == ["", "", "", "", "argument 3: 'text' must be text. Received 3"]


def test_a_table_of_errors_alone_has_the_same_header():
    results, columns, _ = results_of(["{"])
    header, row = lines_of(results, "tsv", columns)
    answer = ["label", "probabilities: odd", "probabilities: even"]
    assert header.split("\t") == ["row", "input: line", *answer, "warning", "error"]
    assert row.startswith("1\t{\t\t\t\t\targument 1: not JSON")
    assert lines_of([], "tsv", columns) == [header]


def test_a_terminal_shows_one_line_for_each_row_without_control_characters():
    lines = lines_of(results_of(["good \x1b[31m film", *LINES])[0], "table")
    assert len(lines) == 1 + len(LINES)
    assert lines[0].split() == ["1", "good", "[31m", "film", "odd", "1.0000"]
    assert lines[1].split() == ["2", "x1", "one", "odd", "1.0000"]
    assert "error: argument 4: 'text' must be text" in lines[3]
    assert not any("\x1b" in line for line in lines)


def test_the_format_is_the_one_asked_for_else_by_the_name_else_by_the_reader(monkeypatch):
    assert choose_format("tsv", "a.csv") == "tsv"
    assert [choose_format(AUTO, f"a.{ending}") for ending in ("csv", "tsv", "parquet", "jsonl", "txt")] == [
        *("csv", "tsv", "parquet", "jsonl", "jsonl"),
    ]
    assert choose_format(AUTO) == "jsonl"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert choose_format(AUTO) == "table"


@pytest.mark.slow
def test_a_second_text_that_is_not_read_is_warned_of_in_python_too(predictors):
    one, two = predictors["classification"].predict([{"text": "babe", "text_pair": "dika"}, {"text": "babe"}])
    assert one.pop("warning") == "example 1: 'text_pair' is not read; this model takes text"
    assert one["probabilities"] == pytest.approx(two["probabilities"], abs=1e-6)


def test_entities_are_json_in_a_table_and_words_on_a_terminal():
    found = [{"start": 0, "end": 3, "label": "PER", "text": "Ada", "score": 0.5}]
    results = [{"row": number, "input": {"text": "Ada"}, "entities": one} for number, one in enumerate((found, []), 1)]
    # No entity in the answer that shows the columns.
    columns = ResultColumns.of(["text"], {"entities": []})
    header, first, second = lines_of(results, "tsv", columns)
    assert header.split("\t") == ["row", "input: text", "entities", "warning", "error"]
    assert json.loads(first.split("\t")[2]) == found
    assert second.split("\t")[2] == "[]"
    shown = lines_of(results, "table")
    assert shown[0].endswith("Ada/PER 0-3")
    assert shown[1].endswith("none")
