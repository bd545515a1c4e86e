"""The body of a request, read within bounds; responses in JSON."""

import asyncio

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from albert_tf.server.request_error import CLIENT_CLOSED, TOO_LARGE, TOO_SLOW, RequestError

_JSON = "application/json"
# A body has to be there within this time of its first byte, however slow its client.
READ_SECONDS = 10.0
# So many times the largest body is read and thrown away, so that a client that sends on hears why it gets no answer.
_PATIENCE = 4


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The body of a request.

    Raises:
        RequestError: it is larger than max_bytes, or too slow, or its client went away.
    """
    size = request.headers.get("content-length", "")
    if request.headers.get("expect", "").lower() == "100-continue" and size.isdecimal() and int(size) > max_bytes:
        raise _too_large(max_bytes)
    try:
        return await asyncio.wait_for(_read(request, max_bytes), READ_SECONDS)
    except asyncio.TimeoutError:
        raise RequestError(f"the body was not there after {READ_SECONDS:.0f} seconds", TOO_SLOW) from None
    except ClientDisconnect:
        raise RequestError("the client went away", CLIENT_CLOSED) from None


async def _read(request: Request, max_bytes: int) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= max_bytes:
            chunks.append(chunk)
        else:
            chunks.clear()
            if size > _PATIENCE * max_bytes:
                break
    if size > max_bytes:
        raise _too_large(max_bytes)
    return b"".join(chunks)


def _too_large(max_bytes: int) -> RequestError:
    return RequestError(f"the body has more than {max_bytes:,} bytes", TOO_LARGE)


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
