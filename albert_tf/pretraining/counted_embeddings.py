"""Word embeddings that count_embeddings counted in a text, put in the place of a new model's random ones."""

import json
import zipfile
from typing import Any

import numpy as np
from absl import logging

from albert_tf.models.named_weights import named_weights
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import exists, open_binary

_NAME = "albert/embeddings/word_embeddings"


def initialise_embeddings(model, path: str) -> dict[str, Any]:
    """Gives a new model the counted embeddings, as large on the average as its random ones.

    Pieces that have none (rows of zeros: the special ones, and those that the text lacked) keep their random values.

    Args:
        model: AlbertForPretraining.
        path: .npz with "word_embeddings" float32 [V, E], and "vocabulary" in JSON.

    Returns:
        {"file", "sha256", "size"} of the vocabulary that was counted in.

    Raises:
        InputError: no such file, a damaged one, or one that does not fit the model.
    """
    counted, vocabulary = _read(path)
    variable = named_weights(model)[_NAME]
    values = np.array(variable)
    if counted.shape != values.shape:
        raise InputError(
            f"--init_embeddings: {path} has {counted.shape[0]} pieces of {counted.shape[1]} dimensions, the model "
            f"{values.shape[0]} of {values.shape[1]}; count with --embedding_size={values.shape[1]} and its vocabulary"
        )
    has_neighbours = counted.any(axis=1)
    known = counted[has_neighbours]
    values[has_neighbours] = known * (np.sqrt(np.mean(values**2)) / np.sqrt(np.mean(known**2)))
    variable.assign(values)
    logging.info("%d of %d pieces start from counted embeddings", len(known), len(values))
    return vocabulary


def _read(path: str) -> tuple[np.ndarray, dict[str, Any]]:
    """The embeddings in a file, and their vocabulary."""
    if not exists(path):
        raise InputError(f"--init_embeddings: {path} does not exist; count_embeddings makes it")
    try:
        with open_binary(path) as file, np.load(file, allow_pickle=False) as arrays:
            counted, vocabulary = arrays["word_embeddings"], json.loads(str(arrays["vocabulary"]))
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise InputError(
            f"--init_embeddings: {path} is damaged, or not of count_embeddings ({error}); count again"
        ) from None
    if counted.ndim != 2 or counted.dtype != np.float32 or not np.isfinite(counted).all() or not counted.any():
        raise InputError(f"--init_embeddings: {path} holds no embeddings of numbers; count again")
    return counted, vocabulary
