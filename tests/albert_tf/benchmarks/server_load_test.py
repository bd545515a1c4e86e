"""The load test of the server: its figures by hand; and, slow, a server of its own under load and overload."""

import json
import socket
import subprocess
import sys
import threading

import pytest
from export_fixtures import HEADS_ASKED

from albert_tf.benchmarks.server_load import _ask, summarize
from albert_tf.runtime.errors import InputError


def test_figures_are_those_of_the_answers():
    found = [(200, milliseconds / 1000) for milliseconds in range(1, 101)]
    summary = summarize(found, seconds=4.0)
    assert summary == pytest.approx({"requests": 100, "requests_per_second": 25, "p50_ms": 50.5, "p99_ms": 100})


def test_a_connection_that_ends_before_the_answer_is_a_request_that_was_lost():
    def answer_every_other() -> None:
        for number in range(4):
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                if number % 2:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        thread = threading.Thread(target=answer_every_other, daemon=True)
        thread.start()
        found = _ask(server.getsockname()[1], [b"{}"], seconds=30, most=4, num_clients=1)
        thread.join(30)
    assert [status for status, _ in found] == [0, 200, 0, 200]
    with pytest.raises(InputError, match="2 answers, and errors with the status none at all"):
        summarize(found, seconds=1.0)


@pytest.mark.parametrize("found", [[], [(200, 0.1), (404, 0.1)]])
def test_what_is_no_answer_is_no_figure(found):
    with pytest.raises(InputError):
        summarize(found, seconds=1.0)


@pytest.mark.slow
def test_a_server_is_timed_and_overloaded(save_finetuned, tmp_path):
    head, labels, fields, task = HEADS_ASKED["classification"]
    save_finetuned(tmp_path / "model", head, labels, fields, task)
    command = [sys.executable, "-m", "albert_tf.benchmarks.server_load", f"--model={tmp_path / 'model'}"]
    limits = ["--seconds=2", "--clients=1,8", "--longest=8"]
    (line,) = subprocess.run([*command, *limits], capture_output=True, text=True, check=True).stdout.splitlines()
    result = json.loads(line)
    assert result["clients_8"]["requests_per_second"] > result["clients_1"]["requests_per_second"] / 2
    assert result["clients_1"]["p99_ms"] >= result["clients_1"]["p50_ms"] > 0
    assert result["overload"]["lost"] == 0
    assert result["overload"]["answered"] > 0
    assert result["overload"]["turned_away"] > 0


@pytest.mark.slow
def test_a_server_that_does_not_start_is_one_line(tmp_path):
    command = [sys.executable, "-m", "albert_tf.benchmarks.server_load", f"--model={tmp_path / 'nowhere'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the server does not start: serve: " in done.stderr
    assert len(done.stderr.splitlines()) == 1
