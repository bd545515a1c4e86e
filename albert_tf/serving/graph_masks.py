"""Masks and orders by TensorFlow: of a SavedModel, or of a checkpoint as it would be exported."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from albert_tf.exports import signatures
from albert_tf.exports.loading import load_export
from albert_tf.exports.saved_model import open_pretrained
from albert_tf.exports.text_module import TOKENIZATION_INFO
from albert_tf.runtime.errors import InputError, reason_of
from albert_tf.serving.masked_text import MaskedText
from albert_tf.serving.outputs import check_finite


class GraphMasks:
    """A pre-trained model, asked with texts.

    Args:
        path: a SavedModel of export_saved_model, or a checkpoint.
        is_export: which of them it is.

    Attributes:
        do_lower_case: whether texts are lower-cased, so that "[mask]" is a mask too.
        judges_order: whether the model was trained on the order of two texts.

    Raises:
        InputError: neither is there, it is damaged, or its model was fine-tuned.
    """

    def __init__(self, path: str, is_export: bool) -> None:
        self._path, self._is_export = path, is_export
        self._load()
        self.do_lower_case = bool(self._signatures[TOKENIZATION_INFO]()["do_lower_case"])
        self.judges_order = signatures.SOP_FROM_TEXT in self._signatures

    def _load(self) -> None:
        self._loaded: Any
        self._signatures: Mapping[str, Callable[..., Any]]
        # Kept, since the signatures live as long as what they were loaded with.
        if self._is_export:
            self._loaded, _ = load_export(self._path, (signatures.FILL_MASK,))
            self._signatures = self._loaded.signatures
        else:
            self._loaded, self._signatures = open_pretrained(self._path)

    def fill(self, texts: Sequence[str], top_k: int) -> list[MaskedText]:
        """The likeliest pieces for the masks of each text, which are run as one batch.

        Args:
            texts: "[MASK]" may stand in them.
            top_k: how many pieces for a mask, at least 1.
        """
        # int32 holds no more, and no vocabulary has as many pieces.
        limit = tf.constant(min(top_k, tf.int32.max))
        outputs = self._call(signatures.FILL_MASK, text=_to_tensor(texts), top_k=limit)
        found = []
        rows = (outputs[name] for name in ("mask_count", "pieces", "probabilities"))
        for count, pieces, probabilities in zip(*rows, strict=True):
            decoded = [[piece.decode() for piece in row] for row in pieces[:count]]
            found.append(MaskedText(int(count), decoded, probabilities[:count].tolist()))
        return found

    def order(self, first: str, second: str) -> tuple[float, float]:
        """The probabilities that two texts stand in order, and that they are swapped."""
        outputs = self._call(signatures.SOP_FROM_TEXT, first=_to_tensor([first]), second=_to_tensor([second]))
        return float(outputs["in_order"][0]), float(outputs["swapped"][0])

    def _call(self, signature: str, **inputs: tf.Tensor) -> dict[str, Any]:
        """Calls a signature and checks that what it returns is finite; reports an error of TensorFlow as one line."""
        try:
            outputs = {name: value.numpy() for name, value in self._run(signature, inputs).items()}
        except tf.errors.ResourceExhaustedError:
            raise InputError(f"{self._path}: no memory for so many texts at once; give fewer") from None
        except tf.errors.OpError as error:
            raise InputError(f"{self._path}: the model failed: {reason_of(error)}") from None
        check_finite(self._path, outputs)
        return outputs

    def _run(self, signature: str, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        try:
            outputs: dict[str, tf.Tensor] = self._signatures[signature](**inputs)
        except tf.errors.NotFoundError:
            # tf.random.set_seed takes the vocabulary away from a graph that was not loaded from a SavedModel.
            self._load()
            outputs = self._signatures[signature](**inputs)
        return outputs


def _to_tensor(texts: Sequence[str]) -> tf.Tensor:
    """string [B]."""
    return tf.constant([text.encode() for text in texts], tf.string)
