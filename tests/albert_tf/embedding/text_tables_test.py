"""Files of texts to train vectors on: which columns are read, and the one line about what is wrong."""

import numpy as np
import pytest

from albert_tf.embedding.text_tables import columns_in, read_table
from albert_tf.runtime.errors import InputError


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write_file


def test_a_file_without_columns_has_a_text_in_each_line(write):
    path = write("texts.txt", "one\n\n  \ntwo\twords\n")
    table = read_table(path)
    assert (table.texts, table.scores, columns_in(path)) == ([("one",), ("two\twords",)], None, [])


def test_all_columns_are_texts_but_ids_and_scores(write):
    table = read_table(write("pairs.csv", 'id,question,text,score\n7,"a, b",c,2.5\n8,d,e,5\n'), max_score=5)
    assert (table.columns, table.texts) == (("question", "text"), [("a, b", "c"), ("d", "e")])
    assert table.scores.tolist() == [0.5, 1.0]


def test_named_columns_are_read_in_their_order(write):
    path = write("pairs.jsonl", '{"label": 3, "a": "x", "b": "y", "like": 0.5}\n')
    table = read_table(path, ("b", "a"), "like")
    assert (table.texts, table.scores.tolist()) == ([("y", "x")], [0.5])
    assert read_table(path, ("a", "label")).texts == [("x", "3")]
    path = write("more.jsonl", '{"a": "x"}\n{"a": "y", "b": "z"}\n')
    assert read_table(path, ("a",)).texts == [("x",), ("y",)]


def test_a_column_of_labels_is_left_aside_where_no_scores_are_needed(write, caplog):
    path = write("nli.csv", "a,b,label\nx,y,entailment\n")
    table = read_table(path, needs_scores=False)
    assert (table.columns, table.texts, table.scores) == (("a", "b"), [("x", "y")], None)
    assert f"the scores of {path}, column 'label', are not read: all texts of a row count as" in caplog.text
    # One that was asked for by its name is read in any case.
    with pytest.raises(InputError, match="line 2: 'label' must be a number"):
        read_table(path, score_column="label", needs_scores=False)


def test_parquet_is_read_as_a_table(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    path = str(tmp_path / "pairs.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"anchor": ["a", "c"], "positive": ["b", "d"], "idx": [1, 2]}), path)
    table = read_table(path)
    assert (table.columns, table.texts, table.scores) == (("anchor", "positive"), [("a", "b"), ("c", "d")], None)


def test_rows_with_a_blank_text_are_left_out_with_their_scores(write):
    table = read_table(write("pairs.tsv", "a\tb\tscore\nx\t \t1\nx\ty\t0.25\n"))
    assert (table.texts, table.scores.tolist()) == ([("x", "y")], [np.float32(0.25)])


@pytest.mark.parametrize(
    ("name", "text", "arguments", "told"),
    [
        ("no.tsv", "a\tb\nx\ty\n", {"columns": ("a", "c")}, "no.tsv, line 1: the header lacks 'c'; it has 'a', 'b'"),
        ("no.txt", "x\n", {"columns": ("a",)}, "no.txt has no column 'a': it is read as lines"),
        ("no.jsonl", '{"a": "x"}\n{"a": "x", "b": null}\n{"b": "y"}\n', {}, "line 3: the first row has no 'b'"),
        ("no.tsv", "a\tb\tscore\nx\ty\thigh\n", {}, "line 2: 'score' must be a number from -1 to 1 .*'high'"),
        ("no.tsv", "a\tb\tscore\nx\ty\t4\n", {}, r"from -1 to 1 \(--max_score\). Received '4'"),
        ("no.tsv", "a\tb\tscore\nx\ty\tnan\n", {}, "Received 'nan'"),
        ("no.tsv", "a\tb\nx\ty\tz\n", {}, "line 2: 1 more fields than the header has columns"),
        ("no.jsonl", '{"a": ["x"]}\n', {}, "line 1: 'a' must be text; received list"),
        ("no.jsonl", '{"a": "x", "b": "y"}\n{"a": "x"}\n', {}, "line 2: the row has no value of 'b'"),
        ("no.tsv", "id\tscore\n1\t1\n", {}, "no column of texts; it has 'id', 'score'"),
        ("no.tsv", "a\tb\nx\t\n", {}, "no row in it with a text in 'a', 'b'"),
        ("no.txt", "\n", {}, "no text in it"),
        ("no.csv", "", {}, "no.csv is empty"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(write, name, text, arguments, told):
    with pytest.raises(InputError, match=told) as error:
        read_table(write(name, text), **arguments)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="none.jsonl does not exist"):
        read_table(str(tmp_path / "none.jsonl"))
