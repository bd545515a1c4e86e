"""Rows of JSON Lines, lists in JSON, CSV and Parquet: the same values, and where each stands."""

import json

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.row_files import NamedRow, read_row_file

ROWS = [{"text": "a, b", "n": 3}, {"text": 'c "d"', "n": 4}]


@pytest.fixture
def files(write, tmp_path):
    """The same rows in a file of every format but CSV, where numbers are digits."""
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    path = str(tmp_path / "a.parquet")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    return [write("a.jsonl", lines), write("b.json", lines), write("a.json", json.dumps(ROWS)), path]


def test_every_format_has_the_same_rows_which_know_where_they_stand(files, write):
    for path in files:
        assert [row.values for row in read_row_file(path)] == ROWS
    csv = write("a.csv", 'text,n\n"a, b",3\n"c ""d""",4\n')
    assert [row.values for row in read_row_file(csv)] == [row | {"n": str(row["n"])} for row in ROWS]
    places = [[row.where.removeprefix(path) for row in read_row_file(path)] for path in (*files, csv)]
    assert places == [[", line 1", ", line 2"]] * 2 + [[", [0]", ", [1]"], [", row 1", ", row 2"]] + [
        [", line 2", ", line 3"]
    ]
    assert NamedRow("example 1", 0, {}).where == "example 1"


def test_a_file_of_another_kind_and_a_row_that_is_too_long_are_named(write):
    with pytest.raises(InputError, match=r"a\.tsv: the name must end in \.jsonl, \.json, \.csv, \.parquet"):
        list(read_row_file(write("a.tsv", "text\nx\n")))
    with pytest.raises(InputError, match="line 2: 1 more fields"):
        list(read_row_file(write("a.csv", "text\nx,y\n")))
