"""Checkpoints: what is written is read back, what is incomplete or damaged is not, what is kept and what is not."""

import dataclasses
import json
import os
import shutil

import numpy as np
import pytest
from bit_flips import TENSORS, flip_bit

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import write_evaluation
from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.runtime.errors import DamagedError, InputError

STATE = TrainingState(step=0, examples_seen=0, random_seed=1, input_files=[{"name": "a", "bytes": 5}], optimizer="lamb")


def _model_and_optimizer(config, name="lamb"):
    model = AlbertForPretraining(config)
    optimizer = build_optimizer(name, 0.1)
    optimizer.build(list(named_weights(model).values()))
    return model, optimizer


def _values(model, optimizer):
    variables = [*named_weights(model).values(), *optimizer.moments()[0], *optimizer.moments()[1]]
    return [variable.numpy() for variable in variables]


@pytest.fixture
def trained(small_config):
    """A model and an optimizer with state that no initialiser makes."""
    model, optimizer = _model_and_optimizer(small_config)
    rng = np.random.default_rng(0)
    for variable in (*named_weights(model).values(), *optimizer.moments()[0], *optimizer.moments()[1]):
        variable.assign(rng.normal(size=variable.shape))
    return model, optimizer


def _save(folder: CheckpointFolder, trained, *steps: int) -> list[str]:
    return [folder.save(*trained, dataclasses.replace(STATE, step=step, examples_seen=8 * step)) for step in steps]


def test_what_is_saved_is_restored_bit_by_bit(trained, small_config, tmp_path):
    folder = CheckpointFolder(str(tmp_path))
    _save(folder, trained, 7)
    fresh = _model_and_optimizer(small_config)
    state = folder.restore_latest(*fresh)
    assert state == dataclasses.replace(STATE, step=7, examples_seen=56)
    assert int(fresh[1].iterations.numpy()) == 7
    for before, after in zip(_values(*trained), _values(*fresh), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_link_to_a_checkpoint_of_another_run_is_removed_alone(trained, tmp_path):
    (old,) = _save(CheckpointFolder(str(tmp_path / "old")), trained, 7)
    (tmp_path / "new").mkdir()
    os.symlink(old, tmp_path / "new" / os.path.basename(old))
    folder = CheckpointFolder(str(tmp_path / "new"), keep_max=1)
    _save(folder, trained, 8)
    assert os.listdir(tmp_path / "new") == ["checkpoint-00000008"]
    run_checkpoints.check_soundness(old)
    os.symlink(old, tmp_path / "new" / os.path.basename(old))
    _save(folder, trained, 7)
    assert not os.path.islink(folder.path(7))
    run_checkpoints.check_soundness(old)


def test_an_incomplete_checkpoint_is_never_read_and_is_cleared_away(trained, small_config, tmp_path):
    folder = CheckpointFolder(str(tmp_path))
    first, second = _save(folder, trained, 1, 2)
    os.remove(os.path.join(second, "checkpoint.json"))
    assert folder.all() == [first]
    assert folder.restore_latest(*_model_and_optimizer(small_config)).step == 1
    _save(folder, trained, 3)
    assert not os.path.exists(second)


DATA, INDEX = "data-00000-of-00001", "index"


def _cut(path):
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) // 2)


def _flip(path):
    """Flips one bit in the middle of the file."""
    flip_bit(path, os.path.getsize(path) // 2, bit=4)


def _garble(path):
    with open(path, "w") as file:
        file.write("[1, 2")


def _list(path):
    with open(path, "w") as file:
        file.write("[1, 2]")


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        *(
            (f"{part}.{kind}", how)
            for part in ("model", "optimizer")
            for kind in (DATA, INDEX)
            for how in (_cut, _flip)
        ),
        *((f"{part}.{kind}", os.remove) for part in ("model", "optimizer") for kind in (DATA, INDEX)),
        *(("checkpoint.json", how) for how in (_cut, _garble, _list, os.remove)),
    ],
)
def test_a_damaged_checkpoint_gives_way_to_the_one_before(trained, small_config, tmp_path, file, damage, caplog):
    folder = CheckpointFolder(str(tmp_path))
    _, second = _save(folder, trained, 1, 2)
    damage(os.path.join(second, file))
    fresh = _model_and_optimizer(small_config)
    assert folder.restore_latest(*fresh).step == 1
    for before, after in zip(_values(*trained), _values(*fresh), strict=True):
        np.testing.assert_array_equal(before, after)
    # Without checkpoint.json it was never finished, and is no fault.
    assert ("is passed over" in caplog.text) == (damage is not os.remove or file != "checkpoint.json")


def test_a_damaged_evaluation_is_passed_over_and_what_may_be_the_best_is_kept(trained, tmp_path):
    folder = CheckpointFolder(str(tmp_path), keep_max=1)
    (first,) = _save(folder, trained, 1)
    write_evaluation(first, {"masked_lm_accuracy": 0.5})
    for damage in (_cut, _list, _garble):
        damage(os.path.join(first, "evaluation.json"))
        assert folder.best() is None
    (second,) = _save(folder, trained, 2)
    assert folder.all() == [first, second]
    # Evaluated again, it is the best or it goes.
    write_evaluation(first, {"masked_lm_accuracy": 0.1})
    write_evaluation(second, {"masked_lm_accuracy": 0.2})
    (third,) = _save(folder, trained, 3)
    assert folder.all() == [second, third]


def test_checkpoints_of_later_steps_go_when_the_run_went_on_from_an_earlier_one(trained, small_config, tmp_path):
    folder = CheckpointFolder(str(tmp_path), keep_max=2)
    _, second, third = _save(folder, trained, 4, 8, 12)
    _flip(os.path.join(third, f"model.{DATA}"))
    assert folder.restore_latest(*_model_and_optimizer(small_config)).step == 8
    (new,) = _save(folder, trained, 10)
    assert folder.all() == [second, new]


def test_the_removal_of_a_checkpoint_begins_with_what_makes_it_one(trained, tmp_path, monkeypatch):
    folder = CheckpointFolder(str(tmp_path), keep_max=1)
    (first,) = _save(folder, trained, 1)

    def cut_off(path, **_):
        if os.path.exists(path):
            os.remove(os.path.join(path, "model.index"))
            raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", cut_off)
    with pytest.raises(KeyboardInterrupt):
        _save(folder, trained, 2)
    assert os.path.exists(first)
    assert folder.all() == [folder.path(2)]


def test_a_checkpoint_of_an_earlier_version_is_read(trained, small_config, tmp_path, caplog):
    folder = CheckpointFolder(str(tmp_path))
    (only,) = _save(folder, trained, 3)
    path = os.path.join(only, "checkpoint.json")
    with open(path) as file:
        values = json.load(file)
    for name in ("nonfinite_steps", "loss_scale", "format_version", "files", "sha256"):
        del values[name]
    with open(path, "w") as file:
        json.dump(values, file)
    state = folder.restore_latest(*_model_and_optimizer(small_config))
    assert (state.step, state.nonfinite_steps, state.loss_scale) == (3, 0, None)
    assert "is of an earlier version, without digests" in caplog.text


def test_one_flipped_bit_is_noticed(trained, small_config, tmp_path):
    folder = CheckpointFolder(str(tmp_path))
    (only,) = _save(folder, trained, 1)
    flip_bit(os.path.join(only, TENSORS), 100)
    with pytest.raises(InputError, match="is damaged"):
        folder.restore_latest(*_model_and_optimizer(small_config))


def test_the_newest_and_the_best_are_kept(trained, tmp_path):
    folder = CheckpointFolder(str(tmp_path), keep_max=2)
    (best,) = _save(folder, trained, 1)
    write_evaluation(best, {"masked_lm_accuracy": 0.9})
    worse = _save(folder, trained, 2)[0]
    write_evaluation(worse, {"masked_lm_accuracy": 0.1})
    _save(folder, trained, 3, 4)
    assert [os.path.basename(path) for path in folder.all()] == [
        "checkpoint-00000001",
        "checkpoint-00000003",
        "checkpoint-00000004",
    ]
    assert folder.best() == best
    assert run_checkpoints.find_checkpoint(str(tmp_path)) == best
    assert run_checkpoints.find_checkpoint(best) == best


def test_of_those_that_stay_the_best_is_kept_and_not_a_later_one(trained, tmp_path, caplog):
    folder = CheckpointFolder(str(tmp_path), keep_max=1)
    for step, accuracy in ((1, 0.3), (2, 0.2), (4, 0.5)):
        (path,) = _save(CheckpointFolder(str(tmp_path), keep_max=0), trained, step)
        write_evaluation(path, {"masked_lm_accuracy": accuracy})
    # The run went on from 2: 4 was damaged.
    _save(folder, trained, 3)
    assert [run_checkpoints.step_of(path) for path in folder.all()] == [1, 3]
    assert folder.choose(run_checkpoints.step_of) == 1
    assert f"{folder.path(3)} is not evaluated; {folder.path(1)} is the best of those that are" in caplog.text


def test_no_checkpoint_is_none(small_config, tmp_path):
    assert CheckpointFolder(str(tmp_path)).restore_latest(*_model_and_optimizer(small_config)) is None
    assert run_checkpoints.find_checkpoint(str(tmp_path / "nothing")) is None


def test_another_optimizer_is_refused(trained, small_config, tmp_path):
    folder = CheckpointFolder(str(tmp_path))
    _save(folder, trained, 1)
    with pytest.raises(InputError, match="--optimizer=lamb, this run has adamw"):
        folder.restore_latest(*_model_and_optimizer(small_config, "adamw"))


@pytest.mark.parametrize(
    "changes", [{"num_hidden_layers": 3}, {"num_attention_heads": 4}, {"hidden_act": "relu", "num_hidden_layers": 6}]
)
def test_another_model_is_refused_though_the_shapes_fit(trained, small_config, tmp_path, changes, caplog):
    folder = CheckpointFolder(str(tmp_path))
    _save(folder, trained, 1, 2)
    model, optimizer = _model_and_optimizer(dataclasses.replace(small_config, **changes))
    before = _values(model, optimizer)
    for refused in (
        lambda: folder.restore_latest(model, optimizer),
        lambda: run_checkpoints.load_model_weights(folder.path(2), model),
    ):
        with pytest.raises(InputError) as error:
            refused()
        for key, value in changes.items():
            assert f"{key}={getattr(small_config, key)!r}" in str(error.value)
            assert f"{key}={value!r}" in str(error.value)
        assert "\n" not in str(error.value)
    # It is no damage, so no earlier checkpoint is tried.
    assert "passed over" not in caplog.text
    for one, other in zip(before, _values(model, optimizer), strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_dropout_and_another_name_of_gelu_are_the_same_model(trained, small_config, tmp_path, caplog):
    folder = CheckpointFolder(str(tmp_path))
    _save(folder, trained, 1)
    changed = dataclasses.replace(small_config, hidden_dropout_prob=0.0, hidden_act="gelu_new", initializer_range=0.5)
    assert folder.restore_latest(*_model_and_optimizer(changed)).step == 1
    assert "was trained with hidden_dropout_prob=0.1, this run goes on with 0.0" in caplog.text


def test_a_checkpoint_in_the_folder_of_another_step_is_damaged(trained, small_config, tmp_path):
    folder = CheckpointFolder(str(tmp_path))
    (first,) = _save(folder, trained, 1)
    os.rename(first, folder.path(5))
    with pytest.raises(DamagedError, match="is of step 1, its folder's name says 5"):
        folder.restore_latest(*_model_and_optimizer(small_config))


def test_a_damaged_checkpoint_does_not_stand_for_its_run(trained, tmp_path, caplog):
    folder = CheckpointFolder(str(tmp_path))
    first, second, third = _save(folder, trained, 1, 2, 3)
    for path, accuracy in ((first, 0.2), (second, 0.9), (third, 0.1)):
        write_evaluation(path, {"masked_lm_accuracy": accuracy})
    assert run_checkpoints.find_checkpoint(str(tmp_path)) == second
    _flip(os.path.join(second, "albert_config.json"))
    assert run_checkpoints.find_checkpoint(str(tmp_path)) == first
    assert f"{second} is passed over" in caplog.text
    _flip(os.path.join(first, "checkpoint.json"))
    _flip(os.path.join(third, "model.index"))
    caplog.clear()
    with pytest.raises(DamagedError, match="checkpoint-00000002"):
        run_checkpoints.find_checkpoint(str(tmp_path))
    # What is raised is not said twice.
    assert caplog.text == ""


def test_a_failed_save_leaves_nothing(trained, tmp_path, monkeypatch):
    folder = CheckpointFolder(str(tmp_path))

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_checkpoints, "write_state", fail)
    with pytest.raises(OSError, match="No space left"):
        _save(folder, trained, 1)
    assert os.listdir(tmp_path) == []
