"""A record that makes the loss not a number: which step and records the error names, and what is left as it was."""

import dataclasses
import json
import os

import numpy as np
import pytest

from albert_tf.checkpoints import run_checkpoints
from albert_tf.inputs.record_origin import find_records
from albert_tf.pretraining.pretrain import run
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.records.example_messages import decode_example, encode_example
from albert_tf.records.record_files import frame, read_records
from albert_tf.runtime.errors import InputError

STEPS, BATCH = 6, 8
BAD_RECORD = 17


@pytest.fixture
def settings(settings, write_records, small_config) -> PretrainingSettings:
    """Settings of a run of one epoch in which one record's prediction weights are not numbers."""
    changes = {"num_hidden_layers": 1, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    dataclasses.replace(small_config, **changes).to_json_file(settings.albert_config_file)
    path = write_records("train", STEPS * BATCH)
    messages = [message for _, message in read_records(path)]
    features = decode_example(messages[BAD_RECORD])
    features["masked_lm_weights"] = np.array([np.nan] * 4, np.float32)
    messages[BAD_RECORD] = encode_example(features)
    with open(path, "wb") as file:
        file.write(b"".join(map(frame, messages)))
    every_step = {"save_checkpoints_steps": 1, "keep_checkpoint_max": 0}
    sizes = {"train_batch_size": BATCH, "num_train_steps": STEPS, "log_steps": STEPS}
    return dataclasses.replace(settings, input_file=path, num_warmup_steps=0, **sizes, **every_step)


def _report(settings):
    (name,) = [name for name in os.listdir(settings.output_dir) if name.startswith("nonfinite-")]
    with open(os.path.join(settings.output_dir, name)) as file:
        return json.load(file)


def test_a_batch_s_records_are_found(settings):
    places = find_records([settings.input_file], STEPS * BATCH, settings.random_seed, 0, STEPS * BATCH)
    assert sorted(place["record"] for place in places) == list(range(STEPS * BATCH))
    offsets = [offset for offset, _ in read_records(settings.input_file)]
    assert all(offsets[place["record"]] == place["offset"] for place in places)
    part = find_records([settings.input_file], STEPS * BATCH, settings.random_seed, 20, 5)
    assert part == places[20:25]


@pytest.mark.slow
def test_stop_names_the_step_and_its_records(settings):
    settings = dataclasses.replace(settings, save_checkpoints_steps=100)
    with pytest.raises(InputError, match=r"the loss is nan in step \d \(learning rate") as error:
        run(settings)
    assert "\n" not in str(error.value)
    assert "--nonfinite=skip" in str(error.value)
    report = _report(settings)
    assert f"in step {report['step']} " in str(error.value)
    assert BAD_RECORD in [place["record"] for place in report["records"]]
    assert len(report["records"]) == BATCH
    assert report["first_example"] == report["step"] * BATCH
    assert report["metrics"]["loss"] == "nan"
    assert report["learning_rate"] == pytest.approx(0.01 * (1 - report["step"] / STEPS))
    assert not run_checkpoints.CheckpointFolder(settings.output_dir).all()


@pytest.fixture
def skipping(settings):
    """Settings of a run that skips a step and is over."""
    settings = dataclasses.replace(settings, nonfinite="skip")
    run(settings)
    return settings


def test_skip_leaves_weights_and_moments_and_counts_the_step(skipping, read_weights):
    folder = skipping.output_dir
    bad = _report(skipping)["step"]
    before, after = read_weights(folder, bad) if bad else None, read_weights(folder, bad + 1)
    for name, value in after.items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
    end = read_weights(folder, STEPS)
    assert all(np.isfinite(value).all() for value in end.values())
    assert any((end[name] != after[name]).any() for name in end)
    state = run_checkpoints.read_state(os.path.join(folder, f"checkpoint-{STEPS:08d}"))
    assert (state.step, state.nonfinite_steps, state.examples_seen) == (STEPS, 1, STEPS * BATCH)


@pytest.mark.slow
def test_micro_batches_without_coming_back_in_between_skip_the_same_step(skipping, read_weights, tmp_path):
    other = dataclasses.replace(
        skipping, output_dir=str(tmp_path / "other"), gradient_accumulation_steps=4, save_checkpoints_steps=100
    )
    run(other)
    assert _report(other)["step"] == _report(skipping)["step"]
    end = read_weights(skipping.output_dir, STEPS)
    for name, value in read_weights(other.output_dir, STEPS).items():
        np.testing.assert_allclose(value, end[name], atol=1e-4, err_msg=name)


@pytest.mark.slow
def test_skip_has_a_limit(settings):
    with pytest.raises(InputError, match="such steps: 1, --max_nonfinite_steps=0"):
        run(dataclasses.replace(settings, nonfinite="skip", max_nonfinite_steps=0))
