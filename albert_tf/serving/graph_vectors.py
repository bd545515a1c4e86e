"""Vectors of texts by TensorFlow: of a SavedModel, or of a checkpoint's encoder as it would be exported.

Shapes: B batch, H numbers of a vector.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.exports.encoder_module import EMBED_FROM_TEXT, EMBEDDING, TOKENS_FROM_TEXT
from albert_tf.exports.export_file import is_export, read_export
from albert_tf.exports.loading import load_export
from albert_tf.exports.saved_model import open_encoder
from albert_tf.heads.pooling import POOLED, USUAL_POOLING, Pooling
from albert_tf.runtime.errors import InputError, reason_of
from albert_tf.serving.outputs import check_finite


class GraphVectors:
    """An encoder, asked with texts.

    Args:
        path: a SavedModel if `is_export`, else a checkpoint.
        is_export: see `path`.
        asked: "mode" and "normalize" of Pooling.with_choices.
        max_seq_length: of a checkpoint, see Embedder.

    Attributes:
        pooling: how it makes one vector of a text.
        hidden_size: H.

    Raises:
        InputError: neither is there, it is damaged, or of a fine-tuned model's SavedModel.
    """

    def __init__(self, path: str, is_export: bool, asked: Mapping[str, Any], max_seq_length: int | None) -> None:
        self._path, self._is_export = path, is_export
        self._asked, self._max_seq_length = asked, max_seq_length
        self._load()

    def _load(self) -> None:
        # Kept, since the functions live as long as what they were loaded with.
        self._loaded: Any
        if not self._is_export:
            self._loaded, self.pooling = open_encoder(self._path, **self._asked, max_seq_length=self._max_seq_length)
            self._function: Callable[..., Any] = self._loaded.embed_from_text
            self.hidden_size = int(self._function.get_concrete_function().structured_outputs[EMBEDDING].shape[-1])
            self._pools = True
            return
        if is_export(self._path) and "task" in read_export(self._path):
            raise InputError(
                f"{self._path} is an export of a fine-tuned model, which gives no vectors of texts; the checkpoint "
                "that it was made of does"
            )
        self._loaded, about = load_export(self._path, (TOKENS_FROM_TEXT,))
        known = about.get("pooling")
        own = USUAL_POOLING if known is None else Pooling.from_dict(known, self._path)
        self.pooling = dataclasses.replace(own, max_seq_length=about.get("max_seq_length")).with_choices(**self._asked)
        # Exports of earlier versions have the vectors of pieces alone.
        self._pools = EMBED_FROM_TEXT in self._loaded.signatures and self.pooling.to_dict() == own.to_dict()
        if own.dense is not None and not self._pools:
            raise InputError(f"{self._path} gives vectors that are {own}; export the model again for {self.pooling}")
        self._function = self._loaded.signatures[EMBED_FROM_TEXT if self._pools else TOKENS_FROM_TEXT]
        outputs = self._loaded.signatures[TOKENS_FROM_TEXT].structured_outputs
        if self.pooling.mode == POOLED and "pooled_output" not in outputs:
            raise InputError(f"{self._path} has no pooler; choose --pooling=mean or cls")
        self.hidden_size = self.pooling.size(int(outputs["sequence_output"].shape[-1]))

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts, which are run as one batch: float32 [B, H].

        Raises:
            InputError: the model failed, or has no memory for so many.
        """
        outputs = self._call(tf.constant([text.encode() for text in texts], tf.string))
        vectors: np.ndarray = outputs[EMBEDDING] if self._pools else self.pooling.pool(outputs)
        check_finite(self._path, {EMBEDDING: vectors})
        return vectors.astype(np.float32)

    def _call(self, text: tf.Tensor) -> Mapping[str, np.ndarray]:
        try:
            try:
                outputs = self._function(text=text)
            except tf.errors.NotFoundError:
                # tf.random.set_seed takes the vocabulary away from a graph that was not loaded from a SavedModel.
                self._load()
                outputs = self._function(text=text)
        except tf.errors.ResourceExhaustedError:
            raise InputError(f"{self._path}: no memory for so many texts at once; give fewer") from None
        except tf.errors.OpError as error:
            raise InputError(f"{self._path}: the model failed: {reason_of(error)}") from None
        return {name: value.numpy() for name, value in outputs.items()}
