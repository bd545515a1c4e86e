"""Folders whose names TensorFlow takes for patterns: checkpoints and SavedModels in them are read all the same."""

import os

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.checkpoints.tensor_files import load_tensors, save_tensors
from albert_tf.runtime.literal_paths import literal_path

NAMES = ["a[1]", "a*", "a?", "a\\b", "plain"]


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_is_read(name, tmp_path, monkeypatch):
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    save_tensors(f"{name}/model", {"x": np.arange(3)})
    for prefix in (f"{name}/model", f"{tmp_path}/{name}/model"):
        assert load_tensors(prefix)["x"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_is_loaded(name, tmp_path):
    module = tf.Module()
    module.variable = tf.Variable(2.0)
    tf.saved_model.save(module, str(tmp_path / name))
    with literal_path(str(tmp_path / name)) as found:
        loaded = tf.saved_model.load(found)
    assert loaded.variable.numpy() == 2.0


def test_the_link_is_gone_and_what_needs_none_is_as_it_was(tmp_path):
    (tmp_path / "[").mkdir()
    with literal_path(str(tmp_path / "[" / "model")) as found:
        assert os.path.realpath(os.path.dirname(found)) == str(tmp_path / "[")
    assert not os.path.lexists(os.path.dirname(found))
    assert (tmp_path / "[").is_dir()
    for path in ("gs://bucket/a[1]/model", "model", str(tmp_path / "model[1]")):
        with literal_path(path) as found:
            assert found == path
