"""Queries to the nearest texts of a file, in lines of JSON and for a person; blank and faulty texts are never found."""

import json

import pytest
from letter_vectors import LetterVectors

from albert_tf.rows import vector_rows
from albert_tf.rows.kept_vectors import open_library
from albert_tf.rows.table_prediction import TablePrediction
from albert_tf.rows.text_search import SearchAnswers, search_rows


@pytest.fixture(autouse=True)
def known_model(monkeypatch):
    monkeypatch.setattr(vector_rows, "identify_model", lambda path: {"model": path})


@pytest.fixture
def answers(tmp_path):
    """A library of six rows, two of which hold no text."""
    (tmp_path / "texts.txt").write_bytes(b"aab\n\n\xff\nb\ncc\nabc\n")
    embedder = LetterVectors()
    return SearchAnswers(embedder, open_library(embedder, TablePrediction(str(tmp_path / "texts.txt"))), 3)


def test_the_nearest_come_first_with_their_rows_and_cosines(answers, tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"id": "q1", "text": "aaa"}\n{"id": "q2", "text": "c"}\n{"id": "q3"}\n')
    output = tmp_path / "found.jsonl"
    outcome = search_rows(answers, TablePrediction(str(tmp_path / "queries.jsonl"), output_file=str(output)))
    assert (outcome.rows, outcome.errors) == (3, 1)
    first, second, third = [json.loads(line) for line in output.read_text().splitlines()]
    assert first["id"] == "q1" and first["input"] == {"id": "q1", "text": "aaa"}
    assert [(one["row"], one["text"]) for one in first["nearest"]] == [(1, "aab"), (6, "abc"), (4, "b")]
    assert [one["cosine"] for one in first["nearest"]] == [0.894427, 0.57735, 0.0]
    assert [one["row"] for one in second["nearest"]] == [5, 6, 1]
    assert "no 'text'" in third["error"] and "nearest" not in third


def test_fewer_texts_than_asked_for_are_all_of_them(answers, capfdbinary):
    many = SearchAnswers(answers.embedder, answers.library, 50)
    search_rows(many, TablePrediction(["abc"], output_format="jsonl"))
    (line,) = capfdbinary.readouterr().out.splitlines()
    assert [one["row"] for one in json.loads(line)["nearest"]] == [6, 1, 4, 5]


def test_a_person_sees_the_query_and_a_line_for_each_text(answers, capfdbinary):
    search_rows(answers, TablePrediction(["aaa", "fails"], output_format="table"))
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines == [
        "aaa",
        "   0.8944        1  aab",
        "   0.5774        6  abc",
        "   0.0000        4  b",
        "",
        "fails",
        "  error: argument 2: the model failed",
        "",
    ]
