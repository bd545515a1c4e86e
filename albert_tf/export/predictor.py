"""What a fine-tuned model says of a user's examples: of a SavedModel, or of a checkpoint without exporting it."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf import files
from albert_tf.errors import InputError
from albert_tf.export.export_file import read_export
from albert_tf.export.finetuned_module import LIST_FIELDS, OPTIONS, SIGNATURES, WORDS
from albert_tf.export.loading import load_export, to_tensor
from albert_tf.export.saved_model import open_finetuned

# From this probability on an example has a label, where it may have several.
_THRESHOLD = 0.5


class Predictor:
    """A fine-tuned model, ready to be asked.

    Attributes:
        fields: names of the fields of an example; one with a question mark may be left out.
    """

    def __init__(self, path: str):
        """Loads it.

        Args:
            path: a SavedModel of export_saved_model, a run's output_dir, or a checkpoint of any format.

        Raises:
            InputError: none of these is there, or its model is not fine-tuned.
        """
        if files.exists(os.path.join(path, "saved_model.pb")):
            # Kept, since the signatures live as long as what they were loaded with.
            self._module = load_export(path, SIGNATURES)
            served = self._module.signatures
            self._predict = next(served[name] for name in SIGNATURES if name in served)
            self.fields = tuple(read_export(path)["task"]["input_fields"])
        else:
            self._module = open_finetuned(path)
            self._predict = lambda **inputs: self._module.predict(*inputs.values())
            self.fields = self._module.fields

    def predict(
        self, examples: Sequence[Mapping[str, Any]], where: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """What the model says of each example; they are run as one batch.

        Args:
            examples: {field: value}.
            where: what to call each of them in an error; None numbers them.

        Returns:
            for each a dict that JSON can hold: "label" and "probabilities"; "labels" and "probabilities"; "score";
            "choice" and "probabilities"; "answer", "start", "end" and "score"; or "tags".

        Raises:
            InputError: a field is missing, or is not what it should be.
        """
        if not examples:
            return []
        names = where or [f"example {number}" for number in range(1, len(examples) + 1)]
        inputs = {field.rstrip("?"): _column(examples, field, names) for field in self.fields}
        arrays = {name: value.numpy() for name, value in self._predict(**inputs).items()}
        found = [_as_json({name: array[row] for name, array in arrays.items()}) for row in range(len(examples))]
        if WORDS not in self.fields:
            return found
        words = [_texts(example, WORDS, name) for example, name in zip(examples, names)]
        return [{"words": row, "tags": tags["tags"][: len(row)]} for row, tags in zip(words, found)]


def _column(examples: Sequence[Mapping[str, Any]], field: str, names: Sequence[str]):
    """One field of all examples: string [B], or [B, N] of lists."""
    if field not in LIST_FIELDS:
        return to_tensor([_text(example, field, name) for example, name in zip(examples, names)])
    rows = [_texts(example, field, name) for example, name in zip(examples, names)]
    for row, name in zip(rows, names):
        if field == OPTIONS and len(row) != len(rows[0]):
            raise InputError(f"{name}: {len(row)} options, {names[0]} has {len(rows[0])}; all must have as many")
    return tf.ragged.constant([[text.encode() for text in row] for row in rows], ragged_rank=1).to_tensor("")


def _texts(example: Mapping[str, Any], field: str, where: str) -> list[str]:
    value = example.get(field)
    if value is None and field == WORDS and isinstance(example.get("text"), str):
        return example["text"].split()
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(f"{where}: {field!r} must be a list of texts. Received {value!r}")
    return value


def _text(example: Mapping[str, Any], field: str, where: str) -> str:
    value = example.get(field.rstrip("?"))
    if value is None and field.endswith("?"):
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: {field.rstrip('?')!r} must be text. Received {value!r}")
    return value


def _as_json(outputs: dict[str, np.ndarray]) -> dict[str, Any]:
    """One example's row of every output, in words and numbers that JSON has."""
    if "tags" in outputs:
        return {"tags": [tag.decode() for tag in outputs["tags"]]}
    if "answer" in outputs:
        numbers = {name: outputs[name].item() for name in ("start", "end", "score", "null_odds") if name in outputs}
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
