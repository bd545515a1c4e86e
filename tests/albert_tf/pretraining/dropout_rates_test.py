"""Rates of dropout by flags: they take effect, are written down, are told of when they change, and stay otherwise."""

import dataclasses
import logging
import os
import shutil

import numpy as np
import pytest

from albert_tf.checkpoints.model_agreement import tell_of_other_dropout, with_dropout
from albert_tf.checkpoints.newest_state import newest_config
from albert_tf.config import AlbertConfig
from albert_tf.pretraining import pretrain
from albert_tf.pretraining.pretrain import run
from albert_tf.runtime.errors import InputError

STEPS = 12
NONE = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def _rates(config):
    return config.hidden_dropout_prob, config.attention_probs_dropout_prob


def _told(caplog):
    return [line for record in caplog.records if "dropout_prob" in (line := record.getMessage())]


def _leave_the_first_checkpoint(output_dir):
    for step in (8, STEPS):
        shutil.rmtree(os.path.join(output_dir, f"checkpoint-{step:08d}"))


def test_a_rate_is_that_of_the_flag_else_of_the_run_else_of_the_config(settings, small_config, caplog):
    asked = dataclasses.replace(settings, hidden_dropout_prob=0.3)
    before = dataclasses.replace(small_config, hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.0)
    assert _rates(with_dropout(small_config, settings)) == (0.1, 0.1)
    assert _rates(with_dropout(small_config, asked)) == (0.3, 0.1)
    assert _told(caplog) == []
    assert _rates(with_dropout(small_config, settings, before)) == (0.2, 0.0)
    assert _rates(with_dropout(small_config, asked, before)) == (0.3, 0.0)
    assert _told(caplog) == [
        "the run goes on with hidden_dropout_prob=0.2 and attention_probs_dropout_prob=0.0, as it was trained, not "
        "with the config's 0.1 and 0.1; give --hidden_dropout_prob and --attention_probs_dropout_prob to change that",
        "the run goes on with attention_probs_dropout_prob=0.0, as it was trained, not with the config's 0.1; give "
        "--attention_probs_dropout_prob to change that",
    ]


def test_a_rate_of_one_is_refused(settings):
    with pytest.raises(InputError, match=r"^--hidden_dropout_prob must lie in \[0, 1\). Received 1.0.$"):
        dataclasses.replace(settings, hidden_dropout_prob=1.0)


def test_a_run_is_made_of_these_rates(settings, monkeypatch):
    class Found(Exception):
        pass

    def open_records(_, config):
        raise Found(*_rates(config))

    monkeypatch.setattr(pretrain, "open_all_records", open_records)
    with pytest.raises(Found) as found:
        run(dataclasses.replace(settings, hidden_dropout_prob=0.0))
    assert found.value.args == (0.0, 0.1)


def test_a_change_is_one_line(small_config, caplog):
    tell_of_other_dropout(dataclasses.replace(small_config, **NONE), small_config, "FOLDER")
    tell_of_other_dropout(small_config, small_config, "FOLDER")
    assert _told(caplog) == [
        "FOLDER was trained with hidden_dropout_prob=0.1 and attention_probs_dropout_prob=0.1, this run goes on with "
        "0.0 and 0.0"
    ]


@pytest.mark.slow
def test_dropout_removed_in_the_middle_of_a_run_is_said_in_one_line(finished, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    run(dataclasses.replace(finished, num_train_steps=STEPS + 1, **NONE))
    (line,) = _told(caplog)
    assert line.endswith(
        "was trained with hidden_dropout_prob=0.1 and attention_probs_dropout_prob=0.1, "
        "this run goes on with 0.0 and 0.0"
    )
    written = AlbertConfig.from_json_file(os.path.join(finished.output_dir, "albert_config.json"))
    assert _rates(written) == _rates(newest_config(finished.output_dir)) == (0.0, 0.0)


@pytest.mark.slow
def test_a_run_that_is_told_nothing_more_keeps_its_rates_to_the_bit(settings, read_weights, caplog):
    told = dataclasses.replace(settings, hidden_dropout_prob=0.4, attention_probs_dropout_prob=0.0)
    run(told)
    whole = read_weights(settings.output_dir)
    assert _told(caplog) == []
    _leave_the_first_checkpoint(settings.output_dir)
    run(settings)
    for name, value in read_weights(settings.output_dir).items():
        np.testing.assert_array_equal(value, whole[name], err_msg=name)
    (line,) = _told(caplog)
    assert (
        "the run goes on with hidden_dropout_prob=0.4 and attention_probs_dropout_prob=0.0, as it was trained" in line
    )
    _leave_the_first_checkpoint(settings.output_dir)
    run(told)
    assert _told(caplog)[1:] == []
    for name, value in read_weights(settings.output_dir).items():
        np.testing.assert_array_equal(value, whole[name], err_msg=name)


@pytest.mark.slow
def test_a_rate_takes_effect(finished, tmp_path, read_weights):
    by_config, found = read_weights(finished.output_dir), {}
    for rate in (0.0, 0.1, 0.5):
        output_dir = str(tmp_path / f"rate_{rate}")
        rates = dict.fromkeys(NONE, rate)
        run(dataclasses.replace(finished, output_dir=output_dir, **rates))
        found[rate] = read_weights(output_dir)
    name = "albert/encoder/block_0_0/attention/query_kernel"
    np.testing.assert_array_equal(found[0.1][name], by_config[name])
    for one, other in ((0.0, 0.1), (0.1, 0.5), (0.0, 0.5)):
        assert np.abs(found[one][name] - found[other][name]).max() > 1e-4
