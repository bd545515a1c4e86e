"""Every input format to every output format, in bounded memory, with the columns that were asked for."""

import collections
import csv
import datetime
import io
import json
import os
import sys
import threading
import tracemalloc

import pytest
from stand_in_model import Lengths

from albert_tf.rows import parquet_results, table_prediction
from albert_tf.rows.table_prediction import TablePrediction, predict_rows
from albert_tf.runtime.errors import InputError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = [("k1", "one", 1), ("k2", "four", 2), ("k3", "", 3)]


@pytest.fixture(autouse=True)
def known_model(monkeypatch):
    monkeypatch.setattr(table_prediction, "identify_model", lambda path: {"model": path})


@pytest.fixture
def inputs(tmp_path):
    """The same rows as files of every format."""
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"id": i, "text": t, "n": n}) + "\n" for i, t, n in ROWS))
    for ending, gap in (("tsv", "\t"), ("csv", ",")):
        lines = [gap.join(map(str, row)) + "\n" for row in (("id", "text", "n"), *ROWS)]
        (tmp_path / f"a.{ending}").write_text("".join(lines))
    parquet.write_table(
        pyarrow.table(dict(zip(("id", "text", "n"), map(list, zip(*ROWS))))), tmp_path / "a.parquet", row_group_size=2
    )
    return tmp_path


def predict(folder, source, output, **settings):
    settings = {"output_file": str(folder / output), "batch_size": 2, **settings}
    return predict_rows(Lengths(), TablePrediction(str(folder / source), **settings))


def read(path):
    """The results of any format as {column: text or number}."""
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    gap = "\t" if path.suffix == ".tsv" else ","
    return list(csv.DictReader(io.StringIO(path.read_text()), delimiter=gap))


@pytest.mark.parametrize("source", ["a.jsonl", "a.tsv", "a.csv", "a.parquet"])
@pytest.mark.parametrize("output", ["b.jsonl", "b.tsv", "b.csv", "b.parquet"])
def test_every_format_becomes_every_format(inputs, source, output):
    outcome = predict(inputs, source, output)
    assert (outcome.rows, outcome.errors) == (3, 0)
    found = read(inputs / output)
    assert [str(row["row"]) for row in found] == ["1", "2", "3"]
    assert [row["id"] for row in found] == ["k1", "k2", "k3"]
    assert [row["label"] for row in found] == ["odd", "even", "even"]
    given = [
        row["input"] if "input" in row else {name: row[f"input: {name}"] for name in ("text", "n")} for row in found
    ]
    assert [(row["text"], str(row["n"])) for row in given] == [(text, str(number)) for _, text, number in ROWS]
    assert "no text in 'text'" in found[2]["warning"]
    assert sorted(os.listdir(inputs)) == sorted({"a.jsonl", "a.tsv", "a.csv", "a.parquet", output})


def test_parquet_keeps_the_types_of_parquet_and_tells_numbers_of_answers(inputs):
    table = pyarrow.table(
        {
            "text": ["one", None],
            "n": pyarrow.array([1, None], pyarrow.int16()),
            "day": [datetime.date(2020, 1, 2), None],
            "list": [[1.5], []],
            "view": pyarrow.array(["x", None], pyarrow.string_view()),
            "pair": pyarrow.array([[1, 2], [3, 4]], pyarrow.list_(pyarrow.int32(), 2)),
        }
    )
    parquet.write_table(table, inputs / "typed.parquet")
    outcome = predict(inputs, "typed.parquet", "b.parquet")
    assert (outcome.errors, outcome.first_error) == (
        1,
        f"{inputs}/typed.parquet, row 2: 'text' must be text. Received None",
    )
    schema = parquet.read_schema(inputs / "b.parquet")
    kinds = {name: str(schema.field(name).type) for name in schema.names}
    assert kinds == {
        **{"row": "int64", "input: text": "string", "input: n": "int16", "input: day": "string"},
        **{
            "input: list": "list<element: double>",
            "input: view": "string_view",
            "input: pair": "list<element: int32>",
            "label": "string",
            "probabilities: odd": "double",
        },
        **{"probabilities: even": "double", "warning": "string", "error": "string"},
    }
    first, second = read(inputs / "b.parquet")
    assert (first["input: day"], first["input: n"], first["probabilities: odd"]) == ("2020-01-02", 1, 1.0)
    assert (second["label"], second["input: n"]) == (None, None)
    predict(inputs, "typed.parquet", "b.jsonl")
    known = {"text": "one", "n": 1, "day": "2020-01-02", "list": [1.5], "view": "x", "pair": [1, 2]}
    assert read(inputs / "b.jsonl")[0]["input"] == known


@pytest.mark.parametrize(
    "table, settings, match",
    [
        ({"x": ["a"]}, {}, "the file has no 'text'; there is 'x'"),
        ({"text": ["a"], "b": [b"\0"]}, {}, "the column 'b' holds binary, which is no text, number or list; write"),
        (
            {"text": [b"a"]},
            {"output_columns": []},
            "'text' holds binary, which is no text, .*; write it as another type$",
        ),
        ({"text": ["a"], "b": [b"\0"]}, {"output_columns": ["c"]}, "has no column 'c'; there is 'text'"),
        ({"text": ["a"]}, {"columns": ["text=body"]}, "the file has no 'body'; there is 'text'"),
    ],
)
def test_a_parquet_file_that_cannot_be_asked_about_is_one_line(tmp_path, table, settings, match):
    parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=match):
        predict(tmp_path, "a.parquet", "b.jsonl", **settings)
    (tmp_path / "a.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-9])
    with pytest.raises(InputError, match="not a whole Parquet file"):
        predict(tmp_path, "a.parquet", "b.jsonl")
    assert os.listdir(tmp_path) == ["a.parquet"]


def test_columns_that_no_answer_needs_are_not_read(tmp_path):
    parquet.write_table(pyarrow.table({"text": ["a"], "b": [b"\0"], "id": [7]}), tmp_path / "a.parquet")
    predict(tmp_path, "a.parquet", "b.jsonl", output_columns=[])
    (row,) = read(tmp_path / "b.jsonl")
    assert (row["id"], row["input"]) == (7, {})


def test_fields_have_the_columns_that_the_user_names(inputs):
    (inputs / "c.tsv").write_text("text\treview\nx\tfour\n")
    predict(inputs, "c.tsv", "b.jsonl", columns=["text=review"], output_columns=["review"])
    (row,) = read(inputs / "b.jsonl")
    assert (row["input"], row["label"]) == ({"review": "four"}, "even")


@pytest.mark.parametrize(
    "settings, match",
    [
        ({"columns": ["text"]}, "columns: field=column was expected"),
        ({"columns": ["text=a", "text=b"]}, "each field once"),
        ({"columns": ["title=a"]}, "this model has no field 'title'; it takes text"),
        ({"output_columns": ["nothing"]}, "output_columns: the input has no column 'nothing'; there is 'id'"),
        ({"output_file": None, "output_format": "parquet"}, "format=parquet wants a file"),
    ],
)
def test_settings_that_fit_nothing_are_one_line(inputs, settings, match):
    with pytest.raises(InputError, match=match):
        predict(inputs, "a.tsv", "b.tsv", **settings)
    assert not (inputs / "b.tsv").exists()


@pytest.mark.parametrize(("columns", "absent"), [(["n", "nn"], "'nn'"), (["n"], None), ([], None)])
def test_a_column_that_no_line_of_json_has_is_told_of(inputs, caplog, columns, absent):
    predict(inputs, "a.jsonl", "b.jsonl", output_columns=columns)
    told = [record.getMessage() for record in caplog.records if "--output_columns" in record.getMessage()]
    assert told == ([] if absent is None else [f"--output_columns: no row has a column {absent}"])
    assert [row["input"] for row in read(inputs / "b.jsonl")] == [{"n": n} if columns else {} for *_, n in ROWS]


@pytest.mark.parametrize("output", ["b.tsv", "b.parquet", "b.jsonl"])
def test_what_is_read_but_once_gives_the_same_files(inputs, output):
    predict(inputs, "a.jsonl", output)
    wanted = (inputs / output).read_bytes()
    os.mkfifo(inputs / "pipe.jsonl")
    writer = threading.Thread(target=lambda: (inputs / "pipe.jsonl").write_bytes((inputs / "a.jsonl").read_bytes()))
    writer.start()
    predict(inputs, "pipe.jsonl", "piped_" + output)
    writer.join()
    stdin = io.BytesIO((inputs / "a.jsonl").read_bytes())
    predict_rows(Lengths(), TablePrediction(stdin, output_file=str(inputs / ("read_" + output)), batch_size=2))
    for name in ("piped_", "read_"):
        found = (inputs / (name + output)).read_bytes()
        place = b"pipe.jsonl" if name == "piped_" else b"stdin"
        if output != "b.parquet":
            assert place in found
        if output == "b.jsonl":
            assert len(found.splitlines()) == len(wanted.splitlines())
    assert not [name for name in os.listdir(inputs) if name.startswith(".")]


def test_answers_of_several_processes_are_those_of_one(inputs, monkeypatch):
    (inputs / "a.txt").write_text("".join(f"{'word' * (7 * number % 30)}\n" for number in range(50)) + "fails\n")
    assert predict(inputs, "a.txt", "b.jsonl").errors == 1
    # A process of its own opens what it is sent; here the model itself.
    monkeypatch.setattr(table_prediction, "WorkerModel", lambda *_: Lengths())
    assert predict(inputs, "a.txt", "c.jsonl", num_workers=2, open_model=Lengths).errors == 1
    assert (inputs / "c.jsonl").read_bytes() == (inputs / "b.jsonl").read_bytes()


@pytest.mark.parametrize("ending", ["tsv", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(parquet_results, "_GROUP_ROWS", 1000)
    peaks, model = [], Lengths()
    # All texts, otherwise.
    model.batches = collections.deque(maxlen=1)
    for count in (1_200, 6_000):
        with open(tmp_path / "a.tsv", "w") as file:
            file.write("text\tid\n")
            file.writelines(f"{'word ' * 200}\t{number}\n" for number in range(count))
        settings = {"output_file": f"{tmp_path}/{count}.{ending}", "batch_size": 8}
        tracemalloc.start()
        predict_rows(model, TablePrediction(str(tmp_path / "a.tsv"), **settings))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_a_stream_is_answered_batch_by_batch(monkeypatch):
    read_end, write_end = os.pipe()
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output))
    with os.fdopen(read_end, "rb") as stdin:
        job = threading.Thread(target=predict_rows, args=(Lengths(), TablePrediction(stdin, batch_size=2)))
        job.start()
        os.write(write_end, b"one\nfour\n")
        while output.getvalue().count(b"\n") < 2:
            job.join(0.01)
            assert job.is_alive()
        os.close(write_end)
        job.join()
    assert [json.loads(line)["label"] for line in output.getvalue().splitlines()] == ["odd", "even"]
