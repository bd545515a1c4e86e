"""The precision that a run chooses once, by what it measures on the machine."""

import dataclasses
import logging

import pytest

from albert_tf.checkpoints.run_checkpoints import CheckpointFolder, read_state
from albert_tf.pretraining.pretrain import run
from albert_tf.training import machine
from albert_tf.training.cluster import Cluster
from albert_tf.training.strategy import Agreement, make_strategy


@pytest.fixture
def peaks(monkeypatch):
    """The operations a second that a run measures, by precision."""
    found = {"float32": 100e9, "bfloat16": 170e9}
    monkeypatch.setattr(machine, "measure_matmul_peak", lambda _, dtype: found[dtype])
    return found


@pytest.fixture
def one_device():
    """The strategy of this machine alone, and the agreement of its only worker."""
    strategy = make_strategy("one_device", None)
    return strategy, Agreement(strategy, Cluster())


@pytest.mark.parametrize(("half", "chosen"), [(170e9, "bfloat16"), (120e9, "float32"), (60e9, "float32")])
def test_the_faster_precision_is_taken_if_it_is_clearly_faster(settings, peaks, one_device, half, chosen):
    peaks["bfloat16"] = half
    assert machine.choose_precision(dataclasses.replace(settings, precision="auto"), *one_device).precision == chosen


def test_a_precision_that_was_given_stays(settings, peaks, one_device):
    assert machine.choose_precision(settings, *one_device) is settings


def test_a_tpu_that_is_not_measured_computes_in_bfloat16(settings, peaks, one_device):
    peaks.update(float32=0.0, bfloat16=0.0)
    found = machine.choose_precision(dataclasses.replace(settings, precision="auto"), *one_device)
    assert found.precision == "bfloat16"


@pytest.mark.slow
def test_a_run_that_is_resumed_keeps_its_precision(settings, peaks, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    settings = dataclasses.replace(settings, precision="auto", num_train_steps=4)
    run(settings)
    assert read_state(CheckpointFolder(settings.output_dir).all()[-1]).precision == "bfloat16"
    peaks["bfloat16"] = 1.0
    run(dataclasses.replace(settings, num_train_steps=8))
    assert read_state(CheckpointFolder(settings.output_dir).all()[-1]).precision == "bfloat16"
    assert "bfloat16, as the run began" in caplog.text
