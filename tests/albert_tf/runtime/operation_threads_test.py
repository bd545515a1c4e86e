"""The threads of an operation: by the size of the model, the cores, and what the environment says."""

import json
import math

import pytest

from albert_tf.runtime import operation_threads
from albert_tf.runtime.operation_threads import hidden_units_at, usual_threads


@pytest.fixture
def cores(monkeypatch):
    """A function of the number of cores that this process may use from now on; the environment names no threads."""
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    return lambda number: monkeypatch.setattr(operation_threads, "count_cores", lambda: number)


def test_small_models_on_two_cores_have_one(cores):
    cores(2)
    assert [usual_threads([384]), usual_threads([385]), usual_threads([384, 768])] == [1, None, None]


def test_more_cores_are_left_to_tensorflow_or_shared_out(cores, monkeypatch):
    cores(8)
    assert [usual_threads([64], share) for share in (None, 4, 2)] == [None, 4, 1]
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "3")
    assert usual_threads([64], 2) is None


@pytest.mark.parametrize("file", ["albert_config.json", "assets.extra/albert_config.json", "config.json"])
def test_the_size_stands_in_the_config_of_the_folder_or_of_that_above(file, tmp_path):
    path = tmp_path / "model" / file
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hidden_size": 96}))
    model = str(tmp_path / "model")
    assert [hidden_units_at(place) for place in (model, f"{model}/", f"{model}/checkpoint-00000001")] == [96, 96, 96]


def test_a_size_is_read_on_other_file_systems_too(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 96}))
    assert [hidden_units_at(f"file://{tmp_path}{name}") for name in ("", "/nowhere/at/all")] == [96, math.inf]


def test_a_size_that_is_not_found_is_infinite(tmp_path):
    assert hidden_units_at(str(tmp_path / "nowhere")) == math.inf
    (tmp_path / "albert_config.json").write_text("{")
    assert hidden_units_at(str(tmp_path)) == math.inf
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": "wide"}))
    assert hidden_units_at(str(tmp_path)) == math.inf
