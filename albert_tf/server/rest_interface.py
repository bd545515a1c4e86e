"""TensorFlow Serving's REST interface: status and metadata of models, and predictions.

Addresses, forms and error codes are those of its documentation (tensorflow.org/tfx/serving/api_rest) and of
tensorflow_serving/model_servers/http_rest_api_util.cc.
"""

import asyncio
import dataclasses
import re
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from albert_tf.portable.interface import TensorForm
from albert_tf.server.batcher import Batcher
from albert_tf.server.joining import make_rows
from albert_tf.server.json_tensors import Question, read_question, shorten, write_answer
from albert_tf.server.metrics import Metrics
from albert_tf.server.request_error import CLIENT_CLOSED, NOT_FOUND, TIMED_OUT, RequestError
from albert_tf.server.requests import Bodies, error_response, json_response
from albert_tf.server.served_model import ANY_AXES, ServedModel, Signature
from albert_tf.server.settings import ServerSettings

_ROOT = "/v1/"
_PREDICTION = re.compile(r"(?i)/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?:(classify|regress|predict)")
_STATUS = re.compile(r"(?i)/v1/models(?:/([^/:]+))?(?:/versions/(\d+)|/labels/([^/:]+))?(?:/(metadata))?")
_DTYPES = {"string": "DT_STRING", "int32": "DT_INT32", "int64": "DT_INT64", "float32": "DT_FLOAT", "bool": "DT_BOOL"}
# Of a number of 64 bits.
_MOST_DIGITS = 18
_METHOD = "tensorflow/serving/predict"


@dataclasses.dataclass(frozen=True)
class Served:
    """A model under its name.

    Attributes:
        name, version: by which clients ask for it.
        model: loaded.
        batcher: its queue.
    """

    name: str
    version: int
    model: ServedModel
    batcher: Batcher


class RestInterface:
    """Answers the requests below /v1/.

    Args:
        served: the models by their names.
        settings: limits of requests.
        metrics: where requests are counted.

    Attributes:
        settings: the same.
        bodies: what is held of requests that come.
    """

    def __init__(self, served: Mapping[str, Served], settings: ServerSettings, metrics: Metrics):
        self._served, self.settings, self._metrics = served, settings, metrics
        self.bodies = Bodies(settings.max_body_bytes)

    async def respond(self, request: Request) -> Response:
        """The response to any request; what is not below /v1/ is nowhere."""
        path = f"/{request.path_params['rest']}"
        if request.method == "POST" and (found := _PREDICTION.fullmatch(path)):
            return await self._predict(request, *found.groups())
        try:
            if not path.lower().startswith(_ROOT):
                raise RequestError(f"there is nothing at {shorten(path)}", NOT_FOUND)
            if request.method not in ("GET", "HEAD") or not (found := _STATUS.fullmatch(path)):
                raise RequestError(f"Malformed request: {shorten(request.method)} {shorten(path)}")
            name, version, label, resource = found.groups()
            if name is None:
                raise RequestError("Missing model name in request.")
            one = self._find(name, version, label)
            return json_response(_metadata(one) if resource else _status(one))
        except RequestError as error:
            return error_response(error)

    async def _predict(self, request: Request, name: str, version: str, label: str, method: str) -> Response:
        start, model, signature = time.monotonic(), "", ""
        try:
            one = self._find(name, version, label)
            model = one.name
            if method.lower() != "predict":
                raise RequestError(f"the model's signatures are for predict; {method.lower()} is not supported")
            async with self.bodies.read(request) as body:
                question = await asyncio.to_thread(self._read, one, body)
            signature = question.signature
            outputs = await self.ask(one, question, request)
            response = json_response(await asyncio.to_thread(write_answer, outputs, question.by_row))
        except RequestError as error:
            response = error_response(error)
        self._metrics.count_request(model, signature, response.status_code, time.monotonic() - start)
        return response

    def _read(self, one: Served, body: bytes) -> Question:
        return read_question(body, one.model.signatures, self.settings.max_text_chars)

    async def ask(self, one: Served, question: Question, request: Request) -> dict[str, np.ndarray]:
        """The model's outputs. A question whose client goes away is taken out of the queue.

        Raises:
            RequestError: the model refuses the question, too many wait, or it takes too long.
        """
        rows = make_rows(one.model, question.signature, question.inputs)
        answer = asyncio.wrap_future(one.batcher.submit(rows))
        gone = asyncio.ensure_future(_until_gone(request))
        try:
            await asyncio.wait((answer, gone), timeout=self.settings.timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            if gone.done():
                raise RequestError("the client went away", CLIENT_CLOSED)
            raise RequestError(f"no answer after {self.settings.timeout_s:g} seconds", TIMED_OUT)
        finally:
            answer.cancel()
            gone.cancel()

    def _find(self, name: str, version: str | None, label: str | None) -> Served:
        if version is not None and len(version) > _MOST_DIGITS:
            raise RequestError(f"Failed to convert version: {shorten(version)} to numeric.")
        one = self._served.get(name)
        if one is None or label is not None or (version is not None and int(version) != one.version):
            wanted = f"Specific({shorten(name)}, {version})" if version else f"Latest({shorten(name)})"
            raise RequestError(
                f"Servable not found for request: {wanted}; there are "
                f"{', '.join(f'{each.name} (version {each.version})' for each in self._served.values())}",
                NOT_FOUND,
            )
        return one


async def _until_gone(request: Request) -> None:
    """Waits for the client of a request, whose body is read, to go away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _status(one: Served) -> dict[str, Any]:
    status = {"error_code": "OK", "error_message": ""}
    return {"model_version_status": [{"version": str(one.version), "state": "AVAILABLE", "status": status}]}


def _metadata(one: Served) -> dict[str, Any]:
    definitions = {name: _definition(signature) for name, signature in one.model.signatures.items()}
    return {
        "model_spec": {"name": one.name, "signature_name": "", "version": str(one.version)},
        "metadata": {"signature_def": {"signature_def": definitions}},
    }


def _definition(signature: Signature) -> dict[str, Any]:
    inputs, outputs = (
        {name: _tensor(form) for name, form in forms.items()} for forms in (signature.inputs, signature.outputs)
    )
    return {"inputs": inputs, "outputs": outputs, "method_name": _METHOD}


def _tensor(form: TensorForm) -> dict[str, Any]:
    is_known = form.axes != ANY_AXES
    sizes = [{"size": str(axis if isinstance(axis, int) else -1), "name": ""} for axis in form.axes if is_known]
    return {
        "dtype": _DTYPES[form.dtype],
        "tensor_shape": {"dim": sizes, "unknown_rank": not is_known},
        "name": f"{form.name}:0",
    }
