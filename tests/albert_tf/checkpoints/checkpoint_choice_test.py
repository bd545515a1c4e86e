"""The choice among checkpoints: which is kept, restored, the best, or stands for its run; and when one is complete."""

import dataclasses
import json
import os

import numpy as np
import pytest

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import BEST_METRIC, write_evaluation
from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder
from albert_tf.checkpoints.sealed_json import seal
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.runtime.errors import InputError

STATE = TrainingState(step=0, examples_seen=0, random_seed=1, input_files=[], optimizer="lamb")


@pytest.fixture
def trained(small_config):
    """A model, and the optimizer that trains it."""
    model = AlbertForPretraining(small_config)
    optimizer = build_optimizer("lamb", 0.1)
    optimizer.build(list(named_weights(model).values()))
    return model, optimizer


def _save(folder, trained, *steps):
    return [folder.save(*trained, dataclasses.replace(STATE, step=step)) for step in steps]


def test_a_checkpoint_is_complete_with_the_last_thing_that_is_written(trained, tmp_path, monkeypatch):
    folder = CheckpointFolder(str(tmp_path))
    seen, save_tensors = [], run_checkpoints.save_tensors

    def look(prefix, tensors):
        save_tensors(prefix, tensors)
        seen.append(folder.all())

    monkeypatch.setattr(run_checkpoints, "save_tensors", look)
    assert folder.all() == []
    (only,) = _save(folder, trained, 1)
    assert seen == [[], []]
    assert folder.all() == [only]


def test_all_are_kept_if_none_is_to_go(trained, tmp_path):
    folder = CheckpointFolder(str(tmp_path), keep_max=0)
    assert folder.all() == []
    saved = _save(folder, trained, 1, 2, 3)
    assert folder.all() == saved


def test_the_newest_is_restored(trained, tmp_path):
    folder = CheckpointFolder(str(tmp_path))
    # By the number, not by the name: there may be more digits than the name has room for.
    *_, newest = _save(folder, trained, 2, 99_999_999, 100_000_000)
    assert folder.restore_latest(*trained).step == 100_000_000
    # Where nothing was evaluated it stands for the run.
    assert run_checkpoints.find_checkpoint(str(tmp_path)) == newest


def test_of_equal_scores_the_earlier_is_the_best(trained, tmp_path):
    folder = CheckpointFolder(str(tmp_path))
    first, second, _ = _save(folder, trained, 1, 2, 3)
    for path in (first, second):
        write_evaluation(path, {"masked_lm_accuracy": 0.5})
    assert folder.best() == first


def test_the_metric_that_an_evaluation_names_decides(trained, tmp_path):
    folder = CheckpointFolder(str(tmp_path))
    first, second = _save(folder, trained, 1, 2)
    metrics = {BEST_METRIC: "f1", "masked_lm_accuracy": 0.5}
    write_evaluation(first, {**metrics, "f1": 0.2, "accuracy": 0.9})
    write_evaluation(second, {**metrics, "f1": 0.3, "accuracy": 0.1})
    assert folder.best() == second


def test_the_fault_of_the_newest_is_told(trained, tmp_path):
    folder = CheckpointFolder(str(tmp_path))
    first, second = _save(folder, trained, 1, 2)
    for path in (first, second):
        with open(os.path.join(path, "checkpoint.json"), "w") as file:
            file.write("[1, 2")
    with pytest.raises(InputError, match=os.path.basename(second)):
        folder.restore_latest(*trained)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), None])
def test_a_score_that_is_not_finite_is_none(trained, tmp_path, score):
    folder = CheckpointFolder(str(tmp_path))
    first, second = _save(folder, trained, 1, 2)
    write_evaluation(first, {"masked_lm_accuracy": 0.1})
    write_evaluation(second, {"masked_lm_accuracy": score})
    assert folder.best() == first


def test_weights_of_another_model_are_refused_though_their_shapes_fit(trained, small_config, tmp_path):
    (only,) = _save(CheckpointFolder(str(tmp_path)), trained, 1)
    other = AlbertForPretraining(dataclasses.replace(small_config, hidden_act="relu"))
    before = {name: variable.numpy() for name, variable in named_weights(other).items()}
    with pytest.raises(InputError, match="hidden_act='gelu'"):
        run_checkpoints.load_model_weights(only, other)
    for name, variable in named_weights(other).items():
        np.testing.assert_array_equal(variable.numpy(), before[name])


@pytest.mark.parametrize("name", ["model.index", "model.data-00000-of-00001", "optimizer.index", "albert_config.json"])
def test_a_checkpoint_that_lacks_a_file_does_not_stand_for_its_run(trained, tmp_path, name):
    first, second = _save(CheckpointFolder(str(tmp_path)), trained, 1, 2)
    assert run_checkpoints.find_checkpoint(str(tmp_path)) == second
    os.remove(os.path.join(second, name))
    assert run_checkpoints.find_checkpoint(str(tmp_path)) == first


def _rewrite_state(folder, **changes):
    """Changes entries of checkpoint.json, with a digest that fits."""
    path = os.path.join(folder, "checkpoint.json")
    with open(path) as file:
        values = json.load(file)
    del values["sha256"]
    with open(path, "wb") as file:
        file.write(seal(values | changes))


def test_a_checkpoint_of_a_later_version_is_refused(trained, tmp_path):
    (only,) = _save(CheckpointFolder(str(tmp_path)), trained, 1)
    _rewrite_state(only, format_version=99)
    with pytest.raises(InputError, match="use a later albert_tf"):
        run_checkpoints.read_state(only)


def test_counts_are_whole_numbers_from_zero_on(trained, tmp_path):
    (only,) = _save(CheckpointFolder(str(tmp_path)), trained, 1)
    for count in (0, 7, 2**63 - 1):
        _rewrite_state(only, examples_seen=count)
        assert run_checkpoints.read_state(only).examples_seen == count
    for value in (-1, True, 7.0, "7", None, 2**63):
        _rewrite_state(only, examples_seen=value)
        with pytest.raises(InputError, match="`examples_seen` cannot be"):
            run_checkpoints.read_state(only)
