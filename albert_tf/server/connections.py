"""Connections of uvicorn with limits of time: for what a client sends, and for what it reads."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# From the beginning of a connection, or of a request on it, to the end of its headers; and for a client that does not
# read its response.
HEADER_SECONDS, WRITE_SECONDS = 10.0, 10.0
# Connections at a time; more are closed as they come.
MOST_CONNECTIONS = 4096


class Connection(H11Protocol):
    """A connection whose client may be slow, but not for ever."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._header_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_came()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_between_requests():
            self._expect_headers()
        super().data_received(data)
        if not self._is_between_requests():
            self._headers_came()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._watch_writing(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def send_400_response(self, msg: str) -> None:
        """Says that what came is no HTTP; where a response is under way already, ends the connection alone."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()

    def _is_between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect_headers(self) -> None:
        """Ends the connection unless a request's headers are there in time."""
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _headers_came(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _watch_writing(self, waiting: int) -> None:
        """Ends the connection if its client reads nothing for a while.

        Args:
            waiting: bytes that wait for it now.
        """

        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left >= waiting:
                self.transport.abort()
            else:
                self._watch_writing(left)

        self._write_timer = self.loop.call_later(WRITE_SECONDS, look)
