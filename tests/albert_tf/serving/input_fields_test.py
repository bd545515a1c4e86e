"""Fields of an example that are made of several columns: rows as SuperGLUE publishes them, in every format."""

import csv
import json

import pytest

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.rows.input_rows import read_rows
from albert_tf.runtime.errors import InputError
from albert_tf.serving.input_fields import ExampleFields

CHOICES = ("article", "question", "options")
COPA = FinetunedTask("multiple_choice", 1, (), "copa", CHOICES)
WIC = FinetunedTask("classification", 2, ("false", "true"), "wic", ("text", "text_pair"))
WSC = FinetunedTask("classification", 2, ("false", "true"), "wsc", ("text", "text_pair"))

COPA_ROW = {"premise": "It fell.", "choice1": "It slipped.", "choice2": "It sang.", "question": "cause", "idx": 3}
COPA_FIELDS = {"article": "It fell.", "question": "because", "options": ["It slipped.", "It sang."]}
WIC_ROW = {"word": "film", "sentence1": "A film.", "sentence2": "No film.", "start1": 2, "end1": 6}
WIC_ROW |= {"start2": 3, "end2": 7, "label": 1}
WIC_FIELDS = {"text": 'film: A " film ".', "text_pair": 'No " film ".'}


def fields_of(task):
    return ExampleFields(task.input_fields, task)


def test_a_published_row_becomes_the_fields_and_fields_stay_what_they_are():
    assert fields_of(COPA).check(COPA_ROW, "x") == fields_of(COPA).check(COPA_FIELDS, "x") == COPA_FIELDS
    assert fields_of(WIC).check(WIC_ROW, "x") == fields_of(WIC).check(WIC_FIELDS, "x") == WIC_FIELDS
    target = {"span1_text": "Ada", "span2_text": "she", "span2_index": 3}
    row = {"text": "Ada said that she sang.", "target": target}
    assert fields_of(WSC).check(row, "x") == {"text": 'Ada said that " she " sang.', "text_pair": "Ada"}
    assert fields_of(WIC).unread(WIC_ROW) is None


def test_a_model_of_another_task_does_not_read_them():
    other = FinetunedTask("multiple_choice", 1, (), "race", CHOICES)
    with pytest.raises(InputError, match="x: no 'article', no 'options'; there is 'premise'"):
        fields_of(other).check(COPA_ROW, "x")


def test_a_column_that_another_field_was_trained_on_is_given_to_one_alone():
    options = {"text_column": "title", "text_pair_column": "text"}
    task = FinetunedTask("classification", 2, ("a", "b"), "classification", ("text", "text_pair"), options=options)
    fields = ExampleFields(("text", "text_pair"), task)
    named = {"text": "one", "text_pair": "two"}
    assert fields.check(named, "here") == named
    assert fields.check({"title": "one", "text": "two"}, "here") == named
    # Of all three the trained ones, as of any other columns.
    assert fields.check({"title": "one", "text": "two", "text_pair": "three"}, "here") == named
    assert fields.with_columns({"text": "text"}).check(named, "here") == named
    with pytest.raises(InputError, match="no 'text' or 'title'; there is 'text', 'other'"):
        fields.check({"text": "two", "other": "one"}, "here")
    alone = ExampleFields(("text", "text_pair?"), task)
    assert alone.check("one", "here") == {"text": "one", "text_pair": ""}


def test_columns_that_the_user_names_win():
    named = fields_of(WIC).with_columns({"text": "sentence1", "text_pair": "sentence2"})
    assert named.check(WIC_ROW, "x") == {"text": "A film.", "text_pair": "No film."}


def test_texts_without_names_are_in_the_order_of_the_fields():
    pairs = ExampleFields(("text", "text_pair"), WIC)
    for given in (("One.", "Two."), ["One.", "Two."]):
        assert pairs.check(given, "x") == {"text": "One.", "text_pair": "Two."}
    renamed = pairs.with_columns({"text": "text_pair", "text_pair": "text"})
    assert renamed.check(["One.", "Two."], "x") == {"text": "One.", "text_pair": "Two."}
    single = ExampleFields(("text", "text_pair?"), None)
    assert single.check(["One."], "x") == {"text": "One.", "text_pair": ""}
    for fields, given in ((pairs, ["One."]), (pairs, ["One.", "Two.", "Three."]), (fields_of(COPA), ["a", "b", ["c"]])):
        with pytest.raises(InputError, match="x: an object with .* was expected; received a list"):
            fields.check(given, "x")
    with pytest.raises(InputError, match="x: 'text_pair' must be text. Received 7"):
        pairs.check(["One.", 7], "x")


def test_a_faulty_row_is_one_line_with_its_place():
    with pytest.raises(InputError, match="line 3: 'question' must be cause or effect; received 'why'"):
        fields_of(COPA).check(COPA_ROW | {"question": "why"}, "line 3")
    with pytest.raises(InputError, match="line 3: 'start1' must be a whole number"):
        fields_of(WIC).check(WIC_ROW | {"start1": None}, "line 3")
    with pytest.raises(InputError, match=r"line 3: no 'text', no 'text_pair'; there is 'word'"):
        fields_of(WIC).check({"word": "film"}, "line 3")
    assert str(fields_of(COPA)) == "article, question, options or premise, question, choice1, choice2"


@pytest.mark.parametrize(("task", "row", "wanted"), [(COPA, COPA_ROW, COPA_FIELDS), (WIC, WIC_ROW, WIC_FIELDS)])
def test_files_of_every_format_are_read(tmp_path, task, row, wanted):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    with (tmp_path / "a.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(row)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        fields = fields_of(task)
        [found] = read_rows(str(tmp_path / name), fields, task)
        assert fields.check(found.values, "x") == wanted
