"""Objectives of a training of vectors: what is learned from the vectors of a batch.

Shapes: B rows of a batch, K texts of a row, C candidates, S sequence, H hidden.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from albert_tf.heads.pooling import of_length_one
from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT, LABEL
from albert_tf.inputs.finetuning_features import INPUT_IDS

# Of a candidate that does not count, before the softmax.
_NEVER = -1e9
# Of each place in a sequence, for sums by which sequences are told apart.
_NUMBERS = np.random.default_rng(0).integers(-(2**31), 2**31, (1 << 14, 2)).astype("int32") | 1


class Objective(abc.ABC):
    """A loss of the vectors of a batch.

    Attributes:
        metrics: names of what it reports beside the loss, shares of rows.
        passes: how often every text of a batch goes through the model, with different dropout; only of rows of one
            text, whose vectors then are the K of a row.
        compares_rows: whether a row's loss depends on the other rows of its batch.
    """

    metrics: tuple[str, ...] = ()
    passes = 1
    compares_rows = False

    def counts(self, batch: Mapping[str, Any]) -> list[Any]:
        """The number of rows of a share of a batch, by which sums over all shares are divided."""
        return [ops.sum(batch[EXAMPLE_WEIGHT])]

    @abc.abstractmethod
    def loss(self, vectors: Any, batch: Mapping[str, Any], counts: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Contributions of a share of a batch to the loss, and to each of `metrics`.

        Args:
            vectors: float32 [B, K, H], as the model gives them: pooled, and of length 1 where it makes them so.
            batch: the share: "input_ids" int32 [B, K, S] (with several passes [B, 1, S]), "example_weight" float32 [B],
                0 for a row that only fills the batch up; "label" float32 [B], of scored rows.
            counts: what `counts` gives, summed over the whole batch.
        """


class Contrastive(Objective):
    """The right text among all of the batch, by a softmax over cosines (InfoNCE, arXiv 1807.03748; in-batch negatives).

    A row's first text is to find its second among the second texts of all rows, and any third and further ones, which
    are wrong. Those that are word for word the right one, or the first itself, count for nothing, and so do those that
    stand beside the same first text.

    Args:
        temperature: what cosines are divided by; 0.05 in SimCSE, and 1 / 20 in sentence-transformers.
        symmetric: whether second texts are to find their first ones too; the loss is the mean of both ways.
    """

    metrics = ("accuracy",)
    compares_rows = True

    def __init__(self, temperature: float, symmetric: bool = False):
        self.temperature, self.symmetric = temperature, symmetric

    def loss(self, vectors, batch, counts):
        """See Objective; "accuracy" is the share of rows whose second text is the nearest to the first."""
        vectors, ids, weights = of_length_one(vectors, ops), batch[INPUT_IDS], batch[EXAMPLE_WEIGHT]
        options = vectors.shape[1]
        # With several passes of one text, the texts of both columns are the same.
        firsts, rights = ids[:, 0], ids[:, min(1, ids.shape[1] - 1)]
        candidates = ops.concatenate([vectors[:, option] for option in range(1, options)], axis=0)
        texts = ops.concatenate([rights, *(ids[:, option] for option in range(2, options))], axis=0)
        counted = ops.concatenate([weights] * (options - 1), axis=0) > 0
        # Texts that are wrong for a row stay so, whatever row of the same first text they stand in.
        beside = ops.pad(_same(firsts, firsts), ((0, 0), (0, ops.shape(texts)[0] - ops.shape(firsts)[0])))
        hidden = _same(rights, texts) | _same(firsts, texts) | beside | ops.logical_not(counted)[None]
        loss, correct = self._of_one_way(vectors[:, 0], candidates, hidden, weights)
        if self.symmetric:
            same = _same(firsts, firsts) | _same(rights, rights) | _same(rights, firsts)
            hidden = same | ops.logical_not(weights > 0)[None]
            loss = (loss + self._of_one_way(vectors[:, 1], vectors[:, 0], hidden, weights)[0]) / 2.0
        count = ops.maximum(counts[0], 1.0)
        return loss / count, [correct / count]

    def _of_one_way(self, queries, candidates, hidden, weights) -> tuple[Any, Any]:
        """Sums over rows of the loss, and of those whose right candidate, the one of the same place, is the nearest.

        Args:
            queries: float32 [B, H].
            candidates: float32 [C, H], the right ones first.
            hidden: bool [B, C], those that count for nothing; a row's right one does in any case.
            weights: float32 [B].
        """
        scores = ops.matmul(queries, ops.transpose(candidates)) / self.temperature
        rows = ops.arange(ops.shape(queries)[0])
        is_right = rows[:, None] == ops.arange(ops.shape(candidates)[0])[None]
        scores = ops.where(hidden & ops.logical_not(is_right), _NEVER, scores)
        right = ops.sum(ops.where(is_right, scores, 0.0), axis=1)
        losses = ops.logsumexp(scores, axis=1) - right
        nearest = ops.cast(right >= ops.max(scores, axis=1), "float32")
        return ops.sum(losses * weights), ops.sum(nearest * weights)


class SimCSE(Contrastive):
    """A text to be found by itself under different dropout, among all of the batch (SimCSE, arXiv 2104.08821).

    Args:
        temperature: see Contrastive.
    """

    passes = 2

    def __init__(self, temperature: float):
        super().__init__(temperature)


class CosineRegression(Objective):
    """The cosine of two texts as their score: squared errors (Sentence-BERT, arXiv 1908.10084, section 3)."""

    def loss(self, vectors, batch, counts):
        """See Objective."""
        vectors = of_length_one(vectors, ops)
        cosines = ops.sum(vectors[:, 0] * vectors[:, 1], axis=1)
        errors = ops.square(cosines - ops.cast(batch[LABEL], "float32"))
        return ops.sum(errors * batch[EXAMPLE_WEIGHT]) / ops.maximum(counts[0], 1.0), []


def _same(some, others):
    """Pairs of sequences that are the same: int [B, S] and [C, S] -> bool [B, C].

    By two sums of 32 bits each, which memory has room for where it has none for B x C x S.
    """
    return ops.all(_sums(some)[:, None] == _sums(others)[None], axis=-1)


def _sums(ids):
    """Sums of a sequence's ids, each times a random odd number of its place: int32 [B, S] -> [B, 2]."""
    numbers = ops.convert_to_tensor(_NUMBERS)[: ops.shape(ids)[1]]
    return ops.sum(ops.cast(ids, "int32")[:, :, None] * numbers, axis=1)
