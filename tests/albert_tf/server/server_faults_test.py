"""Thousands of odd requests at real models: no crash, no traceback, no wrong answer, and memory that stays."""

import contextlib
import json
import os
import random
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

pytestmark = pytest.mark.faults

ROOT = Path(__file__).resolve().parents[3]
THREADS, SECONDS = 8, 45
MOST_GROWTH_MB = 64
_SYLLABLES = ["ba", "do", "mi", "te", "ro", "gi", "lu", "ra", "fo"]
_WORDS = [*_SYLLABLES, "[MASK]", "[mask]", "［ＭＡＳＫ］", "é", "\x00", "\u0301", "\U0001f600", ",", "1,9"]


@pytest.fixture(scope="module")
def server(checkpoint_of, tmp_path_factory):
    """(client, process, the file of what it says)."""
    said = tmp_path_factory.mktemp("faults") / "stderr"
    models = [
        f"--model={name}={checkpoint_of(name)}" for name in ("pretraining", "classification", "token_classification")
    ]
    limits = ["--port=0", "--max_body_bytes=100000", "--max_text_chars=2000", "--max_queue=64", "--timeout_s=20"]
    with (
        open(said, "wb") as file,
        subprocess.Popen([sys.executable, "-m", "albert_tf.serve", *models, *limits], stderr=file, cwd=ROOT) as process,
    ):
        deadline = time.monotonic() + 120
        while not (found := re.search(r"at http://127\.0\.0\.1:(\d+)", said.read_text())):
            assert time.monotonic() < deadline and process.poll() is None, said.read_text()
            time.sleep(0.1)
        yield Client(int(found[1])), process, said
        process.kill()


def text(rng):
    return " ".join(rng.choices(_WORDS, k=rng.choice((0, 1, 5, 40))))


def odd_value(rng, depth=0):
    """Anything that JSON has."""
    leaves = [None, True, 0, -1, 2**31, 2**70, 1.5, 1e300, "", text(rng), "b64", {"b64": "%"}, {"b64": "YQ=="}]
    if depth > 3 or rng.random() < 0.5:
        return rng.choice(leaves)
    if rng.random() < 0.5:
        return [odd_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    names = ["text", "top_k", "input_ids", "input_mask", "segment_ids", "words", "b64", "x" * 50]
    return {rng.choice(names): odd_value(rng, depth + 1) for _ in range(rng.randrange(4))}


def odd_body(rng):
    signatures = [
        "",
        "tokens",
        "fill_mask",
        "mlm",
        "sop_from_text",
        "classify",
        "tag",
        "tokenization_info",
        "nowhere",
        3,
    ]
    content = {"signature_name": rng.choice(signatures), rng.choice(("instances", "inputs")): odd_value(rng)}
    body = json.dumps(content).encode()
    choice = rng.random()
    if choice < 0.1:
        return body[: rng.randrange(len(body))]
    if choice < 0.2:
        return rng.randbytes(rng.randrange(200))
    if choice < 0.25:
        return b'{"inputs": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"
    if choice < 0.3:
        return b"[" * rng.randrange(200_000)
    if choice < 0.35:
        ids = [[rng.randrange(-5, 200) for _ in range(rng.randrange(40))] for _ in range(2)]
        named = {"input_ids": ids, "input_mask": ids, "segment_ids": [[0] * len(row) for row in ids]}
        return json.dumps({"signature_name": "tokens", "inputs": named}).encode()
    if choice < 0.4:
        many = {"signature_name": "fill_mask", "inputs": {"text": ["[MASK]" * 300] * 30, "top_k": 10**9}}
        return json.dumps(many).encode()
    return body


def ask_oddly(client, rng):
    """One odd request, or an odd connection; the status, if there is one."""
    model = rng.choice(("pretraining", "classification", "token_classification", "none", "%00"))
    body, choice = odd_body(rng), rng.random()
    if choice < 0.8:
        status, content = client.ask(body, model)
        assert status in (200, 400, 404, 413, 503), (status, content)
        if status != 200:
            assert len(content["error"].splitlines()) == 1
        return status
    with contextlib.suppress(OSError), client.connect() as connection:
        head = f"POST /v1/models/{model}:predict HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        sent = head + body
        if choice < 0.9:
            # Cut anywhere, and reset rather than closed.
            connection.sendall(sent[: rng.randrange(len(sent) + 1)])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        elif choice < 0.95:
            connection.sendall(rng.randbytes(300))
        else:
            # Slow.
            for at in range(0, min(len(sent), 60), 10):
                connection.sendall(sent[at : at + 10])
                time.sleep(0.01)
    return 0


def memory_mb(process):
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) / 1024


def test_odd_requests_harm_nobody(server):
    client, process, said = server
    asked = [f"{text(random.Random(number))} {number}" for number in range(6)]
    known = {one: client.ask({"instances": [one]}, "classification") for one in asked}
    assert {status for status, _ in known.values()} == {200}
    counts, faults, memory = {}, [], []
    end = time.monotonic() + SECONDS

    def work(seed):
        rng = random.Random(seed)
        while time.monotonic() < end:
            try:
                status = ask_oddly(client, rng)
                counts[status] = counts.get(status, 0) + 1
                one = rng.choice(asked)
                status, content = client.ask({"instances": [one]}, "classification")
                counts[status] = counts.get(status, 0) + 1
                if status != 503:
                    (found,), (wanted,) = content["predictions"], known[one][1]["predictions"]
                    assert found["probabilities"] == pytest.approx(wanted["probabilities"], abs=1e-5)
            except Exception as error:
                faults.append(f"{seed}: {error!r}")
                return

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(1)
        memory.append(memory_mb(process))
    assert faults == []
    assert sum(counts.values()) > 2000, counts
    assert {200, 400, 404, 413} <= counts.keys()
    # Once every signature has run.
    assert max(memory) - memory[len(memory) // 2] < MOST_GROWTH_MB, memory
    assert client.get("/healthz") == (200, {"status": "ok"})
    metrics = client.metrics()
    assert all(value == 0 for name, value in metrics.items() if name.startswith("albert_queue_requests"))
    assert not any(value for name, value in metrics.items() if 'status="500"' in name and "total" in name)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert "Traceback" not in said.read_text()
    assert os.path.getsize(said) < 10_000
