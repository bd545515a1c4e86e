"""The server as a process: its address, its signals, its exit code."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from running_server import Client

from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.server import serving_loop
from albert_tf.server.settings import ServerSettings

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import os, sys, time
from absl import logging
from word_model import WordModel
from albert_tf.server import serving_loop
from albert_tf.server.models import ModelSource
from albert_tf.server.settings import ServerSettings

class Waiting(WordModel):
    def run(self, signature, inputs):
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        return super().run(signature, inputs)

logging.use_absl_handler()
logging.set_verbosity(logging.INFO)
serving_loop.open_model = lambda source: Waiting()
settings = ServerSettings(port=0, max_batch_size=1)
serving_loop.serve([ModelSource("words", "", 1)], settings)
"""


@pytest.fixture
def gate(tmp_path):
    """A file without which the model of the process waits."""
    return tmp_path / "gate"


@pytest.fixture
def process(gate):
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests/support")))
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(gate)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as started:
        yield started
        started.kill()


def address_of(process):
    for line in process.stderr:
        if found := re.search(r"serving words at http://127\.0\.0\.1:(\d+)", line):
            return int(found[1])
    raise AssertionError("the server did not start")


def can_connect(client):
    try:
        client.connect().close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_last_answer(process, gate, number):
    client, found = Client(address_of(process)), []
    asked = {"signature_name": "length", "instances": ["abc"]}
    threads = [threading.Thread(target=lambda: found.append(client.ask(asked))) for _ in range(4)]
    for thread in threads:
        thread.start()
    while client.metrics()['albert_queue_requests{model="words"}'] < 3:
        pass
    process.send_signal(number)
    while can_connect(client):
        time.sleep(0.01)
    gate.touch()
    for thread in threads:
        thread.join()
    assert found == [(200, {"predictions": [3]})] * 4
    assert process.wait(20) == 0
    rest = process.stderr.read()
    assert "stopped; all that was accepted has its answer" in rest
    assert "Traceback" not in rest


def test_an_address_in_use_is_one_line_before_anything_is_loaded(monkeypatch):
    monkeypatch.setattr(serving_loop, "open_model", lambda source: pytest.fail("loaded"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            InputError, match=f"cannot listen at 127.0.0.1, port {port}: Address already in use; choose"
        ):
            serving_loop.serve([], ServerSettings(port=port))
    with pytest.raises(InputError, match="'no address' is no address of this machine"):
        serving_loop.serve([], ServerSettings(host="no address"))


def test_sentences_without_the_page_are_refused():
    with pytest.raises(FlagError, match="page_sentences_file is for the page, which .*page serves"):
        ServerSettings(page_sentences_file="sentences.txt")
    assert ServerSettings(page=True, page_sentences_file="sentences.txt").page


def test_another_server_can_run_the_application(tmp_path):
    """The factory alone, as docs/server.md has it."""
    program = (
        "import json\nfrom word_model import WordModel\nfrom albert_tf.server import app\n"
        "app.open_model = lambda source: WordModel()\n"
        "made = app.create_app(['words=hf://any/model'])\n"
        "print(json.dumps(sorted({route.path for route in made.routes})))\n"
    )
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests/support")))
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )
    assert json.loads(done.stdout) == ["/healthz", "/metrics", "/readyz", "/{rest:path}"]
