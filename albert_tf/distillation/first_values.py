"""First values of a student: a model that gives, before its first step, about a weighted mean of its words' vectors.

The word embeddings are fitted to the teacher's vectors, and one column of theirs says how rare a piece is; the first
attention reads that column, so that a piece weighs a / (a + its share of all pieces), as in smooth inverse frequency
(Arora et al., 2017, https://openreview.net/forum?id=SyK00v5xx), and hands on what it attends to as it is. What is left
to learn is by how much a text differs from such a mean.

Shapes: V vocabulary, E embedding, H hidden, N heads, D = H / N.
"""

import numpy as np
from absl import logging

from albert_tf.distillation.teacher import Axes, TaughtTexts
from albert_tf.distillation.word_vectors import fit_word_vectors
from albert_tf.heads.pooling import LEAST_NORM
from albert_tf.inputs.finetuning_features import Ragged
from albert_tf.models.named_weights import named_weights
from albert_tf.pretraining.initial_values import give_word_embeddings

_PROJECTION = "albert/encoder/embedding_hidden_mapping_in/kernel"
# Texts that words are fitted to, and counted in.
MOST_TEXTS = 200_000
# a of the weights (1e-3 to 1e-4 in the paper's experiments).
_USUAL_SHARE = 3e-4
# What logarithms of weights are divided by: that of a piece that makes up all text is just above -9.
_LOG_SCALE = 9.0
# Words are so much larger than what is added for positions and segments.
_ABOVE_POSITIONS = 4.0
# What attention adds, times its input.
_HANDED_ON = 4.0


def initialise_words(model, taught: TaughtTexts, pieces: Ragged, axes: Axes, left_out: tuple[int, ...] = ()) -> None:
    """Gives a new model word embeddings, a projection and an attention that fit the teacher's vectors.

    Args:
        model: with `albert`, an AlbertModel.
        taught: the texts.
        pieces: of each text, its ids.
        axes: by which the teacher's vectors come to the student's width.
        left_out: ids of pieces that stand for no text.

    Raises:
        InputError: scipy is not installed.
    """
    config, weights = model.albert.config, named_weights(model)
    places = np.arange(0, len(pieces), max(1, len(pieces) // MOST_TEXTS))
    chosen, basis = pieces.select(places), Axes.of(taught, config.embedding_size)
    words = fit_word_vectors(
        *(chosen.values, chosen.splits, taught.vectors(places) @ basis.matrix, config.vocab_size), left_out=left_out
    )
    counts = np.bincount(chosen.values, minlength=config.vocab_size)
    # Pieces that stand for no text have nothing but a weight, a small one.
    told = np.where(counts > 0, rareness(counts), 0.0)
    # Of length 1 with what stands for the weight, so that LayerNorm makes all longer alike.
    lengths = np.linalg.norm(words[:, :-1], axis=1, keepdims=True)
    words[:, :-1] *= np.sqrt(1.0 - told**2)[:, None] / np.maximum(lengths, LEAST_NORM)
    words[:, -1] = told
    known = words.any(axis=1)
    give_word_embeddings(model, words, _ABOVE_POSITIONS)
    if config.embedding_size != config.hidden_size:
        weights[_PROJECTION].assign(_with_last_column_apart(basis.matrix.T @ axes.matrix))
    for name, variable in weights.items():
        if name.endswith("/attention/query_bias"):
            _attend_by_last_column(weights, name.removesuffix("query_bias"), config)
            logging.debug("%s starts from the weights of pieces", variable.path)
    logging.info("%s of %s pieces start from vectors that fit the teacher's", f"{known.sum():,}", f"{len(words):,}")


def rareness(counts: np.ndarray) -> np.ndarray:
    """The number that stands for the weight of each piece in its embedding: int [V] -> float32 [V], between -1 and 1.

    It is a logarithm, of which attention sees differences alone; weighted as the pieces of a text are, the mean is 0.
    """
    shares = counts / max(1, counts.sum())
    weights = _USUAL_SHARE / (_USUAL_SHARE + shares)
    logs = np.log(weights)
    mean = np.sum(shares * weights * logs) / max(np.sum(shares * weights), LEAST_NORM)
    return ((logs - mean) / _LOG_SCALE).astype(np.float32)


def _with_last_column_apart(matrix: np.ndarray) -> np.ndarray:
    """A projection [E, H] whose last column has the last of the E numbers, and nothing else has."""
    found = matrix.copy()
    found[-1], found[:, -1] = 0.0, 0.0
    found[-1, -1] = 1.0
    return found


def _attend_by_last_column(weights, prefix: str, config) -> None:
    """Makes an attention give each position the shares that the last columns say, and hand on what it attends to.

    Args:
        weights: of the model by name.
        prefix: of the names of the attention's.
        config: of the model.
    """
    size, depth = config.hidden_size, config.hidden_size // config.num_attention_heads
    first = np.arange(0, size, depth)
    bias, kernel = np.array(weights[f"{prefix}query_bias"]), np.array(weights[f"{prefix}key_kernel"])
    # Of each head the first product alone; LayerNorm makes sqrt(E) of the length 1.
    bias[first] = np.sqrt(depth)
    kernel[:, first] = 0.0
    kernel[-1, first] = _LOG_SCALE / np.sqrt(config.embedding_size)
    weights[f"{prefix}query_bias"].assign(bias)
    weights[f"{prefix}key_kernel"].assign(kernel)
    for name in ("value_kernel", "output/kernel"):
        weights[f"{prefix}{name}"].assign(np.sqrt(_HANDED_ON) * np.eye(size, dtype=np.float32))
