"""A server in a thread of the test's process, and a client of it."""

import contextlib
import http.client
import json
import socket
import threading
import time

import uvicorn

from albert_tf.server.app import make_app
from albert_tf.server.models import ModelSource
from albert_tf.server.serving_loop import make_config
from albert_tf.server.settings import ServerSettings

PATIENCE = 60


class Client:
    """Asks a server on 127.0.0.1; every request has a connection of its own."""

    def __init__(self, port):
        self.port = port

    def send(self, method, path, body=None, headers=None):
        """(status, body, headers)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read(), response.headers

    def get(self, path):
        """(status, what the JSON holds)."""
        status, body, _ = self.send("GET", path)
        return status, json.loads(body)

    def ask(self, content, model="words", path=None):
        """(status, what the JSON holds) of a request to predict."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        status, body, _ = self.send("POST", path or f"/v1/models/{model}:predict", body)
        return status, json.loads(body)

    def connect(self):
        """A connection to write bytes into."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def metrics(self):
        """{name with labels: value}."""
        lines = self.send("GET", "/metrics")[1].decode().splitlines()
        pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
        return {name: float(value) for name, value in pairs}


@contextlib.contextmanager
def running(models, **settings):
    """A client of a server that runs meanwhile, and ends in order.

    Args:
        models: {name: a ServedModel}.
        settings: of ServerSettings.
    """
    settings = ServerSettings(**settings)
    app = make_app([(ModelSource(name, "", 1), model) for name, model in models.items()], settings)
    with socket.socket() as own_socket:
        own_socket.bind(("127.0.0.1", 0))
        server = uvicorn.Server(make_config(app, settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [own_socket]})
        thread.start()
        deadline = time.monotonic() + PATIENCE
        while not server.started:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        client = Client(own_socket.getsockname()[1])
        client.server = server
        try:
            yield client
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()
