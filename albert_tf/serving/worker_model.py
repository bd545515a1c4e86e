"""A model that answers rows in a process beside others."""

import functools
from collections.abc import Callable
from typing import Any

from albert_tf.runtime.tensorflow_import import quiet_stderr
from albert_tf.runtime.worker_pool import count_cores
from albert_tf.serving import row_flags
from albert_tf.serving.model_kind import PORTABLE, kind_of, models_of


class WorkerModel:
    """A model that a process opens when it is first asked; it is sent there by its path.

    Args:
        open_model: opens it, given num_threads; can be pickled.
        path: of the model.
        num_threads: of one process; None: the cores are shared out.
        num_workers: how many processes there are.
    """

    def __init__(self, open_model: Callable[..., Any], path: str, num_threads: int | None, num_workers: int):
        self._open, self._path, self._num_threads = open_model, path, num_threads
        self._share = max(1, count_cores() // num_workers)

    @functools.cached_property
    def _model(self) -> Any:
        if all(kind_of(one) == PORTABLE for one in models_of(self._path)):
            return self._open(num_threads=self._num_threads or self._share)
        row_flags.import_for(self._path, self._num_threads, self._share)
        with quiet_stderr():
            return self._open(num_threads=self._num_threads)

    def answer(self, examples: list[Any]) -> list[dict[str, Any]]:
        """The model's answer to each example."""
        answers: list[dict[str, Any]] = self._model.answer(examples)
        return answers
