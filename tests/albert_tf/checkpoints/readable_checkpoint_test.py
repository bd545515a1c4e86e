"""Damage that only shows when tensors are read: a run has another checkpoint then, one that was named has not."""

import os

import pytest
from bit_flips import TENSORS, flip_bit

from albert_tf.checkpoints.readable_checkpoint import find_readable_checkpoint, use_checkpoint
from albert_tf.checkpoints.run_checkpoints import find_checkpoint, read_weights
from albert_tf.runtime.errors import DamagedError


def test_damaged_tensors_are_passed_over_where_they_are_read(finished, caplog):
    folder = finished.output_dir
    before, newest = (os.path.join(folder, f"checkpoint-{step:08d}") for step in (8, 12))
    assert find_readable_checkpoint(folder) == newest
    flip_bit(os.path.join(newest, TENSORS))
    assert find_checkpoint(folder) == newest
    assert find_readable_checkpoint(folder) == before
    assert f"{newest} is passed over" in caplog.text
    found = use_checkpoint(folder, read_weights)
    assert all((found[name] == value).all() for name, value in read_weights(before).items())
    with pytest.raises(DamagedError, match=f"{newest}/model: the checkpoint is damaged"):
        use_checkpoint(newest, read_weights)


def test_where_there_is_no_checkpoint_there_is_none_to_read(tmp_path):
    assert find_readable_checkpoint(str(tmp_path)) is None
