"""Texts of every format to vectors of every format; rows without a vector; a job that was stopped and goes on."""

import json

import numpy as np
import pytest
from letter_vectors import LetterVectors

from albert_tf.rows import vector_rows
from albert_tf.rows.table_prediction import TablePrediction
from albert_tf.rows.vector_rows import choose_vector_format, embed_rows
from albert_tf.runtime.errors import InputError

TEXTS = ["aab", "b", "fails", "", "cc"]
VECTORS = np.array([[2, 1, 0], [0, 1, 0], [np.nan] * 3, [0, 0, 0], [0, 0, 1]]) / [[5**0.5], [1], [1], [1], [1]]


@pytest.fixture(autouse=True)
def known_model(monkeypatch):
    monkeypatch.setattr(vector_rows, "identify_model", lambda path: {"model": path})


def embed(source, output=None, vector_type="float32", embedder=None, **settings):
    settings = {"batch_size": 2, **settings}
    wanted = TablePrediction(str(source), output_file=None if output is None else str(output), **settings)
    return embed_rows(embedder or LetterVectors(), wanted, vector_type)


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n")
    return path


@pytest.mark.parametrize("vector_type", ["float32", "float16", "int8"])
@pytest.mark.parametrize("ending", ["npy", "parquet", "jsonl"])
def test_every_row_has_its_vector_or_its_error_in_every_format(texts, tmp_path, vector_type, ending):
    output = tmp_path / f"vectors.{ending}"
    outcome = embed(texts, output, vector_type)
    assert (outcome.rows, outcome.errors) == (5, 1)
    assert "line 3: the model failed" in outcome.first_error
    if ending == "npy":
        kept = np.load(output)
        found = kept if vector_type != "int8" else kept["vector"] * kept["scale"][:, np.newaxis]
        np.testing.assert_allclose(found, VECTORS, atol=5e-3)
        return
    if ending == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(output)
        assert (
            str(table.schema.field("vector").type)
            == f"list<element: {vector_type.replace('float16', 'halffloat').replace('float32', 'float')}>"
        )
        rows = table.to_pylist()
        assert [row["input: text"] for row in rows] == TEXTS
    else:
        rows = [json.loads(line) for line in output.read_text().splitlines()]
        assert [row["input"]["text"] for row in rows] == TEXTS
    for row, expected in zip(rows, VECTORS, strict=True):
        if row["row"] == 3:
            assert "the model failed" in row["error"] and row.get("vector") is None
        else:
            np.testing.assert_allclose(np.array(row["vector"]) * (row.get("scale") or 1), expected, atol=5e-3)


def test_the_column_that_is_named_is_the_text(tmp_path):
    (tmp_path / "a.csv").write_text("id,body\n1,a\n2,c\n")
    embed(tmp_path / "a.csv", tmp_path / "b.jsonl", columns=["text=body"], output_columns=[])
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert [(row["id"], row["input"], row["vector"]) for row in rows] == [("1", {}, [1, 0, 0]), ("2", {}, [0, 0, 1])]


def test_a_job_that_broke_off_goes_on_and_ends_in_the_same_bytes(tmp_path):
    source, whole = tmp_path / "many.txt", tmp_path / "whole.npy"
    source.write_text("".join(f"{'ab' * (number % 5)}c\n" for number in range(300)))
    embed(source, whole, "int8")

    def stop(count):
        if count == 70:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError):
        embed(source, tmp_path / "again.npy", "int8", LetterVectors(stop))
    assert not (tmp_path / "again.npy").exists()
    rest = LetterVectors()
    assert embed(source, tmp_path / "again.npy", "int8", rest).rows == 300
    assert (tmp_path / "again.npy").read_bytes() == whole.read_bytes()
    # The first window of 64 batches is not computed again.
    assert sum(map(len, rest.batches)) == 300 - 128


def test_another_type_of_vector_is_another_job(texts, tmp_path):
    def stop(count):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError):
        embed(texts, tmp_path / "v.npy", embedder=LetterVectors(stop))
    with pytest.raises(InputError, match="--overwrite"):
        embed(texts, tmp_path / "v.npy", "int8")


@pytest.mark.parametrize(
    "source, settings, message",
    [
        ("a.txt", {"output_format": "npy"}, "--format=npy wants a file; name it by --output_file"),
        ("a.json", {}, "a.json: squad is not read here; name one of text, jsonl, tsv, csv, parquet as its format"),
        ("a.csv", {}, "line 1: the header has no 'text'; there is 'body'"),
        ("a.csv", {"columns": ["label=body"]}, "--columns: this model has no field 'label'; it takes text"),
    ],
)
def test_what_cannot_be_read_or_written_is_one_line(tmp_path, source, settings, message):
    (tmp_path / source).write_text("body\n1\n")
    with pytest.raises(InputError, match=message):
        embed(tmp_path / source, **settings)


def test_columns_that_nothing_here_could_write_are_not_read_for_vectors_alone(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["a", "b"], "photo": [b"1", b"2"]}), tmp_path / "a.parquet")
    embed(tmp_path / "a.parquet", tmp_path / "b.npy")
    assert np.load(tmp_path / "b.npy").tolist() == [[1, 0, 0], [0, 1, 0]]


def test_a_file_of_vectors_alone_takes_no_columns_along(texts, tmp_path):
    with pytest.raises(InputError, match="--output_columns: a .npy file holds vectors alone"):
        embed(texts, tmp_path / "v.npy", output_columns=["text"])


def test_the_format_goes_by_the_name():
    assert choose_vector_format("auto", None) == "jsonl"
    assert choose_vector_format("auto", "a/b.NPY") == "npy"
    assert choose_vector_format("auto", "vectors") == "jsonl"
    assert choose_vector_format("parquet", "vectors") == "parquet"
