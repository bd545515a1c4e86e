"""Exports as ONNX or LiteRT for the server: from ids as `serving_default`; no TensorFlow is loaded.

Shapes: B batch, S pieces.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from albert_tf.portable.interface import TensorForm
from albert_tf.runtime.errors import InputError
from albert_tf.server.request_error import RequestError
from albert_tf.server.served_model import SERVING_DEFAULT, ServedModel, Signature
from albert_tf.serving.portable_model import PortableModel


class PortableServedModel(ServedModel):
    """A folder that export_model wrote.

    Args:
        path: the folder.

    Raises:
        InputError: no whole export there, or the package that runs it is not installed.
    """

    def __init__(self, path: str):
        self.path = path
        self._model = PortableModel(path)
        inputs, outputs = (_forms(self._model.about[key]) for key in ("inputs", "outputs"))
        self.signatures = {SERVING_DEFAULT: Signature(inputs, outputs)}
        self.vocab_size = self._model.config.vocab_size

    def run(self, signature: str, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        try:
            return self._model.run(inputs)
        except InputError as error:
            raise RequestError(str(error).removeprefix(f"{self.path}: ")) from None


def _forms(described: list[dict[str, Any]]) -> dict[str, TensorForm]:
    """The forms of inputs or outputs, as export.json has them."""
    return {one["name"]: TensorForm(one["name"], one["dtype"], tuple(one["shape"])) for one in described}
