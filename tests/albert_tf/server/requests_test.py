"""Bodies of requests within bounds, one by one and all together; connections_test has them over a network."""

import asyncio
import contextlib

import pytest
from starlette.requests import ClientDisconnect

from albert_tf.server.request_error import RequestError
from albert_tf.server.requests import Bodies, error_response, json_response

LARGEST = 10


class Coming:
    """A request whose body comes in parts."""

    def __init__(self, *parts, headers=None):
        self._parts, self.headers = parts, headers or {}

    async def stream(self):
        for part in self._parts:
            if isinstance(part, Exception):
                raise part
            yield part


def status_of(request, bodies=None):
    async def read():
        async with (bodies or Bodies(LARGEST)).read(request) as body:
            return body

    with pytest.raises(RequestError) as raised:
        asyncio.run(read())
    return raised.value.status


def test_parts_are_put_together():
    async def read():
        async with Bodies(LARGEST).read(Coming(b"abc", b"", b"defghij")) as body:
            return body

    assert asyncio.run(read()) == b"abcdefghij"


def test_what_is_wrong_has_a_status():
    asks_first = {"expect": "100-continue", "content-length": "11"}
    assert status_of(Coming(b"x" * 11)) == 413
    assert status_of(Coming(*[b"x"] * 1000)) == 413
    assert status_of(Coming(AssertionError("read"), headers=asks_first)) == 413
    assert status_of(Coming(b"x", ClientDisconnect())) == 499


def test_all_bodies_together_are_bounded_and_room_comes_back():
    bodies = Bodies(LARGEST)

    async def hold():
        async with contextlib.AsyncExitStack() as held:
            for _ in range(16):
                await held.enter_async_context(bodies.read(Coming(b"x" * LARGEST)))
            with pytest.raises(RequestError, match="too many large requests come at once") as raised:
                await held.enter_async_context(bodies.read(Coming(b"x")))
            assert (raised.value.status, raised.value.retry_after) == (503, 1)
        async with bodies.read(Coming(b"x" * LARGEST)) as body:
            return body

    # One that is too large leaves nothing behind.
    assert status_of(Coming(b"x" * LARGEST, b"x"), bodies) == 413
    assert asyncio.run(hold()) == b"x" * LARGEST


def test_errors_are_json_and_end_a_connection_whose_body_is_not_read():
    response = error_response(RequestError('no "such" thing', 413))
    assert (response.status_code, response.body) == (413, b'{"error":"no \\"such\\" thing"}')
    assert response.headers["connection"] == "close"
    assert error_response(RequestError("later", 503, retry_after=1)).headers["retry-after"] == "1"
    assert json_response(b"[1]").body == json_response([1]).body == b"[1]"
