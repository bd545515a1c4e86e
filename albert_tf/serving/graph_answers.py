"""Answers of a fine-tuned model by TensorFlow: of a SavedModel, or of a checkpoint as it would be exported."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.task_fields import LIST_FIELDS
from albert_tf.exports.depth import DepthSettings
from albert_tf.exports.finetuned_module import SIGNATURES
from albert_tf.exports.loading import load_export
from albert_tf.exports.saved_model import open_finetuned
from albert_tf.runtime.errors import InputError, reason_of
from albert_tf.serving.outputs import check_finite

_ASSERTION = re.compile(r"assertion failed: \[([^\]]*)\]")


class GraphAnswers:
    """A fine-tuned model, asked with the fields of examples.

    Args:
        path: a SavedModel of export_saved_model, or a checkpoint.
        is_export: which of them it is.
        depth: which layers of a checkpoint are computed; None: all.

    Attributes:
        task: what the model was fine-tuned for.
        fields: names of the fields of an example; one with a question mark may be left out.

    Raises:
        InputError: neither is there, it is damaged, or its model is not fine-tuned.
    """

    def __init__(self, path: str, is_export: bool, depth: DepthSettings | None = None) -> None:
        self._path, self._is_export, self._depth = path, is_export, depth
        self._predict: Callable[..., Any]
        self.task: FinetunedTask
        self.fields: tuple[str, ...]
        self._load()

    def _load(self) -> None:
        path = self._path
        if not self._is_export:
            module, self.task = open_finetuned(path, self._depth)
            self._predict = lambda **inputs: module.predict(*inputs.values())
            self.fields = module.fields
            return
        # Kept, since the signatures live as long as what they were loaded with.
        self._module, about = load_export(path, SIGNATURES)
        served = self._module.signatures
        self._predict = next(served[name] for name in SIGNATURES if name in served)
        self.task = FinetunedTask.from_dict(about["task"], path)
        self.fields = self.task.input_fields

    def answer(self, examples: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Answers about examples whose fields are checked and which may stand in one tensor.

        Returns:
            for each the outputs of its signature by their names: texts, and arrays of numbers.

        Raises:
            InputError: the model failed, or its outputs are not finite.
        """
        inputs = {field: _column(examples, field) for field in examples[0]}
        try:
            arrays = {name: value.numpy() for name, value in self._call(inputs).items()}
        except tf.errors.ResourceExhaustedError:
            raise InputError(f"{self._path}: no memory for {len(examples)} examples at once; give fewer") from None
        except tf.errors.OpError as error:
            raise InputError(f"{self._path}: the model failed: {words_of(error)}") from None
        check_finite(self._path, arrays)
        columns = {name: _texts(array) if array.dtype == object else array for name, array in arrays.items()}
        return [{name: column[row] for name, column in columns.items()} for row in range(len(examples))]

    def _call(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        try:
            outputs: dict[str, tf.Tensor] = self._predict(**inputs)
        except tf.errors.NotFoundError:
            # tf.random.set_seed takes the vocabulary away from a graph that was not loaded from a SavedModel.
            self._load()
            outputs = self._predict(**inputs)
        return outputs


def words_of(error: tf.errors.OpError) -> str:
    """The words of an assertion in the graph, without the tensors that are shown after them; of other errors a line."""
    found = _ASSERTION.search(str(error))
    return found[1] if found else reason_of(error)


def _column(examples: Sequence[dict[str, Any]], field: str) -> tf.Tensor:
    """One field of all examples: string [B], or [B, N] of lists."""
    if field not in LIST_FIELDS:
        return tf.constant([example[field].encode() for example in examples], tf.string)
    rows = [[text.encode() for text in example[field]] for example in examples]
    return tf.ragged.constant(rows, tf.string, ragged_rank=1).to_tensor("")


def _texts(array: np.ndarray) -> list[Any]:
    """Lists of texts of an array of bytes."""
    return [value.decode() if isinstance(value, bytes) else _texts(value) for value in array]
