"""The order of an example's two segments, drawn when it is read: anew in every epoch.

An example of sentence order that keeps its order is seen with the same answer in every epoch, and a small corpus is
learned by heart. The official code has several copies of its text in the records, each with an order of its own.
"""

import tensorflow as tf

from albert_tf.inputs.example_draws import ExampleDraws
from albert_tf.records.unmasked_records import UnmaskedBatch


class OrderDrawer:
    """Puts the segments of half of the examples in order, and swaps those of the others."""

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
