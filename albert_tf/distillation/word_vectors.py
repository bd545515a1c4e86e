"""The vectors of word pieces whose means are nearest to the teacher's vectors of the texts: a student's first ones.

They are the solution of a ridge regression: the rows W of a table [V, E] with the least

    sum over texts (mean of W over the text's pieces - vector)^2 + damping * sum over pieces W^2

which conjugate gradients come near to in a few steps. Pieces that no text has stay zero.

Shapes: N texts, V vocabulary, E embedding.
"""

import numpy as np

from albert_tf.runtime.errors import InputError

# In the squares of a text's shares of a piece: a piece that makes up a tenth of one text alone weighs 0.01.
DAMPING = 0.03
STEPS = 12


def fit_word_vectors(
    values: np.ndarray, splits: np.ndarray, vectors: np.ndarray, vocab_size: int, left_out: tuple[int, ...] = ()
) -> np.ndarray:
    """The vectors of all pieces, float32 [V, E].

    Args:
        values: int, the pieces of all texts, one after another.
        splits: int64 [N + 1], where each text begins; text i is values[splits[i] : splits[i + 1]].
        vectors: float32 [N, E].
        vocab_size: V.
        left_out: ids of pieces that stand for no text, such as [CLS].

    Raises:
        InputError: scipy is not installed.
    """
    means = _means_of_pieces(values, splits, vocab_size, left_out)
    transposed = means.T.tocsr()
    found = np.zeros((vocab_size, vectors.shape[1]), np.float32)
    rest = transposed @ vectors
    direction, squares = rest.copy(), np.square(rest).sum(axis=0)
    for _ in range(STEPS):
        image = transposed @ (means @ direction) + np.float32(DAMPING) * direction
        # Every column of the table is a problem of its own.
        length = _divided(squares, (direction * image).sum(axis=0))
        found += length * direction
        rest -= length * image
        before, squares = squares, np.square(rest).sum(axis=0)
        direction = rest + _divided(squares, before) * direction
    return found


def check_scipy() -> None:
    """Raises InputError if scipy, which word vectors are fitted with, is not installed."""
    _import_sparse()


def _import_sparse():
    try:
        from scipy import sparse
    except ImportError:
        raise InputError("word vectors need the extra embeddings: pip install 'albert_tf[embeddings]'") from None
    return sparse


def _divided(numbers: np.ndarray, by: np.ndarray) -> np.ndarray:
    """numbers / by; 0 where that is 0, since the column is solved."""
    return np.divide(numbers, by, out=np.zeros_like(numbers), where=by > 0)


def _means_of_pieces(values: np.ndarray, splits: np.ndarray, vocab_size: int, left_out: tuple[int, ...]):
    """float32 [N, V] in scipy's compressed rows: the share of each piece among those of a text."""
    sparse = _import_sparse()
    ids = np.asarray(values, np.int32)
    counts = sparse.csr_matrix((np.ones(len(ids), np.float32), ids, splits), shape=(len(splits) - 1, vocab_size))
    counts.sum_duplicates()
    counted = np.ones(vocab_size, np.float32)
    counted[list(left_out)] = 0.0
    counts = counts @ sparse.diags(counted, dtype=np.float32)
    totals = np.asarray(counts.sum(axis=1)).ravel()
    return (sparse.diags(1.0 / np.maximum(totals, 1.0), dtype=np.float32) @ counts).tocsr().astype(np.float32)
