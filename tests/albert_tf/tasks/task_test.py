"""The lengths and sizes of a task: those that would leave nothing of its texts or answers are refused."""

import dataclasses

import pytest

from albert_tf.runtime.errors import FlagError
from albert_tf.tasks.task import TaskSettings, Unsaid


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(TaskSettings)])
@pytest.mark.parametrize("value", [0, -1])
def test_a_length_below_one_is_refused_by_its_name(name, value):
    with pytest.raises(FlagError, match=f"--{name} must be at least 1. Received {value}."):
        TaskSettings(**{name: value})
    assert getattr(TaskSettings(**{name: 3}), name) == 3


def test_lengths_that_are_left_out_are_known_for_that():
    assert all(isinstance(getattr(TaskSettings(), field.name), Unsaid) for field in dataclasses.fields(TaskSettings))
