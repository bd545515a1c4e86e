"""Saving and clearing away checkpoints, killed before any operation on files: no step is lost, no folder is gutted.

Small files stand in for the tensors, since a forked process cannot use TensorFlow.
"""

import dataclasses
import os
import types

import pytest

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import read_evaluation, write_evaluation
from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder
from albert_tf.config import AlbertConfig

STATE = TrainingState(step=0, examples_seen=0, random_seed=1, input_files=[], optimizer="lamb")


@pytest.fixture
def save(monkeypatch):
    """A function that saves a checkpoint of a step."""

    def write(prefix, tensors):
        for suffix in (".data-00000-of-00001", ".index"):
            with open(prefix + suffix, "w") as file:
                file.write("tensors")

    monkeypatch.setattr(run_checkpoints, "save_tensors", write)
    monkeypatch.setattr(run_checkpoints, "named_weights", lambda model: {})
    model = types.SimpleNamespace(name="model", weights=[], config=AlbertConfig(vocab_size=6))
    optimizer = types.SimpleNamespace(moments=lambda: ([], []))

    def save_step(folder: CheckpointFolder, step: int) -> str:
        return folder.save(model, optimizer, dataclasses.replace(STATE, step=step))

    return save_step


@pytest.mark.faults
def test_a_save_killed_anywhere_leaves_the_checkpoint_before_or_the_new_one(tmp_path, save, kill_before_each_operation):
    folder = CheckpointFolder(str(tmp_path), keep_max=1)
    best = save(folder, 1)
    write_evaluation(best, {"masked_lm_accuracy": 0.9})
    save(folder, 2)
    step, seen = 3, set()
    for count in kill_before_each_operation(lambda: save(folder, step)):
        complete = folder.all()
        for path in complete:
            run_checkpoints.check_soundness(path)
        newest = run_checkpoints.step_of(complete[-1])
        assert newest in (step - 1, step), count
        assert best in complete
        seen.add(newest - step)
        if newest == step:
            step += 1
    assert seen == {-1, 0}
    # The one that came to its end cleared away what all the others had left.
    assert folder.all() == [best, folder.path(step)]
    assert sorted(os.listdir(tmp_path)) == sorted(map(os.path.basename, folder.all()))
    assert sorted(os.listdir(folder.path(step))) == [
        "albert_config.json",
        "checkpoint.json",
        *(f"{part}.{kind}" for part in ("model", "optimizer") for kind in ("data-00000-of-00001", "index")),
    ]


@pytest.mark.faults
def test_an_evaluation_killed_anywhere_is_the_old_or_the_new_one(tmp_path, save, kill_before_each_operation):
    path = save(CheckpointFolder(str(tmp_path)), 1)
    write_evaluation(path, {"masked_lm_accuracy": 0.25})
    for _ in kill_before_each_operation(lambda: write_evaluation(path, {"masked_lm_accuracy": 0.5})):
        assert read_evaluation(path)["masked_lm_accuracy"] in (0.25, 0.5)
    assert read_evaluation(path)["masked_lm_accuracy"] == 0.5
    assert [name for name in os.listdir(path) if name.startswith(".")] == []
