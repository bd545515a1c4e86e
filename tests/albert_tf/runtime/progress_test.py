"""Progress of a long job: a line now and then, with the rate and what is left by it; a bar on a terminal."""

import logging
import sys

import pytest

from albert_tf.runtime import progress
from albert_tf.runtime.progress import ByteProgress


@pytest.fixture
def clock(monkeypatch):
    """Seconds on the clock, as a list of one number."""
    seconds = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: seconds[0])
    return seconds


def test_a_line_now_and_then_has_the_rate_and_the_rest_by_it(clock, caplog):
    caplog.set_level(logging.INFO)
    with ByteProgress(100_000_000, "splitting") as bytes_read:
        bytes_read.advance(10_000_000)
        assert caplog.messages == []
        clock[0] += 20.0
        bytes_read.advance(30_000_000)
        # 40 MB in 20 s are 2 MB a second, at which 60 MB take 30 s.
        assert caplog.messages == ["splitting: 40 of 100 MB, 2.0 MB/s, 30 s to go"]
        clock[0] += 9.0
        bytes_read.advance(1)
    assert len(caplog.messages) == 1
    assert bytes_read.remaining == 59_999_999


def test_on_a_terminal_a_bar_takes_the_place_of_lines(clock, caplog, capsys, monkeypatch):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with ByteProgress(100, "splitting") as bytes_read:
        clock[0] += 20.0
        bytes_read.advance(100)
    assert caplog.messages == []
    assert "splitting: 100%" in capsys.readouterr().err
