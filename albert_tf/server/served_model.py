"""A model as the server sees it: signatures with named inputs and outputs, and a function that runs one of them."""

import abc
import dataclasses
from collections.abc import Mapping

import numpy as np

from albert_tf.portable.interface import TensorForm

# The signature of a request that names none.
SERVING_DEFAULT = "serving_default"
# The first axis of every input and output, but of those without axes.
BATCH = "batch"
# The axes of an output whose number is not known before it is computed.
ANY_AXES = ("...",)
STRING, BOOL = "string", "bool"


@dataclasses.dataclass(frozen=True)
class Signature:
    """Inputs and outputs of a function that is served, by their names.

    Attributes:
        inputs, outputs: forms; an axis that is a word is free, BATCH the first of all, and dtype is "string", "int32",
            "int64", "float32" or "bool".
        same_as: the name of a signature that does the same; requests of both run together.
    """

    inputs: Mapping[str, TensorForm]
    outputs: Mapping[str, TensorForm]
    same_as: str | None = None


class ServedModel(abc.ABC):
    """A model that is loaded. `run` is called by one thread at a time.

    Attributes:
        path: where it was loaded from.
        signatures: by their names.
        vocab_size: V, the numbers that are computed for a masked position.
        runs_alone: whether rows that run together change each other's outputs.
    """

    path: str
    signatures: Mapping[str, Signature]
    vocab_size: int = 0
    runs_alone: bool = False

    @abc.abstractmethod
    def run(self, signature: str, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Runs a signature.

        Args:
            signature: its name.
            inputs: an array for each input; texts are bytes, in arrays of dtype object.

        Returns:
            an array for each output.

        Raises:
            RequestError: the model refuses the inputs, or failed on them.
        """
