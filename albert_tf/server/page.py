"""The page at / where people try the models: its files, what it asks for, and the nearest sentences."""

from collections.abc import Mapping
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from albert_tf.server.json_tensors import read_object
from albert_tf.server.request_error import NOT_FOUND, RequestError
from albert_tf.server.requests import error_response, json_response
from albert_tf.server.rest_interface import RestInterface, Served
from albert_tf.server.sentence_search import SentenceSearch

_FILES = {"index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
# The page needs nothing from elsewhere, and shows texts of strangers.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_MOST_NEAREST = 100


def page_routes(served: Mapping[str, Served], rest: RestInterface, search: SentenceSearch | None) -> list[Route]:
    """The addresses of the page.

    Args:
        served: the models by their names.
        rest: which asks the model for a text's vector.
        search: the sentences; None for a page without them.
    """
    contents = {name: (resources.files("albert_tf.server") / "page" / name).read_bytes() for name in _FILES}
    about = {
        "models": [
            {
                "name": one.name,
                "signatures": {name: list(signature.inputs) for name, signature in one.model.signatures.items()},
            }
            for one in served.values()
        ],
        "sentences": len(search.sentences) if search else 0,
    }

    async def show(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in contents:
            return error_response(RequestError("there is no such file", NOT_FOUND))
        return Response(contents[name], media_type=_FILES[name], headers=_HEADERS)

    async def tell_models(request: Request) -> Response:
        return json_response(about)

    async def find_nearest(request: Request) -> Response:
        try:
            if search is None:
                raise RequestError("no sentences are served here", NOT_FOUND)
            async with rest.bodies.read(request) as body:
                given = read_object(body)
            text, count = _check_search(given, rest.settings.max_text_chars)
            outputs = await rest.ask(served[search.model_name], search.question(text), request)
            return json_response({"nearest": search.nearest(outputs, count)})
        except RequestError as error:
            return error_response(error)

    return [
        Route("/", show),
        Route("/page/models", tell_models),
        Route("/page/nearest", find_nearest, methods=["POST"]),
        Route("/page/{name}", show),
    ]


def _check_search(given: dict[str, Any], max_text_chars: int) -> tuple[str, int]:
    text, count = given.get("text"), given.get("count", 5)
    if not isinstance(text, str) or not 0 < len(text) <= max_text_chars:
        raise RequestError(f"'text' must be a text of 1 to {max_text_chars:,} characters")
    if type(count) is not int or not 1 <= count <= _MOST_NEAREST:
        raise RequestError(f"'count' must be an integer from 1 to {_MOST_NEAREST}")
    return text, count
