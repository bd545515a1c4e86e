"""Clients that are slow, break off or send no HTTP: they end by themselves, without a word in the log."""

import socket
import time

import pytest
from running_server import running
from word_model import WordModel

from albert_tf.server import connections, requests

HEAD = b"POST /v1/models/words:predict HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def client():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(connections, "HEADER_SECONDS", 0.3)
        patched.setattr(connections, "WRITE_SECONDS", 0.3)
        patched.setattr(requests, "READ_SECONDS", 0.3)
        with running({"words": WordModel()}, max_text_chars=10**6) as asked:
            yield asked


def read_to_the_end(connection):
    received = b""
    try:
        while part := connection.recv(1 << 16):
            received += part
    except ConnectionResetError:
        pass
    return received


@pytest.mark.parametrize("begin", [b"", b"G", b"POST /v1/models/words:predict HTTP/1.1\r\nHost:"])
def test_headers_have_to_come_in_time(client, begin):
    with client.connect() as connection:
        connection.sendall(begin)
        start = time.monotonic()
        assert read_to_the_end(connection) == b""
        assert 0.2 < time.monotonic() - start < 5


def test_headers_of_the_second_request_too(client):
    with client.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(0.1)
        connection.sendall(b"GET /hea")
        start = time.monotonic()
        assert read_to_the_end(connection).startswith(b"HTTP/1.1 200")
        assert time.monotonic() - start < 4


def test_a_slow_body_is_408(client):
    with client.connect() as connection:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        assert read_to_the_end(connection).startswith(b"HTTP/1.1 408")


def test_a_slow_model_is_no_slow_client(client):
    # Longer than the time for headers and bodies.
    status, content = client.ask({"signature_name": "length", "instances": ["slow"]})
    assert (status, content) == (200, {"predictions": [4]})


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 100_000,
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nnot a chunk\r\n",
        HEAD + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n\x00\x00\r\n\r\n",
        # The response is complete before the body turns out to be no body.
        b"POST /v1/models/none:predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_what_is_no_http_leaves_the_server_as_it_was(client, sent, caplog, capfd):
    with client.connect() as connection:
        connection.sendall(sent)
        time.sleep(0.1)
        try:
            connection.sendall(b"zz\r\n")
            read_to_the_end(connection)
        except OSError:
            pass
    assert client.get("/healthz") == (200, {"status": "ok"})
    assert "Traceback" not in caplog.text + "".join(capfd.readouterr())


def test_a_cut_connection_is_no_error(client, caplog, capfd):
    for sent in (
        HEAD,
        HEAD + b"Content-Length: 100\r\n\r\n{",
        HEAD + b'Content-Length: 20\r\n\r\n{"instances": ["a"]}',
    ):
        connection = client.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.sendall(sent)
        time.sleep(0.05)
        connection.close()
    time.sleep(0.1)
    assert client.get("/healthz") == (200, {"status": "ok"})
    assert "Traceback" not in caplog.text + "".join(capfd.readouterr())


def test_a_client_that_reads_nothing_is_let_go(client):
    body = b'{"instances": ["' + b"a" * 900_000 + b'"]}'
    with client.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        deadline = time.monotonic() + 10
        while not client.server.server_state.connections and time.monotonic() < deadline:
            time.sleep(0.01)
        while client.server.server_state.connections and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not client.server.server_state.connections


def test_more_connections_than_are_allowed_are_closed(client, monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)
    kept = [client.connect() for _ in range(2)]
    while len(client.server.server_state.connections) < 2:
        time.sleep(0.01)
    with client.connect() as one_more:
        assert read_to_the_end(one_more) == b""
    for connection in kept:
        connection.close()
