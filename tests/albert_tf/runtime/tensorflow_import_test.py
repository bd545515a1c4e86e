"""TensorFlow as commands import it, and as paths on other machines do."""

import os
import subprocess
import sys

import pytest

from albert_tf.runtime.tensorflow_import import remote_files


@pytest.mark.slow
def test_tensorflow_comes_without_what_no_command_uses_and_with_keras_on_it():
    program = """
import sys
from albert_tf.runtime.tensorflow_import import import_tensorflow
import_tensorflow()
import keras
print(keras.backend.backend(), *(name for name in ("jax", "matplotlib", "sklearn") if name in sys.modules))
import matplotlib.pyplot, sklearn.metrics
"""
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tensorflow"]


@pytest.mark.slow
def test_access_to_remote_files_leaves_the_backend_of_keras():
    program = """
import os
from albert_tf.runtime.tensorflow_import import remote_files
print(remote_files().exists("/"), os.environ["KERAS_BACKEND"])
"""
    environment = {**os.environ, "KERAS_BACKEND": "numpy"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == ["True", "numpy"]


def test_access_to_remote_files_makes_no_device_where_tensorflow_is_there(monkeypatch):
    import tensorflow as tf

    def refuse(*_):
        raise AssertionError("a device was made")

    monkeypatch.setattr(tf.config, "list_logical_devices", refuse)
    assert remote_files() is tf.io.gfile
