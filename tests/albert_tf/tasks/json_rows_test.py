"""Rows of JSON files: of lines, of a list, of lines in a file that is called .json; and what is neither."""

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.json_rows import load_json, read_objects

LINES = '{"a": 1}\n\n{"a": 2}\n'


@pytest.mark.parametrize(
    ("name", "contents", "places"),
    [
        ("a.jsonl", LINES, ["line 1", "line 3"]),
        ("a.JSONL", "\ufeff" + LINES, ["line 1", "line 3"]),
        ("a.json", LINES, ["line 1", "line 3"]),
        ("a.json", '\ufeff[{"a": 1},\r\n {"a": 2}]', ["[0]", "[1]"]),
    ],
)
def test_every_object_knows_its_place(write, name, contents, places):
    path = write(name, contents)
    rows = list(read_objects(path))
    assert [row.values for row in rows] == [{"a": 1}, {"a": 2}]
    assert [row.where for row in rows] == [f"{path}, {place}" for place in places]


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ('[{"a": 1}', "not JSON: Expecting ',' delimiter: line 1"),
        ('[{"a": 1, "a": 2}]', "not JSON: .*'a'"),
        ('{"a": 1}\n[2]', "line 2: a JSON object was expected"),
        ("3", "a list of objects was expected; this is a int"),
        ("[[]]", r"\[0\]: an object was expected; this is a list"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_holds_no_objects_is_one_line(write, contents, message):
    with pytest.raises(InputError, match=message):
        list(read_objects(write("a.json", contents)))


def test_a_value_is_loaded_whatever_it_is(write):
    assert load_json(write("a.json", '{"data": []}')) == {"data": []}
    assert load_json(write("b.json", LINES)) is None
