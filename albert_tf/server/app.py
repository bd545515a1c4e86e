"""The server as an ASGI application, for `serve` or for any ASGI server.

>>> from albert_tf.server.app import create_app                                            # doctest: +SKIP
>>> app = create_app(["sst-2=served/sst-2", "work/saved_model"])                           # doctest: +SKIP
"""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Mapping, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from albert_tf.server.batcher import Batcher, BatchLimits
from albert_tf.server.metrics import Metrics
from albert_tf.server.models import ModelSource, open_model, parse_sources
from albert_tf.server.page import page_routes
from albert_tf.server.request_error import BUSY, FAULT
from albert_tf.server.requests import json_response
from albert_tf.server.rest_interface import RestInterface, Served
from albert_tf.server.sentence_search import SentenceSearch
from albert_tf.server.served_model import ServedModel
from albert_tf.server.settings import ServerSettings

_EVERY_METHOD = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]


def create_app(models: Sequence[str], settings: ServerSettings | None = None) -> Starlette:
    """Loads models and makes an application of them.

    Its lifespan ends with the queues: what was accepted is answered first.

    Args:
        models: NAME=PATH or a path, as --model of `serve`.
        settings: limits and the page; host and port are of no account here.

    Raises:
        InputError: a model or the file of sentences is not there, or damaged.
    """
    loaded = [(source, open_model(source)) for source in parse_sources(models)]
    return make_app(loaded, settings or ServerSettings())


def make_app(loaded: Sequence[tuple[ModelSource, ServedModel]], settings: ServerSettings) -> Starlette:
    """The application of models that are loaded; settings as of create_app."""
    models = {source.name: model for source, model in loaded}
    batchers: dict[str, Batcher] = {}
    metrics = Metrics(models, lambda name: batchers[name].waiting)
    limits = BatchLimits(settings.max_batch_size, settings.max_queue, settings.batch_wait_ms / 1000)
    search = SentenceSearch.of_file(settings.page_sentences_file, models, settings) if settings.page else None
    for name, model in models.items():
        batchers[name] = Batcher(model, limits, functools.partial(metrics.count_batch, name))
    served = {
        source.name: Served(source.name, source.version, model, batchers[source.name]) for source, model in loaded
    }
    rest = RestInterface(served, settings, metrics)
    routes = [
        *_monitoring_routes(batchers, metrics),
        *(page_routes(served, rest, search) if settings.page else []),
        # Also "/V1/", as there, and whatever is nowhere.
        Route("/{rest:path}", rest.respond, methods=_EVERY_METHOD),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for batcher in batchers.values():
            await asyncio.to_thread(batcher.close)

    return Starlette(routes=routes, lifespan=lifespan)


def _monitoring_routes(batchers: Mapping[str, Batcher], metrics: Metrics) -> list[Route]:
    async def healthz(request: Request) -> Response:
        alive = all(batcher.is_alive for batcher in batchers.values())
        return json_response({"status": "ok" if alive else "a model's thread has ended"}, 200 if alive else FAULT)

    async def readyz(request: Request) -> Response:
        busy = [name for name, batcher in batchers.items() if not batcher.is_open]
        return json_response({"status": "ready" if not busy else "stopping"}, BUSY if busy else 200)

    async def metrics_page(request: Request) -> Response:
        return Response(metrics.page(), media_type=metrics.content_type)

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics_page)]
