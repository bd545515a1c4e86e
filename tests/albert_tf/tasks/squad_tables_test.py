"""Questions in tables: the same examples in every form, where an answer stands, and everything that can be wrong."""

import csv
import json

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.squad_examples import Answer, SquadExample, read_squad

CONTEXT = "A part of art was made by Ada, the city says."
QUESTION = "Who made it?"
WANTED = SquadExample("q1", QUESTION, CONTEXT, (Answer("Ada", 26),), False)
BASE = {"id": "q1", "question": QUESTION, "context": CONTEXT}


def read(path, with_impossible=False, need_answers=True):
    return read_squad(path, with_impossible, need_answers)


def write_csv(path, rows, delimiter=","):
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, names, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


ANSWERS = [
    {"answers": {"text": ["Ada"], "answer_start": [26]}},
    {"answers": {"text": ["Ada"]}},
    {"answers": [{"text": "Ada", "answer_start": 26}]},
    {"answers": ["Ada"]},
    {"answer": "Ada"},
    {"answer": "Ada", "answer_start": 26, "answers": None},
    {"answer": "Ada", "answers": " "},
    {"answer_text": "Ada", "answer_start": "26"},
    {"answer_start": 26, "answer_end": 29},
    # Nearest to where it is said to stand, as of SQuAD's own files.
    {"answer": "Ada", "answer_start": 20},
]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", ["a.jsonl", "lines.json", "list.json", "a.csv"])
def test_every_form_of_an_answer_is_the_same_question(write, tmp_path, name, answer):
    row = BASE | answer
    if name == "a.csv":
        cells = {
            key: value if isinstance(value, str | int) else json.dumps(value) for key, value in row.items() if value
        }
        path = write_csv(tmp_path / name, [cells])
    else:
        other = row | {"id": "q2"}
        path = write(
            name, json.dumps([row, other]) if name == "list.json" else f"{json.dumps(row)}\n{json.dumps(other)}"
        )
    assert read(path)[0] == WANTED


def test_an_answer_without_a_place_is_where_it_first_stands_as_whole_words(write, caplog):
    texts = ["art", "it", "a", "Ada"]
    rows = [{"question": "?", "context": CONTEXT, "answer": text} for text in texts]
    found = read(write("a.jsonl", "\n".join(map(json.dumps, rows))))
    # "it" stands within "city" alone, "a" nowhere as a word.
    assert [one.answers[0].start for one in found] == [10, CONTEXT.index("it"), CONTEXT.index("a"), 26]
    assert [one.qas_id for one in found] == ["0", "1", "2", "3"]
    assert "2 answers without answer_start stand at several places" in caplog.text


def test_a_cell_with_gaps_in_its_column_of_numbers_is_a_whole_number(tmp_path):
    rows = [
        {**BASE, "answer": "Ada", "answer_start": "26.0"},
        {**BASE, "id": "q2", "answer": "art", "answer_start": ""},
    ]
    assert [one.answers[0].start for one in read(write_csv(tmp_path / "a.csv", rows))] == [26, 10]


def test_questions_may_have_no_answer(write, tmp_path):
    rows = [
        {"answers": {"text": [], "answer_start": []}},
        {"answer": ""},
        {"answer": "Ada", "is_impossible": False},
        {"answers": [], "is_impossible": True},
        {"is_impossible": True},
        {"answer": None, "is_impossible": True},
    ]
    rows = [BASE | {"id": str(number)} | row for number, row in enumerate(rows)]
    path = write("a.jsonl", "\n".join(map(json.dumps, rows)))
    assert [one.is_impossible for one in read(path, with_impossible=True)] == [True, True, False, True, True, True]
    cells = [
        {**BASE, "answer": "Ada", "is_impossible": "False"},
        {**BASE, "id": "2", "answer": "", "is_impossible": "1"},
    ]
    path = write_csv(tmp_path / "a.tsv", cells, "\t")
    assert [one.is_impossible for one in read(path, with_impossible=True)] == [False, True]


def test_a_test_file_needs_no_answers(write):
    path = write("a.jsonl", json.dumps(BASE))
    assert read(path, need_answers=False) == [SquadExample("q1", QUESTION, CONTEXT)]
    with pytest.raises(InputError, match="line 1: no answers; training and evaluation need them"):
        read(path)


def test_a_folder_of_tables_is_found(write, tmp_path):
    for split in ("train", "dev"):
        write_csv(tmp_path / f"{split}.csv", [BASE | {"answer": "Ada"}])
    task = make_task("squad_v1", str(tmp_path), TaskOptions())
    assert task.splits() == ("train", "dev")
    assert task.examples("dev") == [WANTED]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": 3.5, "context": "x", "answer": "y"}, 'line 2.*: the answer "y" is not in the paragraph'),
        ({"context": "x", "answer": "x"}, "line 2: the row has no value of 'question'"),
        ({**BASE, "answer": "Bob"}, 'line 2.*the answer "Bob" is not in the paragraph'),
        (
            {**BASE, "answer_start": 3},
            "line 2: answer_start without an answer; give its text as 'answer', or answer_end",
        ),
        ({**BASE, "answer_start": 3, "answer_end": 99}, "line 2: 3 to 99 is no part of a context of 45 characters"),
        ({**BASE, "answer": "Ada", "answer_start": "x"}, "line 2: answer_start must be a whole number; received 'x'"),
        ({**BASE, "answer": "Ada", "answer_start": True}, "line 2: answer_start must be a whole number"),
        ({**BASE, "answers": 5}, "line 2: answers must be a list, or an object of lists; received 5"),
        ({**BASE, "answers": "{'text'"}, "line 2: answers must be JSON"),
        ({**BASE, "answers": {"text": ["a"], "answer_start": [1, 2]}}, "line 2: answers must be .*of equal lengths"),
        ({**BASE, "answers": {"text": "a"}}, "line 2: answers must be .*of equal lengths"),
        ({**BASE, "answers": [3]}, r"line 2: answers\[0\] must have a text; received 3"),
        ({**BASE, "answers": []}, "line 2: the list of answers is empty"),
        ({**BASE, "answer": "Ada", "is_impossible": "maybe"}, "line 2: is_impossible must be true or false"),
        ({**BASE, "id": "0", "answer": "Ada"}, "line 2: the id '0' is also that of line 1"),
    ],
)
def test_a_faulty_row_is_one_line(write, row, message):
    first = json.dumps(BASE | {"id": "0", "answer": "Ada"})
    with pytest.raises(InputError, match=message) as error:
        read(write("a.jsonl", f"{first}\n{json.dumps(row)}\n"))
    assert "\n" not in str(error.value)


def test_a_header_that_lacks_a_column_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"a\.csv, line 1: the header lacks 'context'; it has 'question'"):
        read(write_csv(tmp_path / "a.csv", [{"question": "x"}]))
