"""Each input row gives one result, in order, and each format shows all of it."""

import csv
import io
import json

import pytest

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.runtime.errors import InputError
from albert_tf.serving.answered_rows import answer_rows, count_errors
from albert_tf.serving.input_fields import ExampleFields
from albert_tf.serving.input_rows import columns_of, read_rows
from albert_tf.serving.result_formats import (
    AUTO,
    choose_format,
    format_results,
    to_bytes,
)

TASK = FinetunedTask("classification", 2, ("odd", "even"), "classification", ("text",))
LINES = ['{"text": "one", "id": "x1", "n": [1, 2]}', "", '{"text": 3}', "fo\tur", '{"text": "\\ud800"}', "{", "seven"]


class Lengths:
    """A stand-in for a model: says whether a text's length is even, and notes how many texts came at once."""

    def __init__(self):
        self.example_fields, self.batches = ExampleFields(("text",), TASK), []

    def predict(self, examples):
        texts = [self.example_fields.check(example, "")["text"] for example in examples]
        self.batches.append(len(texts))
        if "fails" in texts:
            raise InputError("the model failed")
        chances = [{"odd": len(text) % 2 + 0.0, "even": 1.0 - len(text) % 2} for text in texts]
        return [{"label": max(chance, key=chance.get), "probabilities": chance} for chance in chances]


def results_of(lines, batch_size=3):
    predictor = Lengths()
    rows = list(read_rows(lines, predictor.example_fields, TASK))
    return list(answer_rows(predictor, rows, batch_size)), columns_of(rows), predictor.batches


def test_each_row_gives_one_result_with_its_number_columns_and_answer_or_error():
    results, _, batches = results_of(LINES)
    assert [result["row"] for result in results] == list(range(1, 8))
    assert batches == [2, 1, 1]
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
    assert batches == [3, 1, 1, 1]


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


def test_errors_are_counted_on_the_way():
    results, errors = results_of(LINES)[0], []
    assert list(count_errors(results, errors)) == results
    assert [error.split(":")[0] for error in errors] == ["argument 3", "argument 5", "argument 6"]


def test_json_lines_hold_the_results_as_they_are():
    results, columns, _ = results_of(LINES)
    lines = b"".join(map(to_bytes, format_results(results, "jsonl", columns)))
    assert [json.loads(line) for line in lines.decode().splitlines()] == results


@pytest.mark.parametrize("file_format", ["tsv", "csv"])
def test_tables_have_a_column_for_everything(file_format):
    results, columns, _ = results_of(LINES)
    text = b"".join(map(to_bytes, format_results(results, file_format, columns))).decode()
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


def test_a_table_of_errors_alone_has_a_header_too():
    results, columns, _ = results_of(["{"])
    header, row = format_results(results, "tsv", columns)
    assert header.split("\t") == ["row", "input: line", "warning", "error"]
    assert row.startswith("1\t{\t\targument 1: not JSON")
    assert list(format_results([], "csv", ["text"])) == ["row,input: text,warning,error"]


def test_a_terminal_shows_one_line_for_each_row_without_control_characters():
    lines = list(format_results(results_of(["good \x1b[31m film", *LINES])[0], "table", ()))
    assert len(lines) == 1 + len(LINES)
    assert lines[0].split() == ["1", "good", "[31m", "film", "odd", "1.0000"]
    assert lines[1].split() == ["2", "x1", "one", "odd", "1.0000"]
    assert "error: argument 4: 'text' must be text" in lines[3]
    assert not any("\x1b" in line for line in lines)


def test_the_format_is_the_one_asked_for_else_by_the_name_else_by_the_reader(monkeypatch):
    assert choose_format("tsv", "a.csv") == "tsv"
    assert [choose_format(AUTO, f"a.{ending}") for ending in ("csv", "tsv", "jsonl", "txt")] == [
        "csv",
        "tsv",
        "jsonl",
        "jsonl",
    ]
    assert choose_format(AUTO) == "jsonl"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert choose_format(AUTO) == "table"


def test_a_second_text_that_is_not_read_is_warned_of_in_python_too(predictors):
    one, two = predictors["classification"].predict([{"text": "babe", "text_pair": "dika"}, {"text": "babe"}])
    assert one.pop("warning") == "example 1: 'text_pair' is not read; this model takes text"
    assert one["probabilities"] == pytest.approx(two["probabilities"], abs=1e-6)
