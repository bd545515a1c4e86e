"""The halves of a batch side by side: where they are chosen, that a run keeps to it, and that it is the same run."""

import dataclasses
import json
import logging
from pathlib import Path

import numpy as np
import pytest

from albert_tf.checkpoints.run_checkpoints import CheckpointFolder, read_state, read_weights
from albert_tf.pretraining import batch_halves
from albert_tf.pretraining.batch_halves import choose_batch_halves, threads_of_steps
from albert_tf.pretraining.pretrain import run
from albert_tf.runtime import operation_threads
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.training import machine
from albert_tf.training import strategy as strategy_module
from albert_tf.training.strategy import make_strategy


@pytest.fixture
def free_core(monkeypatch):
    """Lets the machine have two cores, and TensorFlow one thread for an operation."""
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    monkeypatch.setattr(batch_halves, "count_cores", lambda: 2)
    monkeypatch.setattr(operation_threads, "count_cores", lambda: 2)
    monkeypatch.setattr(machine, "leaves_a_core_free", lambda _: True)
    # The batches of tests are smaller than those that gain by it.
    monkeypatch.setattr(batch_halves, "SMALLEST_BATCH", 1)


@pytest.fixture
def choose(settings):
    """A function of changes to `settings`, to what is chosen for such a run."""
    strategy = make_strategy("one_device", None)
    return lambda **changes: choose_batch_halves(dataclasses.replace(settings, **changes), strategy).batch_halves


def _newest(settings):
    return CheckpointFolder(settings.output_dir).all()[-1]


def test_a_large_batch_is_computed_in_halves_where_a_core_is_free(choose, free_core, monkeypatch):
    assert choose() == "true"
    assert choose(batch_halves="false") == "false"
    assert choose(gradient_accumulation_steps=2) == choose(jit_compile="true") == choose(backend="jax") == "false"
    assert choose(batch_schedule="7:0.5,8:0.5") == "false"
    monkeypatch.setattr(batch_halves, "SMALLEST_BATCH", 1024)
    assert choose() == "false"
    assert choose(batch_halves="true") == "true"


def test_a_batch_stays_whole_where_threads_share_an_operation(choose, monkeypatch):
    monkeypatch.setattr(machine, "leaves_a_core_free", lambda _: False)
    assert choose() == "false"


def test_a_small_model_has_one_thread_for_an_operation(settings, free_core, monkeypatch, tmp_path):
    def threads(**changes):
        return threads_of_steps(dataclasses.replace(settings, **changes))

    assert [threads(batch_halves=asked) for asked in ("auto", "true", "false")] == [1, 1, None]
    large = json.loads(Path(settings.albert_config_file).read_text()) | {"hidden_size": 768, "num_attention_heads": 12}
    (tmp_path / "large.json").write_text(json.dumps(large))
    large = {"albert_config_file": str(tmp_path / "large.json")}
    assert [threads(**large, batch_halves=asked) for asked in ("auto", "true")] == [None, 1]
    # Where no halves are computed, one thread would leave a core idle.
    for whole in ({"gradient_accumulation_steps": 2}, {"train_batch_size": 7}, {"jit_compile": "true"}):
        assert threads(**whole) is None
    assert threads(output_dir="gs://bucket/run") is None
    monkeypatch.setattr(batch_halves, "SMALLEST_BATCH", 1024)
    assert threads() is None
    monkeypatch.setattr(batch_halves, "count_cores", lambda: 4)
    assert threads(batch_halves="true") is None
    monkeypatch.setattr(batch_halves, "count_cores", lambda: 2)
    monkeypatch.setenv("TF_CONFIG", "{}")
    assert threads(batch_halves="true") is None


class _Replicas:
    """A strategy of so many replicas, of which nothing else is asked."""

    def __init__(self, number):
        self.num_replicas_in_sync = number


def test_every_replica_has_halves_of_its_share(settings, free_core, monkeypatch):
    six = dataclasses.replace(settings, train_batch_size=6, batch_halves="true")
    assert choose_batch_halves(six, _Replicas(1)) is six
    with pytest.raises(InputError, match="the 2 replicas .* no halves of it; .* multiples of 4"):
        choose_batch_halves(six, _Replicas(2))
    monkeypatch.setattr(batch_halves, "_had_halves", lambda _: True)
    resumed = dataclasses.replace(six, batch_halves="auto")
    assert [choose_batch_halves(resumed, _Replicas(n)).batch_halves for n in (1, 2, 3)] == ["true", "false", "true"]


def test_jax_computes_no_halves(settings, free_core, monkeypatch):
    monkeypatch.setattr(strategy_module, "runs_on_jax", lambda: True)
    assert choose_batch_halves(settings, _Replicas(1)).batch_halves == "false"
    with pytest.raises(FlagError, match="batch_halves=true is for --backend=tensorflow"):
        choose_batch_halves(dataclasses.replace(settings, batch_halves="true"), _Replicas(1))


def test_a_run_in_halves_is_the_same_run_and_keeps_to_it(settings, free_core, caplog, monkeypatch):
    caplog.set_level(logging.INFO, logger="absl")
    # Of dropout either half has masks of its own.
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    short = dataclasses.replace(settings, num_train_steps=4, **no_dropout)
    whole = dataclasses.replace(short, batch_halves="false", output_dir=f"{settings.output_dir}-whole")
    run(short)
    run(whole)
    assert "the two halves of a batch are computed side by side" in caplog.text
    assert [read_state(_newest(one)).batch_halves for one in (short, whole)] == [True, False]
    found, wanted = read_weights(_newest(short)), read_weights(_newest(whole))
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, atol=2e-5, err_msg=name)
    # Elsewhere they go on as they began.
    monkeypatch.setattr(machine, "leaves_a_core_free", lambda _: False)
    strategy = make_strategy("one_device", None)
    assert choose_batch_halves(short, strategy).batch_halves == "true"
    assert choose_batch_halves(dataclasses.replace(short, backend="jax"), strategy).batch_halves == "false"
    monkeypatch.setattr(machine, "leaves_a_core_free", lambda _: True)
    resumed = dataclasses.replace(whole, batch_halves="auto")
    assert choose_batch_halves(resumed, strategy).batch_halves == "false"
    assert [threads_of_steps(one) for one in (resumed, short)] == [None, 1]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"gradient_accumulation_steps": 2}, FlagError, "gradient_accumulation_steps=2 do not go together"),
        ({"jit_compile": "true"}, FlagError, "jit_compile=true do not go together"),
        ({"backend": "jax"}, FlagError, "backend=jax do not go together"),
        ({"train_batch_size": 7}, InputError, "a batch of 7 examples of .* pieces has no halves; give an even number"),
        ({"batch_schedule": "5:0.5,8:0.5"}, InputError, "a batch of 5 examples of .* pieces has no halves"),
    ],
)
def test_what_has_no_halves_is_one_line(settings, changes, error, message):
    with pytest.raises(error, match=message):
        dataclasses.replace(settings, batch_halves="true", **changes)
