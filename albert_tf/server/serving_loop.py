"""The process of a server: its socket, its signals, and its end after the last answer."""

import contextlib
import logging as python_logging
import resource
import signal
import socket
from collections.abc import Iterator, Sequence

import uvicorn
from absl import logging
from starlette.applications import Starlette

from albert_tf.runtime.errors import InputError
from albert_tf.server.app import make_app
from albert_tf.server.connections import WRITE_SECONDS, Connection
from albert_tf.server.models import ModelSource, open_model
from albert_tf.server.requests import READ_SECONDS
from albert_tf.server.settings import ServerSettings

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def serve(sources: Sequence[ModelSource], settings: ServerSettings) -> None:
    """Serves models until a signal comes; then answers what it has, and returns.

    Args:
        sources: the models.
        settings: where to listen, limits, the page.

    Raises:
        InputError: a model is not there or damaged, or the address cannot be listened at.
    """
    # First, so that an address in use does not show only after minutes of loading. Nobody can connect yet.
    with _bind(settings) as own_socket:
        app = make_app([(source, open_model(source)) for source in sources], settings)
        _allow_connections()
        server = _Server(make_config(app, settings))
        server.names = [source.name for source in sources]
        server.run(sockets=[own_socket])
    logging.info("stopped at once" if server.force_exit else "stopped; all that was accepted has its answer")


def make_config(app: Starlette, settings: ServerSettings) -> uvicorn.Config:
    """Settings of uvicorn for an application: limits of time, and no word about what clients do."""
    python_logging.getLogger("uvicorn").setLevel(python_logging.ERROR)
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        # Whatever is under way ends by itself before.
        timeout_graceful_shutdown=int(settings.timeout_s + READ_SECONDS + 2 * WRITE_SECONDS) + 1,
    )


class _Server(uvicorn.Server):
    """A server that a signal ends in order; uvicorn's own ends by the same signal once more."""

    names: Sequence[str] = ()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            host, port = one.getsockname()[:2]
            address = f"[{host}]" if ":" in host else host
            logging.info("serving %s at http://%s:%d", ", ".join(self.names), address, port)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._stop) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: object) -> None:
        if self.should_exit:
            # The second one is an order.
            self.force_exit = True
        else:
            self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.info("stopping: no more requests are taken, those that are here are answered")
        await super().shutdown(sockets)


def _bind(settings: ServerSettings) -> socket.socket:
    """A socket with the address, at which it does not listen yet."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host: {settings.host!r} is no address of this machine ({error})") from None
    family, kind, protocol, _, address = found[0]
    own_socket = socket.socket(family, kind, protocol)
    try:
        own_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own_socket.bind(address)
    except OSError as error:
        own_socket.close()
        raise InputError(
            f"--port: cannot listen at {settings.host}, port {settings.port}: {error.strerror}; choose another"
        ) from None
    return own_socket


def _allow_connections() -> None:
    """Asks for as many open files as the system lets this process have: every connection is one."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
