"""What tests of several workers need."""

import socket

import pytest


@pytest.fixture
def free_addresses():
    """A function that finds addresses on this machine at which nothing listens."""

    def find(number: int) -> list[str]:
        sockets = [socket.socket() for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
        for one in sockets:
            one.close()
        return addresses

    return find
