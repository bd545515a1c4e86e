"""Signs of a pre-training run that is stuck, which its losses alone do not tell apart.

B examples, S max_seq_length, H hidden_size, N attention heads, V vocabulary.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from absl import logging
from keras import ops

from albert_tf.inputs.pretraining_dataset import RecordSet, make_dataset
from albert_tf.inputs.reading import AS_MADE, Reading
from albert_tf.kernels import View, backend
from albert_tf.pretraining.constant_answers import count_masked_pieces
from albert_tf.pretraining.signs_of_trouble import FEWEST_STEPS, SIGNS, Sign

# Of the pooler's outputs; beyond it the slope of its tanh is below a tenth.
SATURATED = 0.95
# Steps between two looks at the encoder: one costs less than a training step, and may then cost no more than 1 %.
_STEPS_BETWEEN_LOOKS = 50
# A warning that stays true is repeated after so many reports.
_REPORTS_BETWEEN_WARNINGS = 10
# Size of the sample: examples, and tokens in all of them; and pieces to count the frequencies of.
_MOST_EXAMPLES, _MOST_TOKENS, _MOST_PIECES = 8, 2048, 30_000


@dataclasses.dataclass(frozen=True)
class Sample:
    """The first examples of a training stream.

    Attributes:
        batch: what parse_batch makes of a few of them.
        unigram_loss: nats; cross entropy of the best answer that is the same at every masked position.
    """

    batch: dict[str, Any]
    unigram_loss: float


def read_sample(records: RecordSet, vocab_size: int, batch_size: int, seed: int, reading: Reading = AS_MADE) -> Sample:
    """Reads the first examples of the training stream, by a stream of its own.

    Args:
        records: to train on.
        vocab_size: V.
        batch_size: at most so many examples are kept.
        seed: of the training stream.
        reading: of its first stage.
    """
    length = reading.seq_length or records.max_seq_length
    rows = min(batch_size, records.num_examples, _MOST_EXAMPLES, max(1, _MOST_TOKENS // length))
    stream = make_dataset(
        records.paths,
        rows,
        records.max_seq_length,
        records.max_predictions_per_seq,
        num_examples=records.num_examples,
        seed=seed,
        reading=reading,
    )
    counts = count_masked_pieces(stream, records.num_examples, vocab_size, _MOST_PIECES)
    batch = {name: value.numpy() for name, value in next(iter(stream)).items()}
    return Sample(batch, estimate_entropy(counts) if counts.any() else math.nan)


def estimate_entropy(counts: np.ndarray) -> float:
    """Estimates the entropy in nats of the distribution that a sample was drawn from.

    That of the sample itself is too low by .4 nats for 20,000 pieces of English, as it knows nothing of the pieces
    that did not occur. Chao and Shen (2003, Environmental and Ecological Statistics 10) share the probability out
    anew, by the pieces that occurred once, and are within .1.

    Args:
        counts: int [V], how often each piece occurred; at least one did.
    """
    total, once = counts.sum(), (counts == 1).sum()
    # A sample in which every piece is a different one says nothing of how many there are.
    coverage = 1 - min(once, total - 1) / total
    shares = coverage * counts[counts > 0] / total
    return max(
        0.0, float(-(shares * np.log(shares) / -np.expm1(total * np.log1p(-np.minimum(shares, 1 - 1e-12)))).sum())
    )


def position_similarity(hidden, input_mask):
    """Computes the mean cosine similarity of two different positions of a sequence, padding left out.

    Args:
        hidden: float [B, S, H].
        input_mask: int [B, S], 1 for a token, 0 for padding.

    Returns:
        float32 scalar.
    """
    tokens = ops.cast(input_mask, "float32")
    counts = ops.sum(tokens, axis=1)
    directions = ops.normalize(ops.cast(hidden, "float32"), axis=-1) * tokens[:, :, None]
    # The sum over all pairs, of which those of a position with itself have 1 each.
    pairs = ops.sum(ops.square(ops.sum(directions, axis=1)), axis=-1) - counts
    return ops.sum(pairs) / ops.sum(counts * (counts - 1))


def attention_entropy(probabilities, input_mask):
    """Computes the mean entropy of attention as a share of the largest there is, padding left out.

    Args:
        probabilities: float32 [B, N, S, S], of queries over keys.
        input_mask: int [B, S], 1 for a token, 0 for padding.

    Returns:
        float32 scalar.
    """
    tokens = ops.cast(input_mask, "float32")
    # The logarithm is kept finite where the probability is 0, as that of padded keys.
    logs = ops.log(ops.maximum(probabilities, 1e-37))
    entropies = ops.mean(-ops.sum(probabilities * logs, axis=-1), axis=1)
    shares = entropies / ops.log(ops.sum(tokens, axis=1, keepdims=True))
    return ops.sum(shares * tokens) / ops.sum(tokens)


def pooler_saturation(pooled):
    """Computes the share of the pooler's outputs, float [B, H], within SATURATED of -1 or 1: float32 scalar."""
    return ops.mean(ops.cast(ops.abs(pooled) > SATURATED, "float32"))


def look_at_encoder(model, batch: dict[str, Any]) -> dict[str, Any]:
    """Encodes some examples without dropout, layer by layer, and computes the figures of encoder and pooler.

    Args:
        model: an AlbertForPretraining; its weights are read, nothing of it is compiled or traced.
        batch: of the Sample.

    Returns:
        float32 scalars by the names of signs_of_trouble.SIGNS' figures.
    """
    encoder, mask = model.encoder, batch["input_mask"]
    view = View.of(mask)
    hidden = model.albert.embeddings(batch["input_ids"], batch["segment_ids"])
    if encoder.embedding_projection is not None:
        hidden = encoder.embedding_projection(hidden)
    entropies = []
    for layer in range(encoder.config.num_hidden_layers):
        for block in encoder.blocks_of_layer(layer):
            entropies.append(attention_entropy(block.attention.probabilities(hidden, view), mask))
            hidden = block(hidden, view=view)
    return {
        "position_similarity": position_similarity(hidden, mask),
        "attention_entropy": sum(entropies) / len(entropies),
        "pooler_saturation": pooler_saturation(model.albert.pool(hidden[:, 0])),
    }


class _Warning:
    """A warning that is given when it becomes true, and again now and then while it stays so."""

    def __init__(self, text: str):
        self._text = text
        self._reports_true = 0

    def update(self, is_true: bool, figures: dict[str, float]) -> None:
        """Takes note of a report, and warns if it is time to."""
        if is_true and self._reports_true % _REPORTS_BETWEEN_WARNINGS == 0:
            logging.warning("%s", self._text.format(**figures))
        self._reports_true = self._reports_true + 1 if is_true else 0


class Diagnosis:
    """Figures of each report by which a run that is stuck is known, and warnings that say so.

    Args:
        model: an AlbertForPretraining.
        sample: of the examples that it is trained on.
        warmup_end: the step at which the warm-up is over; there are no warnings before.
        signs: what to warn of.
    """

    def __init__(self, model, sample: Sample, warmup_end: int, signs: Sequence[Sign] = SIGNS):
        self._sample = sample
        self._look = backend.compiled_reader(functools.partial(look_at_encoder, model), model.variables)
        self._warns_from = max(warmup_end, FEWEST_STEPS)
        self._looked_at: int | None = None
        self._signs = signs
        self._warnings = {sign.figure: _Warning(sign.text) for sign in signs}

    def report(self, step: int, metrics: dict[str, float]) -> dict[str, float]:
        """Computes the figures, and warns of what they tell.

        Args:
            step: steps taken by now.
            metrics: means since the last report, by the names of PretrainingSteps.metrics.

        Returns:
            unigram_loss; and, unless the last look was a few steps ago, position_similarity, attention_entropy and
            pooler_saturation.
        """
        looks = self._looked_at is None or step - self._looked_at >= _STEPS_BETWEEN_LOOKS
        figures = {"unigram_loss": self._sample.unigram_loss}
        if looks:
            self._looked_at = step
            figures |= {name: float(figure) for name, figure in self._look(self._sample.batch).items()}
        if step >= self._warns_from:
            known = {**metrics, **figures}
            for sign in self._signs:
                if sign.figure in known:
                    self._warnings[sign.figure].update(sign.holds(known), known)
        return figures
