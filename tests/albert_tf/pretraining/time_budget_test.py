"""A run in minutes: it ends in time, says what it chose, and is the same run when it is resumed."""

import dataclasses
import logging
import os
import shutil
import time

import numpy as np
import pytest

from albert_tf.checkpoints.run_checkpoints import CheckpointFolder, read_state
from albert_tf.pretraining import time_budget
from albert_tf.pretraining.pretrain import run
from albert_tf.runtime.errors import InputError


@pytest.fixture
def short_trial(monkeypatch):
    monkeypatch.setattr(time_budget, "_TRIAL_SECONDS", (0.2, 0.2))


@pytest.mark.slow
def test_a_run_of_minutes_plans_its_steps_once(settings, short_trial, read_weights, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    settings = dataclasses.replace(
        settings, train_minutes=1.0, warmup_proportion=0.1, save_checkpoints_steps=40, log_steps=1000
    )
    began = time.monotonic()
    run(settings)
    assert time.monotonic() - began < 2 * 60
    folders = CheckpointFolder(settings.output_dir).all()
    state = read_state(folders[-1])
    assert state.step == state.planned_steps > 40
    assert f"so the run has {state.step} steps: {round(0.1 * state.step)} of warm-up, decay to the end" in caplog.text
    # Cut off and resumed, with a different number of minutes, it has as many steps, and the same weights.
    whole = read_weights(settings.output_dir, state.step)
    shutil.rmtree(folders[-1])
    run(dataclasses.replace(settings, train_minutes=100.0))
    for name, value in read_weights(settings.output_dir, state.step).items():
        np.testing.assert_array_equal(value, whole[name], err_msg=name)
    assert f"was made {state.step} steps when the run began" in caplog.text


@pytest.mark.parametrize(
    "lengths",
    [pytest.param("16", marks=pytest.mark.golden), pytest.param("8:0.5,16:0.5", marks=pytest.mark.slow)],
)
def test_what_the_trial_compiled_is_the_same_run_as_one_of_as_many_steps(
    lengths, settings, short_trial, monkeypatch, write_unmasked_records, read_weights, tmp_path
):
    measure = time_budget._measure

    def as_for_twelve(run, settings):
        measure(run, settings)
        return 60 * settings.train_minutes / 12.5

    monkeypatch.setattr(time_budget, "_measure", as_for_twelve)
    write_unmasked_records("unmasked", 50)
    changes = {"input_file": str(tmp_path / "unmasked*"), "length_schedule": lengths}
    settings = dataclasses.replace(settings, warmup_proportion=0.25, **changes)
    of_minutes = dataclasses.replace(settings, train_minutes=100.0)
    of_steps = dataclasses.replace(settings, num_train_steps=12, output_dir=str(tmp_path / "of_steps"))
    run(of_minutes)
    run(of_steps)
    state = read_state(CheckpointFolder(of_minutes.output_dir).all()[-1])
    assert state.step == state.planned_steps == 12
    planned = read_weights(of_steps.output_dir, 12)
    for name, value in read_weights(of_minutes.output_dir, 12).items():
        np.testing.assert_array_equal(value, planned[name], err_msg=name)


def test_nothing_is_timed_where_nothing_is_trained(finished, monkeypatch, read_log):
    monkeypatch.setattr(time_budget, "_measure", None)
    run(dataclasses.replace(finished, do_train=False, do_eval=True, train_minutes=1.0))
    assert [line["step"] for line in read_log(finished.output_dir) if line["kind"] == "eval"][-1] == 12


def test_minutes_that_are_not_enough_are_one_line_and_leave_nothing(settings, short_trial):
    with pytest.raises(InputError, match=r"--train_minutes=0.001: a step takes .* leaves 0 steps; give more") as error:
        run(dataclasses.replace(settings, train_minutes=0.001))
    assert "\n" not in str(error.value)
    assert not CheckpointFolder(settings.output_dir).all()
    assert not os.path.exists(os.path.join(settings.output_dir, "albert_config.json"))
