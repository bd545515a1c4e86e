"""Fine-tuned models opened for predict: in its own process, or in each of several that answer for it."""

import functools
import os
from typing import TYPE_CHECKING, Any

from albert_tf.exports.export_file import gains_by_frozen_weights
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr
from albert_tf.runtime.worker_pool import count_cores
from albert_tf.serving.model_kind import PORTABLE, kind_of

if TYPE_CHECKING:
    from albert_tf.serving.predictor import Predictor


def open_predictor(model: str, num_threads: int | None) -> "Predictor":
    """Opens a model, with TensorFlow only where that runs it; arguments and errors are those of Predictor."""
    if kind_of(model) != PORTABLE:
        import_tensorflow(gains_by_frozen_weights(model), log_level=3)
    with quiet_stderr():
        from albert_tf.serving.predictor import Predictor
    return Predictor(model, num_threads)


class WorkerPredictor:
    """A model that a process opens when it is first asked; it is sent there by its path.

    Args:
        model: see Predictor.
        num_threads: of one process, for an export as ONNX or LiteRT; None: the cores are shared out.
        num_workers: how many processes there are.
    """

    def __init__(self, model: str, num_threads: int | None, num_workers: int):
        self._model, self._num_threads = model, num_threads
        self._share = max(1, count_cores() // num_workers)

    @functools.cached_property
    def _predictor(self) -> "Predictor":
        is_portable = kind_of(self._model) == PORTABLE
        # TensorFlow reads it once, before its first operation.
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(self._share))
        return open_predictor(self._model, (self._num_threads or self._share) if is_portable else self._num_threads)

    def answer(self, examples: list[Any]) -> list[dict[str, Any]]:
        """See Predictor.answer."""
        return self._predictor.answer(examples)
