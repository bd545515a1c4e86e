"""A masked-LM bias that starts from how frequent pieces are, in place of zeros.

A new model learns the frequencies of the pieces first. They can be counted instead.
"""

import numpy as np
from absl import logging

from albert_tf.inputs.pretraining_dataset import RecordSet, make_dataset
from albert_tf.pretraining.masked_pieces import count_masked_pieces

_ROWS_AT_ONCE = 256
# Pieces counted; of 30,000 kinds, all but the rarest are known then as well as they need be.
_ENOUGH = 1_000_000


def log_frequencies(counts: np.ndarray) -> np.ndarray:
    """The logarithms of the shares of all pieces; those that were not seen count as seen once. int [V] -> float32 [V].

    >>> np.exp(log_frequencies(np.array([5, 2, 0]))).round(3).tolist()
    [0.625, 0.25, 0.125]
    """
    seen = np.maximum(counts, 1)
    return np.log(seen / seen.sum()).astype(np.float32)


def initialise_output_bias(model, records: RecordSet, seed: int) -> None:
    """Gives the masked-LM head of a new model the logarithms of the pieces' frequencies for its bias.

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
