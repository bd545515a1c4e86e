"""Random numbers of an example, by its number in the stream of examples alone.

They do not depend on the batch that an example is in, on which thread or host draws them, or on what was drawn before.
"""

import hashlib

import tensorflow as tf

from albert_tf.records.unmasked_records import UnmaskedBatch

_PHILOX = 1  # tf.random.Algorithm.PHILOX
_NUMBERS_A_BLOCK = 2  # float64 numbers of a Philox counter


class ExampleDraws:
    """An endless stream of Philox numbers, so many of them for each example."""

    def __init__(self, purpose: str, count: int):
        """Takes what the numbers are for, seed included, and how many an example has; an even number of them."""
        if count % _NUMBERS_A_BLOCK:
            raise ValueError(f"count must be even. Received {count}.")
        self._key = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:8], "little")
        self._count = count

    def draw(self, first_example, rows):
        """The numbers of examples that follow one another: float64 [rows, count] from [0, 1).

        Args:
            first_example: int64 scalar, the number of the first one in the stream.
            rows: int scalar.
        """
        block = tf.cast(first_example, tf.uint64) * (self._count // _NUMBERS_A_BLOCK)
        return tf.raw_ops.StatelessRandomUniformV2(
            shape=[rows, self._count],
            key=tf.constant([self._key], tf.uint64),
            counter=tf.stack([block, tf.zeros_like(block)]),
            alg=_PHILOX,
            dtype=tf.float64,
        )


class OrderDrawer:
    """Puts the segments of half of the examples in order, and swaps those of the others, anew in every epoch.

    An example of sentence order that keeps its order is seen with the same answer in every epoch, and a small corpus is
    learned by heart. The official code has several copies of its text in the records, each with an order of its own.
    """

    def __init__(self, seed: int, stream: str):
        """Takes what decides the draws: a seed, and what the examples are for."""
        self._draws = ExampleDraws(f"order/{stream}/{seed}", 2)

    def redraw(self, batch: UnmaskedBatch, first_example) -> UnmaskedBatch:
        """The batch with new orders and labels; an example of one segment stays as it is.

        Args:
            batch: examples of sentence order that follow one another in the stream, label 1 where they are swapped.
            first_example: int64 scalar, the number of the first one.
        """
        drawn = tf.cast(self._draws.draw(first_example, tf.shape(batch.labels)[0])[:, 0] >= 0.5, tf.int32)
        labels = tf.where(batch.lengths > batch.first_lengths, drawn, batch.labels)
        # [CLS] A [SEP] B [SEP] to [CLS] B [SEP] A [SEP]: each segment goes with the [SEP] after it.
        swapped_lengths = batch.lengths - batch.first_lengths + 1
        place, first = tf.range(batch.input_ids.shape[1])[None], swapped_lengths[:, None]
        source = tf.where(place < first, place + batch.first_lengths[:, None] - 1, place - first + 1)
        is_other = labels != batch.labels
        moves = is_other[:, None] & (place > 0) & (place < batch.lengths[:, None])
        source = tf.where(moves, source, place)
        ids, boundary = (tf.gather(values, source, batch_dims=1) for values in (batch.input_ids, batch.boundary))
        first_lengths = tf.where(is_other, swapped_lengths, batch.first_lengths)
        return UnmaskedBatch(ids, batch.lengths, first_lengths, boundary, labels)
