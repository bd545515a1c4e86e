"""Vectors kept beside their texts: found the second time, made anew for other texts or another model, and never put in
the place of a file of someone else's.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from letter_vectors import LetterVectors

from albert_tf.rows import vector_rows
from albert_tf.rows.kept_vectors import open_library
from albert_tf.rows.table_prediction import TablePrediction
from albert_tf.runtime.errors import InputError


@pytest.fixture(autouse=True)
def model(monkeypatch):
    """The identity of the model, to be changed."""
    known = {"sha256": "one"}
    monkeypatch.setattr(vector_rows, "identify_model", lambda path: dict(known))
    return known


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("aab\nb\n\ncc\n")
    return path


def opened(texts, **settings):
    """(the library, how many texts were encoded for it)."""
    embedder = LetterVectors()
    columns = settings.pop("columns", ())
    library = open_library(embedder, TablePrediction(str(texts), columns=columns), **settings)
    return library, sum(map(len, embedder.batches))


def test_the_second_time_nothing_is_encoded(texts, tmp_path):
    first, encoded = opened(texts)
    assert encoded == 4
    assert first.texts == ["aab", "b", None, "cc"] and first.allowed.tolist() == [True, True, False, True]
    second, encoded = opened(texts)
    assert encoded == 0
    np.testing.assert_array_equal(first.vectors, second.vectors)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "texts.txt",
        "texts.txt.vectors.npy",
        "texts.txt.vectors.npy.json",
    ]


def test_rows_that_cannot_be_read_are_told_of(texts, caplog):
    texts.write_text('aab\n{"body": "b"}\n\n{broken\n{"text": null}\ncc\n')
    assert opened(texts)[0].texts == ["aab", None, None, None, None, "cc"]
    told = f"{texts}: 2 rows cannot be read, the first: {texts}, line 2: no 'text'; there is 'body'"
    assert caplog.messages.count(told) == 1


def test_other_texts_another_model_and_another_type_are_noticed(texts, model):
    opened(texts)
    texts.write_text("aab\nb\n\ncca\n")
    assert opened(texts)[1] == 4
    model["sha256"] = "two"
    assert opened(texts)[1] == 4
    assert opened(texts, vector_type="int8")[1] == 4
    assert opened(texts, vector_type="int8")[1] == 0


def test_vectors_that_another_command_wrote_there_are_noticed(texts, caplog):
    opened(texts)
    path = f"{texts}.vectors.npy"
    wanted = np.load(path)
    changed = wanted.copy()
    changed[:] = changed[::-1]
    np.save(path, changed)
    again, encoded = opened(texts)
    assert encoded == 4
    np.testing.assert_array_equal(again.vectors, wanted)
    assert "was written by another command since: it is made anew" in caplog.text
    # Of an earlier version, or of a run that was stopped just then, it is not known.
    note = Path(f"{path}.json")
    earlier = json.loads(note.read_text())
    del earlier["vectors"]
    note.write_text(json.dumps(earlier))
    assert opened(texts)[1] == 0


def test_a_file_in_the_place_of_the_note_stays(texts, tmp_path):
    (tmp_path / "library.json").write_text('{"text": "mine"}')
    with pytest.raises(InputError, match="library.json is there already and was not kept with these texts"):
        opened(texts, vectors_file=str(tmp_path / "library"))
    assert (tmp_path / "library.json").read_text() == '{"text": "mine"}'


def test_damaged_vectors_are_made_anew(texts, tmp_path):
    opened(texts)
    path = tmp_path / "texts.txt.vectors.npy"
    for contents in (b"", path.read_bytes()[:-4], b"no file of NumPy"):
        path.write_bytes(contents)
        assert opened(texts)[1] == 4
    np.save(path, np.zeros((3, 3), np.float32))
    assert opened(texts)[1] == 4


def test_an_archive_of_arrays_in_their_place_is_made_anew(texts, tmp_path, caplog):
    opened(texts)
    path = tmp_path / "texts.txt.vectors.npy"
    note = Path(f"{path}.json")
    with open(path, "wb") as file:
        np.savez(file, a=np.zeros(3))
    earlier = json.loads(note.read_text())
    del earlier["vectors"]
    note.write_text(json.dumps(earlier))
    assert opened(texts)[1] == 4
    assert "is damaged: it is made anew" in caplog.text


def test_texts_that_change_while_their_vectors_are_made_have_none(texts, tmp_path):
    embedder = LetterVectors(lambda count: texts.write_text("aab\nb\n\nca\n"))
    with pytest.raises(InputError, match="texts.txt changed while its vectors were made; start again"):
        open_library(embedder, TablePrediction(str(texts)))
    assert [path.name for path in tmp_path.iterdir()] == ["texts.txt"]
    assert opened(texts)[1] == 4


def test_a_note_without_vectors_is_a_search_that_was_stopped(texts, tmp_path):
    opened(texts)
    (tmp_path / "texts.txt.vectors.npy").unlink()
    assert opened(texts)[1] == 4


def test_a_file_of_someone_elses_stays(texts, tmp_path):
    np.save(tmp_path / "mine.npy", np.zeros(3))
    with pytest.raises(InputError, match="mine.npy is there already and was not kept with these texts"):
        opened(texts, vectors_file=str(tmp_path / "mine.npy"))
    (tmp_path / "mine.npy.json").write_text(json.dumps({"format": "mine"}))
    with pytest.raises(InputError, match="was not kept with these texts"):
        opened(texts, vectors_file=str(tmp_path / "mine.npy"))
    assert np.load(tmp_path / "mine.npy").tolist() == [0, 0, 0]


def test_a_column_can_be_named(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("body,text\na,b\n")
    assert opened(path, columns=["text=body"])[0].texts == ["a"]
    assert opened(path)[0].texts == ["b"]


def test_a_file_without_texts_and_what_is_no_file_are_refused(tmp_path):
    (tmp_path / "blank.txt").write_text("\n  \n")
    with pytest.raises(InputError, match="blank.txt: no text in it to search"):
        opened(tmp_path / "blank.txt")
    with pytest.raises(InputError, match="is no file, whose texts could be read a second time"):
        opened(tmp_path)


def test_a_second_model_waits_for_the_vectors_of_the_first(texts, model, tmp_path):
    def search_by_another(_):
        model["sha256"] = "two"
        with pytest.raises(InputError, match="another run is writing .*texts.txt.vectors.npy"):
            opened(texts)
        model["sha256"] = "one"

    open_library(LetterVectors(search_by_another), TablePrediction(str(texts)))
    assert opened(texts)[1] == 0
    model["sha256"] = "two"
    assert opened(texts)[1] == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "texts.txt",
        "texts.txt.vectors.npy",
        "texts.txt.vectors.npy.json",
    ]
