"""Predictions of a fine-tuned model for a user's examples: of a SavedModel, or of a checkpoint without exporting it."""

import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.published.local_copy import local_copy
from albert_tf.runtime.errors import InputError, reason_of
from albert_tf.runtime.settings import StrPath
from albert_tf.serving.export_file import holds_model
from albert_tf.serving.finetuned_module import (
    LIST_FIELDS,
    OPTIONS,
    SIGNATURES,
    WORDS,
)
from albert_tf.serving.input_fields import ExampleFields
from albert_tf.serving.loading import load_export
from albert_tf.serving.saved_model import open_finetuned

# From this probability on an example has a label, where it may have several.
_THRESHOLD = 0.5


class Predictor:
    """A fine-tuned model, ready to be asked.

    Attributes:
        fields: names of the fields of an example; one with a question mark may be left out.
        example_fields: the same with the names of columns that training knew, and the checks of an example.
        task: what the model was fine-tuned for.
    """

    def __init__(self, path: StrPath) -> None:
        """Loads it.

        Args:
            path: a SavedModel of export_saved_model, a run's output_dir, a checkpoint of any format, or a name of
                published weights.

        Raises:
            InputError: none of these is there, it is damaged, or its model is not fine-tuned.
        """
        self.path = os.fspath(path)
        self._load()

    def _load(self) -> None:
        path = self.path
        if holds_model(local_copy(path)):
            # Kept, since the signatures live as long as what they were loaded with.
            self._module, about = load_export(path, SIGNATURES)
            served = self._module.signatures
            self._predict = next(served[name] for name in SIGNATURES if name in served)
            self.task = FinetunedTask.from_dict(about["task"], path)
            self.fields = self.task.input_fields
        else:
            self._module, self.task = open_finetuned(path)
            self._predict = lambda **inputs: self._module.predict(*inputs.values())
            self.fields = self._module.fields
        self.example_fields = ExampleFields(self.fields, self.task)

    def predict(
        self,
        examples: Sequence[Mapping[str, Any] | str] | Mapping[str, Any] | str,
        where: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Asks the model about each example; they are run as one batch.

        Args:
            examples: {field: value} of each, or the text alone where the model takes one text. One example that
                stands alone is a list of one.
            where: what to call each of them in an error; None numbers them.

        Returns:
            for each a dict that JSON can hold: "label" and "probabilities"; "labels" and "probabilities"; "score";
            "choice" and "probabilities"; "answer", "start", "end" and "score"; or "words" and "tags". And "warning",
            where a second text was given to a model that takes one.

        Raises:
            InputError: a field is missing, or is not what it should be.
        """
        if not isinstance(examples, Iterable):
            raise InputError(f"a list of examples was expected; received {reprlib.repr(examples)}")
        examples = [examples] if isinstance(examples, str | Mapping) else list(examples)
        names = where or [f"example {number}" for number in range(1, len(examples) + 1)]
        checked = [self.example_fields.check(example, name) for example, name in zip(examples, names, strict=True)]
        found = self.answer(checked)
        for row, example in enumerate(examples):
            unread = self.example_fields.unread(example) if isinstance(example, Mapping) else None
            if unread is not None:
                found[row] = {**found[row], "warning": f"{names[row]}: {unread}"}
        return found

    def answer(self, checked: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The same for examples that `example_fields.check` has returned, without its warning."""
        found: list[dict[str, Any]] = [{}] * len(checked)
        for rows in _of_one_shape(checked):
            for row, answer in zip(rows, self._answer([checked[row] for row in rows]), strict=True):
                found[row] = answer
        return found

    def _answer(self, examples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers to checked examples, which may stand in one tensor."""
        if not examples[0].get(WORDS, True):
            return [{"words": [], "tags": []} for _ in examples]
        inputs = {field: _column(examples, field) for field in examples[0]}
        try:
            arrays = {name: value.numpy() for name, value in self._call(inputs).items()}
        except tf.errors.ResourceExhaustedError:
            raise InputError(f"{self.path}: no memory for {len(examples)} examples at once; give fewer") from None
        except tf.errors.OpError as error:
            raise InputError(f"{self.path}: the model failed: {reason_of(error)}") from None
        for name, array in arrays.items():
            if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
                raise InputError(f"{self.path}: its {name} are not finite numbers; the weights are damaged")
        found = [_as_json({name: array[row] for name, array in arrays.items()}) for row in range(len(examples))]
        if WORDS not in inputs:
            return found
        return [{"words": row[WORDS], "tags": tags["tags"][: len(row[WORDS])]} for row, tags in zip(examples, found)]

    def _call(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        try:
            outputs: dict[str, tf.Tensor] = self._predict(**inputs)
        except tf.errors.NotFoundError:
            # tf.random.set_seed takes the vocabulary away from a graph that was not loaded from a SavedModel.
            self._load()
            outputs = self._predict(**inputs)
        return outputs


def _of_one_shape(examples: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Numbers of the examples that can be run together: with as many options, and with words or without any."""
    groups: dict[Any, list[int]] = {}
    for number, example in enumerate(examples):
        groups.setdefault((len(example.get(OPTIONS, ())), bool(example.get(WORDS, True))), []).append(number)
    return list(groups.values())


def _column(examples: list[dict[str, Any]], field: str) -> tf.Tensor:
    """One field of all examples: string [B], or [B, N] of lists."""
    if field not in LIST_FIELDS:
        return tf.constant([example[field].encode() for example in examples], tf.string)
    rows = [[text.encode() for text in example[field]] for example in examples]
    return tf.ragged.constant(rows, tf.string, ragged_rank=1).to_tensor("")


def _as_json(outputs: dict[str, Any]) -> dict[str, Any]:
    """One example's row of every output, in words and numbers that JSON has."""
    if "tags" in outputs:
        return {"tags": [tag.decode() for tag in outputs["tags"]]}
    if "answer" in outputs:
        numbers: dict[str, Any] = {
            name: outputs[name].item() for name in ("start", "end", "score", "null_odds") if name in outputs
        }
        return {"answer": outputs["answer"].decode(), **numbers}
    if "choice" in outputs:
        return {"choice": int(outputs["choice"]), "probabilities": outputs["probabilities"].tolist()}
    if "score" in outputs:
        return {"score": float(outputs["score"])}
    names = [name.decode() for name in outputs["labels"]]
    probabilities = dict(zip(names, outputs["probabilities"].tolist()))
    if "label" in outputs:
        return {"label": outputs["label"].decode(), "probabilities": probabilities}
    return {
        "labels": [name for name in names if probabilities[name] >= _THRESHOLD],
        "probabilities": probabilities,
    }
