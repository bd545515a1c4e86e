"""Progress of a long job: a line now and then, with the rate and what is left by it; a bar on a terminal."""

import logging
import sys

import pytest

from albert_tf.runtime import progress
from albert_tf.runtime.progress import ByteProgress, RowProgress


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


def test_rows_are_counted_with_the_time_left_by_what_was_read(clock, caplog):
    caplog.set_level(logging.INFO)
    share = [0.0]
    with RowProgress("predicting", lambda: share[0]) as rows:
        rows.begin()
        clock[0] += 20.0
        share[0] = 0.25
        rows.advance(1000)
    assert caplog.messages == ["predicting: 1000 rows, 50.0 rows/s, 60 s to go"]


def test_rows_of_an_earlier_run_are_no_measure_of_speed(clock, caplog):
    caplog.set_level(logging.INFO)
    share = [0.0]
    with RowProgress("predicting", lambda: share[0], done=3000) as rows:
        clock[0] += 5.0
        share[0] = 0.75
        rows.begin()
        clock[0] += 20.0
        share[0] = 0.80
        rows.advance(200)
        assert (rows.rows, rows.seconds) == (200, 20.0)
    assert caplog.messages == ["predicting: 3200 rows, 10.0 rows/s, 80 s to go"]


def test_rows_of_an_input_of_unknown_size_have_no_time_left(clock, caplog):
    caplog.set_level(logging.INFO)
    with RowProgress("predicting") as rows:
        clock[0] += 20.0
        rows.advance(10)
    assert caplog.messages == ["predicting: 10 rows, 0.5 rows/s"]


def test_rows_have_a_bar_on_a_terminal_unless_it_shows_the_results(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for shown in (True, False):
        with RowProgress("predicting", lambda: 0.5, on_terminal=shown) as rows:
            clock[0] += 20.0
            rows.advance(100)
        assert ("predicting: " in capsys.readouterr().err) is shown
