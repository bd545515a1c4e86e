"""Hostile input at predict, fill_mask, Predictor and FillMask: an answer or one line, no traceback, no hang."""

import json
import math
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stand_in_model import answer_all

from albert_tf.rows import input_lines
from albert_tf.rows.answered_rows import RowAsker
from albert_tf.rows.input_rows import FORMATS as INPUT_FORMATS
from albert_tf.rows.input_rows import columns_of, read_rows
from albert_tf.rows.result_formats import CSV, JSONL, TABLE, TSV, ResultColumns, line_form
from albert_tf.serving.fill_mask import FillMask
from albert_tf.serving.predictor import Predictor

ROOT = Path(__file__).resolve().parents[3]
GOOD = {"options": ["bada", "gimo", "rasu", "lefi"], "words": ["bada", "gimo"]}


def deep_list():
    value = []
    for _ in range(100_000):
        value = [value]
    return value


VALUES = {
    "none": None,
    "true": True,
    "number": 5,
    "huge number": 10**400,
    "nan": float("nan"),
    "bytes": b"bada",
    "empty": "",
    "space": " \t\n\u2028 ",
    "nul": "\0",
    "bada nul": "ba\0da",
    "surrogate": "bada \ud800",
    "byte": "bada \udcff",
    "direction": "\u202ebada\u202c",
    "combining": "\u0301" * 50,
    "emoji": "\U0001f600" * 200,
    "not a character": "\uffff\U0010ffff",
    "long": "bada " * 1_000,
    "one long word": "b" * 10_000,
    "masks": "[MASK] [CLS] [SEP] <pad>",
    "no list": [],
    "list": ["bada", "gimo"],
    "one": ["bada"],
    "empty ones": ["", ""],
    "spaces": [" ", "\t"],
    "numbers": [1, 2],
    "mixed": ["bada", None],
    "lists": [["bada"], ["gimo"]],
    "surrogates": ["\ud800", "\udfff"],
    "many": ["bada"] * 50,
    "object": {"text": "bada"},
    "deep": deep_list(),
}
_LINES = (JSONL, TSV, CSV, TABLE)
_TAGGED = b"bada O\ngimo B-X\n\nrasu O\n"
CONTENTS = {
    "empty": b"",
    "mark": b"\xef\xbb\xbf",
    "mark and text": b"\xef\xbb\xbftext\nbada\n",
    "utf-16": "text\nbada\n".encode("utf-16"),
    "nuls": b"\0" * 1000 + b"\n\0\n",
    "binary": random.Random(0).randbytes(3000),
    "blank lines": b"\n\r\n \n\t\n" * 5,
    "deep list": b'{"text": ' + b"[" * 100_000 + b"}\n",
    "deep object": b'{"text":' * 100_000,
    "deep lists": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "scalars": b'1\nnull\n"bada"\n[]\ntrue\n-\n',
    "surrogates": b'{"text": "\\ud800"}\n{"\\ud800": 1}\n',
    "numbers": b'{"text": NaN}\n{"text": -Infinity}\n{"text": 1e999}\n{"text": ' + b"9" * 6000 + b"}\n",
    "repeats": b'{"text": "a", "text": "b"}\n',
    "no object": b'{"text": "bada"\n{\n}\n{}\n{"": 1}\n',
    "ragged": b"text,text_pair\na\na,b,c,d\n,\n\na,b\n",
    "ragged tabs": b"text\ttext_pair\na\na\tb\tc\n\n\t\n",
    "wrong names": b"x,y,z\n1,2,3\n",
    "names twice": b"text,text\na,b\n",
    "no names": b",,\na,b,c\n",
    "quotes": b'text\n"bada\ngimo\n',
    "quote inside": b'text\nba"da\n"a"b\n',
    "options": b'article\tquestion\toptions\na\tb\t["1"]\na\tb\t[1, 2]\na\tb\t{"x": 1}\na\tb\t' + b"[" * 5000 + b"\n",
    "words": b'words\n[]\n[""]\nbada\n["bada"]\n',
    "tagged": _TAGGED,
    "tagged badly": b"bada O\ngimo\n\n-DOCSTART- -X- O\n",
    "carriage returns": b"text\rbada\rgimo\r",
    "squad": b'{"data": [{"paragraphs": [{"context": "bada", "qas": [{"id": "1", "question": "gimo"}]}]}]}',
    "squad wrong": b'{"data": [{"paragraphs": [{"context": 5, "qas": null}]}]}',
    "squad null": b'{"data": null}',
    "long line": b"bada " * (1 << 22) + b"\n",
}


def is_sound(values):
    """True if all numbers of an answer are finite."""
    if isinstance(values, dict):
        return all(map(is_sound, values.values()))
    if isinstance(values, list):
        return all(map(is_sound, values))
    return not isinstance(values, float) or math.isfinite(values)


@pytest.mark.faults
def test_no_value_of_a_field_is_a_traceback(predictors, count_cases):
    cases = count_cases("values")
    for predictor in predictors.values():
        names = [field.rstrip("?") for field in predictor.fields]
        good = {name: GOOD.get(name, "bada gimo") for name in names}
        names += ["text"] if "words" in names else []
        for name in names:
            for value in VALUES.values():
                example = {**good, name: value}
                if name == "text" and "words" in good:
                    del example["words"]
                found = cases.run(predictor.predict, [good, example])
                assert found is None or (len(found) == 2 and is_sound(found))
        for value in VALUES.values():
            for examples in (value, [value]):
                cases.run(predictor.predict, examples)
    cases.end(8 * 2 * len(VALUES), 300)


def predict_from(predictor, source, file_format, output_format):
    rows = list(read_rows(source, predictor.example_fields, predictor.task, file_format))
    results = answer_all(RowAsker(predictor), rows, 8)
    assert [result["row"] for result in results] == list(range(1, len(rows) + 1))
    form = line_form(output_format, ResultColumns.of(columns_of(rows), {}))
    lines = (form.header() + form.encode(results)).split(b"\n")[:-1]
    if output_format == "jsonl":
        for line in lines:
            assert is_sound(json.loads(line))
    # A row of CSV may have several lines.
    if output_format != "csv":
        assert len(lines) == len(rows) + (output_format == "tsv")
    return results


@pytest.mark.faults
def test_no_contents_of_a_file_are_a_traceback(predictors, tmp_path, count_cases):
    cases, number = count_cases("files"), 0
    for contents in CONTENTS.values():
        for ending in ("txt", "jsonl", "tsv", "csv", "conll", "json", "dat"):
            path = tmp_path / f"a.{ending}"
            path.write_bytes(contents)
            for predictor in predictors.values():
                number += 1
                cases.run(predict_from, predictor, str(path), "auto", _LINES[number % len(_LINES)])
    cases.end(8 * 7 * len(CONTENTS), 200)


@pytest.mark.faults
def test_no_format_that_is_asked_for_is_a_traceback(predictors, tmp_path, count_cases):
    cases, path = count_cases("formats asked for"), tmp_path / "a"
    for contents in CONTENTS.values():
        path.write_bytes(contents)
        for file_format in INPUT_FORMATS:
            for kind in ("classification", "span", "token_classification"):
                cases.run(predict_from, predictors[kind], str(path), file_format, "tsv")
    cases.end(3 * len(INPUT_FORMATS) * len(CONTENTS), 100)


@pytest.mark.faults
def test_no_path_is_a_traceback_or_a_hang(predictors, tmp_path, monkeypatch, count_cases):
    monkeypatch.setattr(input_lines, "PATIENCE", 0.1)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "folder.tsv").mkdir()
    for ending in ("txt", "csv", "conll", "json"):
        os.mkfifo(tmp_path / f"pipe.{ending}")
    names = ["loop", "zero.csv", "folder.tsv", "nowhere.csv", "a\0b.csv", "a" * 300, "caf\udce9.txt", ""]
    paths = [str(tmp_path / name) for name in names + [f"pipe.{ending}" for ending in ("txt", "csv", "conll", "json")]]
    paths += ["/dev/zero", "/dev/null", "/dev/urandom", "/proc/self/mem", "/"]
    cases = count_cases("paths")
    for path in paths:
        for predictor in predictors.values():
            for file_format in ("auto", *INPUT_FORMATS):
                assert cases.run(predict_from, predictor, path, file_format, "jsonl") is None
    cases.end(900, 900)


@pytest.mark.faults
def test_no_path_of_a_model_is_a_traceback(exports, predictors, tmp_path, count_cases):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_bytes(b"x")
    run = predictors["classification"].path
    paths = [
        run,
        str(tmp_path),
        "",
        "/dev/zero",
        "a\0b",
        "/nowhere",
        "caf\udce9",
        exports["finetuned"] + "/saved_model.pb",
    ]
    paths += [str(tmp_path / name) for name in ("pipe", "loop", "file")]
    cases = count_cases("models")
    for path in paths:
        if path != run:
            assert cases.run(Predictor, path) is None
        assert cases.run(FillMask, path) is None
    for path, kind in ((exports["finetuned"], FillMask), (exports["pretrained"], Predictor)):
        assert cases.run(kind, path) is None
    cases.end(20, 20)


@pytest.mark.faults
def test_no_text_to_fill_is_a_traceback(exports, count_cases):
    served, cases = FillMask(exports["pretrained"]), count_cases("fill_mask")
    for value in VALUES.values():
        for texts in (value, [value], ["[MASK]", value]):
            cases.run(served.fill_mask, texts)
        text = f"[MASK] {value}" if isinstance(value, str) else value
        cases.run(served.fill_mask, [text])
        cases.run(served.order, value, "bada")
        cases.run(served.order, "bada", value)
        cases.run(served.fill_mask, ["[MASK]"], value)
    cases.end(7 * len(VALUES), 100)


@pytest.mark.faults
def test_the_commands_say_one_line_and_exit_with_code_1(exports, predictors, tmp_path):
    deep = b'{"text": ' + b"[" * 100_000 + b"}\n"
    run = predictors["classification"].path
    damaged = tmp_path / "damaged"
    shutil.copytree(exports["finetuned"], damaged)
    contents = bytearray((damaged / "saved_model.pb").read_bytes())
    contents[len(contents) // 2] ^= 1
    (damaged / "saved_model.pb").write_bytes(contents)
    (tmp_path / "binary.csv").write_bytes(random.Random(0).randbytes(3000))
    asked = [
        (["predict", f"--output_dir={run}"], deep + b"bada\n\xff\n", 3),
        (["predict", f"--output_dir={run}"], "/dev/zero", 0),
        (["predict", f"--output_dir={run}", f"--input_file={tmp_path}"], b"", 0),
        (["predict", f"--output_dir={run}", f"--input_file={tmp_path}/binary.csv"], b"", 0),
        (["predict", f"--saved_model={damaged}", "bada"], b"", 0),
        (["predict", f"--saved_model={exports['pretrained']}", "bada"], b"", 0),
        (["fill_mask", f"--saved_model={exports['finetuned']}", "[MASK]"], b"", 0),
        (["fill_mask", f"--saved_model={exports['pretrained']}"], b"\xff\n\0 [MASK]\n" + b"[MASK] " * 5000, 3),
    ]
    for (command, *arguments), stdin, rows in asked:
        with open(stdin if isinstance(stdin, str) else os.devnull, "rb") as file:
            given = {"stdin": file} if isinstance(stdin, str) else {"input": stdin}
            done = subprocess.run(
                [sys.executable, "-m", f"albert_tf.{command}", *arguments],
                **given,
                capture_output=True,
                cwd=ROOT,
                timeout=600,
            )
        lines = [line for line in done.stderr.decode().splitlines() if line.startswith(f"{command}: ")]
        assert (done.returncode, len(lines)) == (1, 1), done.stderr
        assert b"Traceback" not in done.stderr and b"E0000" not in done.stderr, done.stderr
        assert len(done.stdout.splitlines()) == rows
