"""Vectors of texts by an encoder that was exported as ONNX or LiteRT, without TensorFlow.

Shapes: B batch, S sequence, H numbers of a vector.
"""

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.heads.pooling import POOLED, USUAL_POOLING, Pooling
from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime.errors import InputError
from albert_tf.serving.like_lengths import run_rows, to_row
from albert_tf.serving.portable_model import INPUT_MASK, PortableModel
from albert_tf.tokenization.packing import pack_pair

_EMBEDDING, _SEQUENCE_OUTPUT, _POOLED_OUTPUT = "embedding", "sequence_output", "pooled_output"


class PortableVectors:
    """An encoder, asked with texts.

    Args:
        source: a folder of export_model, or one that is opened already.
        asked: "mode" and "normalize" of Pooling.with_choices.
        num_threads: as PortableModel has it, for a folder.

    Attributes:
        pooling: how it makes one vector of a text.
        hidden_size: H.

    Raises:
        InputError: no whole export there, or one that gives no such vectors.
    """

    def __init__(
        self,
        source: str | PortableModel,
        asked: Mapping[str, Any] = types.MappingProxyType({}),
        num_threads: int | None = None,
    ) -> None:
        self._model = model = source if isinstance(source, PortableModel) else PortableModel(source, num_threads)
        known = model.about.get("pooling")
        own = USUAL_POOLING if known is None else Pooling.from_dict(known, model.path)
        wanted = own.with_choices(**asked)
        outputs = [form["name"] for form in model.about["outputs"]]
        # Of a vector that the file gives already, only its length can still be changed, to 1.
        self._still = None if wanted == own else dataclasses.replace(wanted, mode=POOLED, dense=None)
        if _EMBEDDING in outputs:
            if wanted.mode != own.mode or (own.normalize and not wanted.normalize):
                raise InputError(f"{model.path} gives vectors that are {own}; export the model again for {wanted}")
        elif _SEQUENCE_OUTPUT not in outputs:
            raise InputError(
                f"{model.path} is an export as {model.format} of the head {model.head}, which gives no vectors of "
                "texts; export the model with --head=embedding"
            )
        elif own.dense is not None:
            raise InputError(
                f"{model.path} gives vectors of pieces, without the dense layer that makes vectors of texts of them; "
                "export the model with --head=embedding"
            )
        elif wanted.mode == POOLED and _POOLED_OUTPUT not in outputs:
            raise InputError(f"{model.path} has no pooler; choose --pooling=mean or cls")
        self._gives_vectors = _EMBEDDING in outputs
        self.pooling = dataclasses.replace(wanted, max_seq_length=model.about["max_seq_length"])
        self.hidden_size: int = self.pooling.size(model.config.hidden_size)
        self._tokenizer = model.tokenizer()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts: float32 [B, H].

        Raises:
            InputError: the model failed.
        """
        tokenizer = self._tokenizer
        limits = self._model.about["max_seq_length"], tokenizer.cls_id, tokenizer.sep_id
        packed = [pack_pair(ids, None, *limits) for ids in tokenizer.encode_batch(texts)]
        rows = [to_row(Feature(0, *one), tokenizer.pad_id) for one in packed]
        vectors = np.zeros((len(texts), self.hidden_size), np.float32)
        for number, outputs in run_rows(self._model, rows, tokenizer.pad_id):
            vectors[number] = self._pooled(outputs, rows[number][INPUT_MASK])
        return vectors

    def _pooled(self, outputs: dict[str, np.ndarray], mask: np.ndarray) -> np.ndarray:
        """The vector of one row's outputs, [H]."""
        if self._gives_vectors:
            vector = outputs[_EMBEDDING]
            return vector if self._still is None else self._still.pool({_POOLED_OUTPUT: vector[np.newaxis]})[0]
        batch = {name: array[np.newaxis] for name, array in outputs.items()}
        batch[_SEQUENCE_OUTPUT] = batch[_SEQUENCE_OUTPUT][:, : len(mask)]
        vectors: np.ndarray = self.pooling.pool({**batch, INPUT_MASK: mask[np.newaxis]})
        return vectors[0]
