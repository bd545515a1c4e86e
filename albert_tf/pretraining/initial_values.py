"""Initial values that are better than random numbers: waves for positions, frequencies, counted embeddings."""

import json
import zipfile
from typing import Any

import numpy as np
from absl import logging

from albert_tf.inputs.pretraining_dataset import RecordSet, make_dataset
from albert_tf.models.named_weights import named_weights
from albert_tf.pretraining.constant_answers import count_masked_pieces
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import exists, open_binary

# The longest wave, over 2 pi, in positions.
_LONGEST = 10_000.0
_ROWS_AT_ONCE = 256
# Pieces counted; of 30,000 kinds, all but the rarest are known then as well as they need be.
_ENOUGH = 1_000_000
_WORD_EMBEDDINGS = "albert/embeddings/word_embeddings"


def make_waves(positions: int, size: int, deviation: float) -> np.ndarray:
    """Sines in the first half of the columns, cosines of the same frequencies in the second; float32 [positions, size].

    Args:
        positions: rows.
        size: E; of an odd number the last column is zero.
        deviation: root mean square of a value.
    """
    half = size // 2
    frequencies = _LONGEST ** (-np.arange(half) / max(1, half))
    angles = np.arange(positions)[:, None] * frequencies
    waves = np.zeros((positions, size))
    waves[:, :half], waves[:, half : 2 * half] = np.sin(angles), np.cos(angles)
    return (waves * deviation * np.sqrt(2)).astype(np.float32)


def initialise_positions(model) -> None:
    """Gives a new model waves for its position embeddings, as large on the average as its random ones.

    To look at a neighbour, attention needs a map from each position to the next one. Of random vectors it has to learn
    one for every position; of sines and cosines (Vaswani et al., 2017, arXiv 1706.03762, section 3.5) one rotation
    serves all. They are trained from there like all weights.
    """
    variable = model.albert.embeddings.position_embeddings
    variable.assign(make_waves(*variable.shape, model.config.initializer_range))


def log_frequencies(counts: np.ndarray) -> np.ndarray:
    """The logarithms of the shares of all pieces; those that were not seen count as seen once. int [V] -> float32 [V].

    >>> np.exp(log_frequencies(np.array([5, 2, 0]))).round(3).tolist()
    [0.625, 0.25, 0.125]
    """
    seen = np.maximum(counts, 1)
    return np.log(seen / seen.sum()).astype(np.float32)


def initialise_output_bias(model, records: RecordSet, seed: int) -> None:
    """Gives the masked-LM head of a new model the logarithms of the pieces' frequencies for its bias.

    A new model learns the frequencies first. They can be counted instead.

    Args:
        model: AlbertForPretraining.
        records: to train on.
        seed: of the training stream; nothing of that stream is used up.
    """
    lengths = records.max_seq_length, records.max_predictions_per_seq
    stream = make_dataset(records.paths, _ROWS_AT_ONCE, *lengths, num_examples=records.num_examples, seed=seed)
    counts = count_masked_pieces(stream, records.num_examples, model.config.vocab_size, _ENOUGH)
    model.masked_lm.output_bias.assign(log_frequencies(counts))
    logging.info(
        "the masked-LM bias starts from the frequencies of %s masked pieces, %s of %s kinds among them",
        *(f"{int(number):,}" for number in (counts.sum(), (counts > 0).sum(), len(counts))),
    )


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
    values = named_weights(model)[_WORD_EMBEDDINGS]
    if counted.shape != values.shape:
        raise InputError(
            f"--init_embeddings: {path} has {counted.shape[0]} pieces of {counted.shape[1]} dimensions, the model "
            f"{values.shape[0]} of {values.shape[1]}; count with --embedding_size={values.shape[1]} and its vocabulary"
        )
    logging.info("%d of %d pieces start from counted embeddings", give_word_embeddings(model, counted), len(counted))
    return vocabulary


def give_word_embeddings(model, vectors: np.ndarray, scale: float = 1.0) -> int:
    """Gives a new model word embeddings, as large on the average as its random ones; rows of zeros keep those.

    Args:
        model: with `albert`, an AlbertModel.
        vectors: float32 [V, E], some row not zero.
        scale: how many times as large, rather.

    Returns:
        the number of the other rows.
    """
    variable = named_weights(model)[_WORD_EMBEDDINGS]
    values, is_known = np.array(variable), vectors.any(axis=1)
    known = vectors[is_known]
    values[is_known] = known * (scale * np.sqrt(np.mean(values**2)) / np.sqrt(np.mean(known**2)))
    variable.assign(values)
    return len(known)


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
