"""JSON that every reader takes: no NaN, whatever is written, by whichever part of the packages."""

import ast
import json
import math
from pathlib import Path

import numpy as np
import pytest

from albert_tf.runtime import files
from albert_tf.runtime.json_text import to_json, to_json_bytes

ROOT = Path(__file__).resolve().parents[3]


def _refuse(word):
    raise AssertionError(word)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_what_is_not_finite_is_null_at_any_depth(value, tmp_path):
    values = {"a": value, "b": [value, {"c": (value, 1.5)}], "d": "NaN"}
    expected = {"a": None, "b": [None, {"c": [None, 1.5]}], "d": "NaN"}
    files.write_json(str(tmp_path / "file"), values)
    for text in (to_json(values), to_json_bytes(values), (tmp_path / "file").read_bytes()):
        assert json.loads(text, parse_constant=_refuse) == expected


def test_a_file_name_that_is_not_utf8_comes_back():
    name = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    assert json.loads(to_json_bytes({"é": name}).decode("utf-8"))["é"] == name


def test_nothing_writes_json_but_these_functions():
    found = []
    for path in [*ROOT.glob("albert_tf/**/*.py"), *ROOT.glob("data_prep/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in ("dump", "dumps") and ast.unparse(node.value) == "json":
                found.append(path.relative_to(ROOT).as_posix())
    # A row's value as it stood in the file.
    assert sorted(set(found) - {"albert_tf/tasks/tables.py"}) == ["albert_tf/runtime/json_text.py"]
