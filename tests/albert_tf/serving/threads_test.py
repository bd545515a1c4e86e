"""Tests of the threads of an operation: what is asked for, and what small models have by themselves."""

import json
import os
import subprocess
import sys

import pytest

from albert_tf.runtime import operation_threads
from albert_tf.runtime.errors import InputError
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
    """A function of a hidden size to the folder of such a model."""

    def make(units):
        path = tmp_path / str(units) / "albert_config.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"hidden_size": units}))
        return str(tmp_path / str(units))

    return make


def test_published_models_are_left_to_tensorflow(model, monkeypatch):
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    monkeypatch.setattr(operation_threads, "count_cores", lambda: 2)
    assert usual_threads([model(64)]) == 1
    assert usual_threads(["hf://somebody/albert"]) is usual_threads([model(768)]) is None


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
