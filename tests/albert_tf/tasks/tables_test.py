"""Tables: what is read from TSV, CSV and JSONL however they were saved, and what is said of bad ones."""

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.tables import columns_of, read_lines, read_rows, require_columns


def rows(path, **options):
    return [(row.line, row.values) for row in read_rows(path, **options)]


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_a_byte_order_mark_change_nothing(write, start, end):
    path = write("a.tsv", start + end.join(["text\tlabel", "one two\t1", "three\t0", ""]))
    assert columns_of(path) == ["text", "label"]
    assert rows(path) == [(2, {"text": "one two", "label": "1"}), (3, {"text": "three", "label": "0"})]


def test_a_tsv_file_is_not_quoted(write):
    path = write("a.tsv", 'text\tlabel\n"unbalanced\t1\na "b" c"\t0\n')
    assert [row["text"] for _, row in rows(path)] == ['"unbalanced', 'a "b" c"']


def test_a_csv_file_is_quoted_and_a_field_may_have_lines(write):
    path = write("a.csv", 'text,label\n"one, ""two""\nthree",1\nfour,0\n')
    assert rows(path) == [(2, {"text": 'one, "two"\nthree', "label": "1"}), (4, {"text": "four", "label": "0"})]


def test_only_newlines_end_a_line(write):
    path = write("a.tsv", "text\none\u2028two\x85three\x0bfour\n")
    assert [text for _, text in read_lines(path)] == ["text", "one\u2028two\x85three\x0bfour"]


def test_blank_lines_are_no_rows_and_are_counted_where_a_row_may_be_missing(write, caplog):
    assert rows(write("a.tsv", "\ntext\tlabel\na\t1\n\n \n")) == [(3, {"text": "a", "label": "1"})]
    assert not caplog.records
    table = "text\tlabel\n\na\t1\n  \nb\t0\n\t\n"
    assert rows(write("a.tsv", table)) == [(3, {"text": "a", "label": "1"}), (5, {"text": "b", "label": "0"})]
    assert caplog.messages[0].endswith("a.tsv: 2 blank lines are left out (lines 2, 4)")
    assert rows(write("a.jsonl", '\n{"text": "a"}\n\n')) == [(2, {"text": "a"})]


@pytest.mark.parametrize("name, empty", [("a.tsv", ""), ("a.csv", ""), ("a.csv", '""')])
def test_an_empty_text_of_a_single_column_is_a_row(write, caplog, name, empty):
    found = rows(write(name, f"text\na\n{empty}\nb\n\n"))
    assert found == [(2, {"text": "a"}), (3, {"text": ""}), (4, {"text": "b"})]
    assert not caplog.records


@pytest.mark.parametrize("name, mark", [("a.tsv", "\t"), ("a.csv", ",")])
def test_a_row_of_empty_fields_is_a_row(write, caplog, name, mark):
    path = write(name, f"text{mark}pair\na{mark}b\n{mark}\nc{mark}d\n{mark}\n")
    empty = {"text": "", "pair": ""}
    assert rows(path) == [(2, {"text": "a", "pair": "b"}), (3, empty), (4, {"text": "c", "pair": "d"})]
    assert caplog.messages == [f"{path}: 1 empty rows at the end are left out (lines 5)"]


def test_json_lines_keep_their_types(write):
    [row] = read_rows(write("a.jsonl", '{"text": "a", "label": 1, "good": true, "labels": ["x"], "none": null}'))
    assert [row.text(name) for name in ("text", "label", "good")] == ["a", "1", "true"]
    assert row.values["labels"] == ["x"]
    with pytest.raises(InputError, match="line 1: the row has no value of 'none'"):
        row.text("none")
    with pytest.raises(InputError, match="'labels' must be text; received list"):
        row.text("labels")


def test_what_json_has_no_value_for_is_no_text(write):
    with pytest.raises(InputError, match="line 2: not JSON: NaN is not a value of JSON"):
        list(read_rows(write("a.jsonl", '{"text": "a"}\n{"text": NaN}\n')))


def test_a_file_without_a_header_has_numbered_columns(write):
    assert rows(write("a.tsv", "x\ty\n"), has_header=False) == [(1, {0: "x", 1: "y"})]


def test_a_short_row_is_named_with_file_and_line(write):
    path = write("a.tsv", "text\tlabel\nonly text\n")
    [row] = read_rows(path)
    with pytest.raises(InputError, match=r"a.tsv, line 2: the row has no value of 'label'"):
        row.text("label")
    [first, _] = read_rows(path, has_header=False)
    with pytest.raises(InputError, match="line 1: the row has no column 3"):
        first.text(2)


def test_a_long_row_is_named_unless_the_rest_is_empty(write):
    long, harmless = read_rows(write("a.tsv", "text\tlabel\na\tb\t1\na\t1\t\t \n"))
    with pytest.raises(InputError, match="line 2: 1 more fields than the header has columns"):
        long.check_length()
    harmless.check_length()


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("a.tsv", "", "a.tsv is empty"),
        ("a.jsonl", "\n", "a.jsonl is empty"),
        ("a.tsv", b"text\n\xff\xfe\n", r"a.tsv, line 2: not UTF-8 \(byte 1 of the line\)"),
        ("a.tsv", "text\ttext\nx\ty\n", "a.tsv, line 1: the header names 'text' twice"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', "a.jsonl, line 2: not JSON"),
        ("a.jsonl", '{"text": "a", "label": 1, "text": "b"}\n', "line 1: not JSON: the name 'text' stands twice"),
        ("a.jsonl", "[1]\n", "a.jsonl, line 1: a JSON object was expected; this is a list"),
        ("a.csv", 'text\n"open\n', "a.csv, line 2: not CSV"),
        ("a.xlsx", "", "a.xlsx: the name must end in .tsv, .csv, .jsonl"),
    ],
)
def test_a_bad_file_is_one_line(write, name, contents, message):
    path = write(name, contents)
    with pytest.raises(InputError, match=message) as caught:
        columns_of(path)
        list(read_rows(path))
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(InputError, match="none.tsv does not exist"):
        columns_of(str(tmp_path / "none.tsv"))
    (tmp_path / "folder.tsv").mkdir()
    with pytest.raises(InputError, match="folder.tsv is a folder"):
        columns_of(str(tmp_path / "folder.tsv"))


def test_all_missing_columns_are_named():
    with pytest.raises(InputError, match="the header lacks 'label', 'pair'; it has 'text', 'Label'"):
        require_columns("a.tsv", ["label", "text", "pair"], ["text", "Label"])
