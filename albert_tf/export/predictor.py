"""What a fine-tuned model says of a user's examples: of a SavedModel, or of a checkpoint without exporting it."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf import files
from albert_tf.errors import InputError
from albert_tf.export.finetuned_module import SIGNATURES
from albert_tf.export.loading import load_export, to_tensor
from albert_tf.export.saved_model import EXPORT_NAME, EXTRA_FOLDER, open_finetuned

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
            about = files.read_json(os.path.join(path, EXTRA_FOLDER, EXPORT_NAME))
            self.fields = tuple(about["task"]["input_fields"])
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
            for each a dict that JSON can hold: "label" and "probabilities"; "labels" and "probabilities"; or "score".

        Raises:
            InputError: a field is missing, or is not what it should be.
        """
        if not examples:
            return []
        names = where or [f"example {number}" for number in range(1, len(examples) + 1)]
        inputs = {
            field.rstrip("?"): to_tensor([_text(example, field, name) for example, name in zip(examples, names)])
            for field in self.fields
        }
        arrays = {name: value.numpy() for name, value in self._predict(**inputs).items()}
        return [_as_json({name: array[row] for name, array in arrays.items()}) for row in range(len(examples))]


def _text(example: Mapping[str, Any], field: str, where: str) -> str:
    value = example.get(field.rstrip("?"))
    if value is None and field.endswith("?"):
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: {field.rstrip('?')!r} must be text. Received {value!r}")
    return value


def _as_json(outputs: dict[str, np.ndarray]) -> dict[str, Any]:
    """One example's row of every output, in words and numbers that JSON has."""
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
