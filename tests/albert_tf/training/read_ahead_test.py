"""Batches of a JAX engine that are read while the device computes: which they are, and how long it waited for them."""

import time
import types

import numpy as np
import pytest

pytest.importorskip("jax", reason="jax is not installed: the extra [jax]")
pytestmark = pytest.mark.parity

SECONDS = 0.05


@pytest.fixture
def read_ahead(monkeypatch):
    """JaxSteps._read_ahead of an engine whose devices take arrays as they are."""
    from albert_tf.training.jax_steps import JaxSteps

    engine = types.SimpleNamespace(strategy=types.SimpleNamespace(share_out=lambda stacked, axis: stacked))
    return lambda *arguments, **more: JaxSteps._read_ahead(engine, *arguments, **more)


class Busy:
    """A result that is there after it was asked for so many times."""

    def __init__(self, asked):
        self._left = asked

    def is_ready(self):
        self._left -= 1
        return self._left < 0


def slow_batches():
    for number in range(100):
        time.sleep(SECONDS)
        yield {"input_ids": np.full((2, 3), number)}


def test_a_call_is_filled_up_with_its_last_batch(read_ahead):
    batches, placed, _ = read_ahead(slow_batches(), 3, 5)
    assert [batch["input_ids"][0, 0] for batch in batches] == [0, 1, 2]
    np.testing.assert_array_equal(placed["input_ids"][:, 0, 0], [0, 1, 2, 2, 2])


def test_nothing_is_read_where_no_step_is_left(read_ahead):
    assert read_ahead(slow_batches(), 0, 5, busy_until=Busy(0)) == ([], None, 0.0)


@pytest.mark.parametrize(
    ("busy_until", "waits"),
    [(None, 4), (Busy(0), 3), (Busy(2), 1), (Busy(4), 0)],
    ids=["idle from the start", "done at once", "done after three", "busy to the end"],
)
def test_only_the_time_in_which_the_device_is_done_is_waited(read_ahead, busy_until, waits):
    *_, waited = read_ahead(slow_batches(), 4, 4, busy_until=busy_until)
    assert waited >= waits * SECONDS
    assert (waited == 0) == (waits == 0)
