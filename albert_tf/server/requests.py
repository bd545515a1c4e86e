"""The body of a request, read within bounds; responses in JSON."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from albert_tf.server.request_error import BUSY, CLIENT_CLOSED, TOO_LARGE, TOO_SLOW, RequestError

_JSON = "application/json"
# A body has to be there within this time of its first byte, however slow its client.
READ_SECONDS = 10.0
# So many times the largest body is read and thrown away, so that a client that sends on hears why it gets no answer.
_PATIENCE = 4
# As many of the largest bodies are held at a time.
_BODIES = 16
_MOST_DIGITS = 18


class Bodies:
    """The bodies of requests that come, each of them and all together within bounds.

    Args:
        max_bytes: the most of one.
    """

    def __init__(self, max_bytes: int):
        self._max_bytes, self._held = max_bytes, 0

    @contextlib.asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request, which is held as long as the block lasts.

        Raises:
            RequestError: it is larger than max_bytes, or too slow, its client went away, or too much is held already.
        """
        size = request.headers.get("content-length", "")
        if (
            request.headers.get("expect", "").lower() == "100-continue"
            and size.isdecimal()
            and len(size) < _MOST_DIGITS
        ):
            self._check_size(int(size))
        chunks: list[bytes] = []
        try:
            try:
                await asyncio.wait_for(self._receive(request, chunks), READ_SECONDS)
            except asyncio.TimeoutError:
                raise RequestError(f"the body was not there after {READ_SECONDS:.0f} seconds", TOO_SLOW) from None
            except ClientDisconnect:
                raise RequestError("the client went away", CLIENT_CLOSED) from None
            yield b"".join(chunks)
        finally:
            self._held -= sum(map(len, chunks))

    async def _receive(self, request: Request, chunks: list[bytes]) -> None:
        """Receives a body into `chunks`; of one that is too large nothing is kept."""
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > _PATIENCE * self._max_bytes:
                break
            if size > self._max_bytes:
                self._held -= sum(map(len, chunks))
                chunks.clear()
                continue
            if self._held + len(chunk) > _BODIES * self._max_bytes:
                raise RequestError("too many large requests come at once", BUSY, retry_after=1)
            self._held += len(chunk)
            chunks.append(chunk)
        self._check_size(size)

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            raise RequestError(f"the body has more than {self._max_bytes:,} bytes", TOO_LARGE)


def json_response(content: object, status: int = 200) -> Response:
    """A response of JSON: bytes are JSON already."""
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    return Response(body, status, media_type=_JSON)


def error_response(error: RequestError) -> Response:
    """The response to a request that gets no answer, as TensorFlow Serving has it: an object with `error`."""
    response = json_response({"error": str(error)}, error.status)
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    if error.status in (TOO_LARGE, TOO_SLOW):
        # What is left of the body is not waited for.
        response.headers["Connection"] = "close"
    return response
