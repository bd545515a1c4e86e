"""Scores on records of answers that are always the same: a model has to be better than these."""

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from albert_tf.inputs.pretraining_dataset import RecordSet, make_evaluation_dataset
from albert_tf.records.names import EXAMPLE_WEIGHTS, LABEL, WEIGHTS_FEATURE


def count_masked_pieces(batches: Iterable[Mapping], num_examples: int, vocab_size: int, enough: int) -> np.ndarray:
    """Counts what is to be predicted in the first examples of a training stream, of one epoch at most; int64 [V].

    It is all that a model that looks at no context can learn.

    Args:
        batches: what make_dataset returns, from the stream's start.
        num_examples: of an epoch.
        vocab_size: V.
        enough: number of pieces after which counting ends.
    """
    counts, left = np.zeros(vocab_size, np.int64), num_examples
    for batch in batches:
        # A batch may reach into the second epoch.
        real = batch["masked_lm_weights"][:left].numpy() > 0
        counts += np.bincount(batch["masked_lm_ids"][:left].numpy()[real], minlength=vocab_size)
        left -= len(batch["masked_lm_ids"])
        if left <= 0 or counts.sum() >= enough:
            break
    return counts


@dataclasses.dataclass(frozen=True)
class ConstantAnswers:
    """Scores of constant answers on some records, taken from those very records: no constant answer does better.

    Attributes:
        piece_accuracy: masked-LM accuracy of always the piece that was masked most often.
        label_accuracy: accuracy of always the more frequent sentence label.
        label_loss: nats a pair of always the frequencies of the two labels.
    """

    piece_accuracy: float
    label_accuracy: float
    label_loss: float


def constant_answers(records: RecordSet, max_steps: int | None = None, batch_size: int = 256) -> ConstantAnswers:
    """The baselines of an evaluation; arguments as of make_evaluation_dataset."""
    pieces, labels = np.zeros(1, np.int64), np.zeros(2, np.int64)
    for batch in make_evaluation_dataset(records, batch_size, max_steps).as_numpy_iterator():
        found = np.bincount(batch["masked_lm_ids"][batch[WEIGHTS_FEATURE] > 0])
        pieces = np.pad(pieces, (0, max(0, len(found) - len(pieces))))
        pieces[: len(found)] += found
        labels += np.bincount(batch[LABEL][batch[EXAMPLE_WEIGHTS] > 0], minlength=2)
    frequencies = labels / max(1, labels.sum())
    known = frequencies[frequencies > 0]
    return ConstantAnswers(
        piece_accuracy=float(pieces.max() / max(1, pieces.sum())),
        label_accuracy=float(frequencies.max()),
        label_loss=float(-(known * np.log(known)).sum()) + 0.0,
    )
