"""Files of texts with entities: the forms that annotation tools write, and everything that can be wrong with them."""

import json
import re

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.entity_files import Entity, MarkedText, read_marked_texts

TEXT = "Ada met Bob."
ADA, BOB = Entity("PER", 0, 3), Entity("PER", 8, 11)


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    "row",
    [
        {"text": TEXT, "entities": [{"start": 8, "end": 11, "label": "PER"}, {"start": 0, "end": 3, "label": "PER"}]},
        {"text": TEXT, "entities": [[0, 3, "PER"], [8, 11, "PER"], [0, 3, "PER"]]},
        # Prodigy.
        {
            **{"text": TEXT, "answer": "accept", "label": "PER"},
            "spans": [
                {"start": 0, "end": 3, "token_start": 0, "token_end": 0, "label": "PER"},
                {"start": 8, "end": 11, "label": "PER"},
            ],
        },
        # doccano: sequence labelling, and with relations.
        {"id": "0", "text": TEXT, "label": [[0, 3, "PER"], [8, 11, "PER"]], "Comments": []},
        {
            **{"id": 0, "text": TEXT, "relations": []},
            "entities": [
                {"id": 4, "label": "PER", "start_offset": 0, "end_offset": 3},
                {"id": 5, "label": "PER", "start_offset": 8, "end_offset": 11},
            ],
        },
        # Label Studio.
        {
            "text": TEXT,
            "label": [
                {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]},
                {"start": 8, "end": 11, "text": "Bob", "labels": ["PER"]},
            ],
        },
    ],
)
@pytest.mark.parametrize("ending", [".jsonl", ".json"])
def test_forms_of_annotation_tools_are_read(write, row, ending):
    path = write(f"train{ending}", lines(row) if ending == ".jsonl" else json.dumps([row]))
    assert read_marked_texts(path) == [MarkedText("0", TEXT, (ADA, BOB))]


def test_names_may_be_given_and_texts_have_their_own(write):
    path = write("a.jsonl", "\ufeff" + lines({"id": "x7", "body": TEXT, "who": [[0, 3, "PER"]], "entities": 3}))
    assert read_marked_texts(path, "body", ("who",)) == [MarkedText("x7", TEXT, (ADA,))]


def test_an_entity_may_have_several_labels_where_a_task_allows_it(write):
    forms = [[0, 3, ["PER", "NAME"]], {"start": 0, "end": 3, "labels": ["PER", "NAME"]}, [8, 11, "PER"]]
    path = write("a.jsonl", lines({"text": TEXT, "spans": forms[:1]}, {"text": TEXT, "spans": forms[1:]}))
    first, second = read_marked_texts(path, may_have_several=True)
    both = (Entity("NAME", 0, 3), ADA)
    assert (first.entities, second.entities) == (both, (*both, BOB))
    with pytest.raises(InputError, match=r"spans\[0\]: the label must be text; received \[\]"):
        read_marked_texts(write("b.jsonl", lines({"text": TEXT, "spans": [[0, 3, []]]})), may_have_several=True)


def test_a_test_file_needs_no_entities(write):
    path = write("a.jsonl", lines({"text": TEXT}, {"text": TEXT, "entities": []}))
    assert [one.entities for one in read_marked_texts(path, need_entities=False)] == [None, ()]


def test_white_space_at_the_ends_of_an_entity_is_left_out(write, caplog):
    row = {"text": " Ada\t met\u200b ", "entities": [[0, 5, "PER"], [5, 6, "PER"], [6, 11, "ACT"], [6, 9, "ACT"]]}
    [found] = read_marked_texts(write("a.jsonl", lines(row)))
    assert found.entities == (Entity("PER", 1, 4), Entity("ACT", 6, 9))
    assert "2 entities begin or end in white space" in caplog.text
    assert "1 entities are nothing but white space" in caplog.text


def test_places_that_count_utf_16_are_converted_where_the_text_says_so(write, caplog):
    text = "\U0001f600 Ada \U0001f468 Bob"
    spans = [
        {"start": 3, "end": 6, "label": "PER", "text": "Ada"},
        {"start": 10, "end": 13, "label": "PER", "text": "Bob"},
        {"start": 0, "end": 1, "label": "FACE", "text": "\U0001f600"},
    ]
    [found] = read_marked_texts(write("a.jsonl", lines({"text": text, "spans": spans})))
    assert [text[one.start : one.end] for one in found.entities] == ["\U0001f600", "Ada", "Bob"]
    assert "2 entities count UTF-16 units" in caplog.text


def test_rows_that_a_person_refused_are_left_out(write, caplog):
    rows = [{"text": TEXT, "spans": [], "answer": answer} for answer in ("accept", "reject", "ignore")]
    assert len(read_marked_texts(write("a.jsonl", lines(*rows)))) == 1
    assert "2 rows were not accepted" in caplog.text


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        ("PER", 'entities must be a list of entities; received "PER"'),
        ([[0, 3]], r"entities\[0\] must be an object with start, end and label, or \[start, end, label\]"),
        ([[0, 3, "PER"], 7], r"entities\[1\] must be an object"),
        ([[0, 3, ""]], r"entities\[0\]: the label must be text; received \"\""),
        ([{"start": 0, "end": 3, "labels": ["A", "B"]}], "the label must be text; received"),
        ([{"start": 0, "label": "PER"}], "start and end must be whole numbers; received 0 and null"),
        ([[0, 2.5, "PER"]], "start and end must be whole numbers; received 0 and 2.5"),
        ([[True, 3, "PER"]], "start and end must be whole numbers"),
        ([[3, 3, "PER"]], "3 to 3 is no part of a text of 12 characters"),
        ([[-1, 3, "PER"]], "-1 to 3 is no part of a text"),
        ([[8, 13, "PER"]], "8 to 13 is no part of a text"),
        ([{"start": 0, "end": 3, "label": "PER", "text": "Bob"}], 'from 0 to 3 stands "Ada", not "Bob"'),
        ([{"start": -9, "end": 3, "label": "PER", "text": "Bob"}], "from -9 to 3 stands"),
        ([[0, 3, "ORG"]], "unknown kind of entity 'ORG'; the kinds are PER, LOC"),
    ],
)
def test_a_faulty_entity_is_one_line_with_its_place(write, entities, message):
    path = write("a.jsonl", lines({"text": TEXT, "entities": [[0, 3, "PER"]]}, {"text": TEXT, "entities": entities}))
    with pytest.raises(InputError, match=f"{re.escape(path)}, line 2: .*{message}") as error:
        read_marked_texts(path, kinds=("PER", "LOC"))
    assert "\n" not in str(error.value)


FAULTS = {
    "line 3: not JSON": ("a.jsonl", '{"text": "x", "entities": []}\n\n{"text": 3'),
    "line 1: a JSON object was expected": ("a.jsonl", "[1]\n"),
    "line 1: the row has no value of 'text'": ("a.jsonl", '{"entities": []}\n'),
    "line 1: no list of entities .*; there is 'text', 'kind'": ("a.jsonl", '{"text": "x", "kind": 1}\n'),
    "holds no texts": ("a.jsonl", "\n"),
    r"\[0\]: entities must be a list": ("a.json", '[{"text": "x", "entities": 1}]'),
    "the name must end in .jsonl or .json": ("a.csv", "text\n"),
}


@pytest.mark.parametrize("message", FAULTS)
def test_a_faulty_file_is_one_line(write, message):
    with pytest.raises(InputError, match=message):
        read_marked_texts(write(*FAULTS[message]))


def test_a_missing_file_is_one_line(tmp_path):
    for name in ("a.jsonl", "a.json"):
        with pytest.raises(InputError, match="does not exist"):
            read_marked_texts(str(tmp_path / name))
