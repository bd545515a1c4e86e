"""A TPU that is not there, does not answer, or is none: one line each, in time."""

import socket
import threading
from unittest import mock

import pytest
import tensorflow as tf
from absl import flags

from albert_tf.runtime.command import EXIT_WORKER_LOST
from albert_tf.runtime.errors import InputError, RunStopped
from albert_tf.training import tpu
from albert_tf.training.cluster import Cluster
from albert_tf.training.strategy import TpuAddress, explain_lost_worker, make_strategy
from albert_tf.training.training_flags import asks_for_tpu, define_training_flags


@pytest.fixture
def resolver(monkeypatch):
    """A function that lets every resolver have an address, or fail."""

    def make(address=None, error=None):
        fake = mock.Mock(side_effect=error, return_value=mock.Mock(master=lambda: address))
        monkeypatch.setattr(tf.distribute.cluster_resolver, "TPUClusterResolver", fake)

    return make


@pytest.fixture
def listener():
    """A socket at which somebody listens and never answers."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        yield one


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("Missing runtime dependency. Run `pip install cloud-tpu-client` to fix."), "cloud-tpu-client"),
        (ValueError("Please provide a TPU Name to connect to."), "Please provide a TPU Name"),
        (OSError("no route to the metadata server"), "no route"),
    ],
)
def test_a_resolver_s_error_is_one_line(resolver, error, message):
    resolver(error=error)
    with pytest.raises(InputError, match=message) as told:
        make_strategy("auto", TpuAddress("x", "zone", "project"))
    assert "under --tpu_name=x" in str(told.value)
    assert "\n" not in str(told.value)


def test_an_address_that_does_not_answer_is_given_up(resolver, monkeypatch, free_addresses):
    monkeypatch.setattr(tpu, "_SECONDS_TO_ANSWER", 0.2)
    [address] = free_addresses(1)
    resolver(f"grpc://{address}")
    with pytest.raises(InputError, match=f"{address} does not answer in 0.2 s .*refused"):
        make_strategy("tpu", TpuAddress(f"grpc://{address}"))


def test_a_listener_that_lets_nobody_in_is_given_up(resolver, monkeypatch, listener):
    monkeypatch.setattr(tpu, "_SECONDS_TO_ANSWER", 0.2)
    given_up = threading.Event()
    monkeypatch.setattr(tf.config, "experimental_connect_to_cluster", lambda _: given_up.wait())
    resolver(f"grpc://127.0.0.1:{listener.getsockname()[1]}")
    with pytest.raises(InputError, match="what listens there is no TPU"):
        make_strategy("tpu", TpuAddress("x"))
    given_up.set()


def test_tensorflow_without_tpus_says_so(resolver, monkeypatch):
    error = tf.errors.InvalidArgumentError(None, None, "No OpKernel was registered for ConfigureDistributedTPU")
    monkeypatch.setattr(tf.config, "experimental_connect_to_cluster", mock.Mock())
    monkeypatch.setattr(tf.tpu.experimental, "initialize_tpu_system", mock.Mock(side_effect=error))
    resolver("")
    with pytest.raises(InputError, match="this TensorFlow knows no TPU"):
        make_strategy("tpu", TpuAddress("local"))


def test_a_tpu_that_was_taken_away_is_started_again():
    gone = tf.errors.UnavailableError(None, None, "Socket closed")
    message = "the TPU was lost .UnavailableError.; start the command again"
    with pytest.raises(RunStopped, match=message) as told, explain_lost_worker(Cluster(), is_tpu=True):
        raise gone
    assert told.value.exit_code == EXIT_WORKER_LOST
    with pytest.raises(tf.errors.UnavailableError), explain_lost_worker(Cluster()):
        raise gone


def test_an_exchange_of_jax_that_breaks_off_is_a_lost_worker_and_other_mistakes_are_not():
    workers = Cluster(("localhost:1", "localhost:2"), 0)
    message = "another worker was lost .broken exchange.; start all workers"
    with pytest.raises(RunStopped, match=message), explain_lost_worker(workers):
        raise ValueError("UNKNOWN: Gloo AllGather failed: Connection reset by peer")
    with pytest.raises(ValueError, match="a mistake"), explain_lost_worker(workers):
        raise ValueError("a mistake")


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ([], False),
        (["--tpu_name=x"], True),
        (["--use_tpu"], True),
        (["--nouse_tpu", "--tpu_name=x"], False),
        (["--distribution_strategy=tpu"], True),
    ],
)
def test_a_name_asks_for_a_tpu(given, asked):
    values = flags.FlagValues()
    define_training_flags(values)
    values(["command", *given])
    assert asks_for_tpu(values) == asked
