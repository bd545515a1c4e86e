"""Tests of the threads of an operation: what is asked for, and what small models have by themselves."""

import json
import os
import subprocess
import sys

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.serving import threads
from albert_tf.serving.threads import check_threads, set_threads, usual_threads

_PROGRAM = """
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from albert_tf.serving.row_flags import import_for
from albert_tf.serving.threads import set_threads
import_for(sys.argv[1])
import tensorflow as tf
set_threads(1, "here")
print(tf.config.threading.get_intra_op_parallelism_threads())
try:
    set_threads(2, "here")
except Exception as error:
    print(error)
"""


@pytest.fixture
def model(tmp_path):
    """A function of a hidden size, and the file of the config that has it, to the folder of such a model."""

    def make(units, file="albert_config.json"):
        path = tmp_path / str(units) / file
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"hidden_size": units}))
        return str(tmp_path / str(units))

    return make


@pytest.fixture
def cores(monkeypatch):
    """A function of the number of cores that this process may use from now on; TensorFlow is not told any."""
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    return lambda number: monkeypatch.setattr(threads, "count_cores", lambda: number)


@pytest.mark.parametrize("file", ["albert_config.json", "assets.extra/albert_config.json", "config.json"])
def test_a_small_model_on_two_cores_has_one(model, cores, file):
    cores(2)
    small, large = model(384, file), model(385, file)
    assert [usual_threads([small]), usual_threads([large]), usual_threads([small, large])] == [1, None, None]
    assert usual_threads([f"{small}/checkpoint-00000001"]) == 1


def test_more_cores_are_left_to_tensorflow_or_shared_out(model, cores, monkeypatch):
    cores(8)
    small = model(64)
    assert [usual_threads([small], share) for share in (None, 4, 2)] == [None, 4, 1]
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "3")
    assert usual_threads([small], 2) is None


def test_a_model_whose_size_is_not_known_is_left_to_tensorflow(model, cores, tmp_path):
    cores(1)
    assert usual_threads(["hf://somebody/albert"]) is usual_threads([str(tmp_path / "nowhere")]) is None
    (tmp_path / "albert_config.json").write_text("{")
    assert usual_threads([str(tmp_path)]) is None


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2"])
def test_what_is_no_number_of_threads_is_refused(wrong):
    with pytest.raises(InputError, match="num_threads must be at least 1. Received"):
        check_threads(wrong)
    with pytest.raises(InputError, match="num_threads must be at least 1. Received"):
        set_threads(wrong, "here")


def test_tensorflow_begins_with_it_and_keeps_it(model):
    environment = {key: value for key, value in os.environ.items() if key != "TF_NUM_INTRAOP_THREADS"}
    command = [sys.executable, "-c", _PROGRAM, model(64)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "1"
    assert second.startswith("num_threads=2: here is run by TensorFlow, which has begun with a different number")
