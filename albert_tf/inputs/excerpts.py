"""Shorter examples cut out of longer ones, for a run that begins with short text.

B examples, S tokens of a record, T tokens of an excerpt.
"""

import dataclasses

import tensorflow as tf

from albert_tf.inputs.example_draws import ExampleDraws
from albert_tf.records.unmasked_records import UnmaskedBatch
from albert_tf.tokenization.packing import truncated_lengths


@dataclasses.dataclass(frozen=True)
class Cutter:
    """Cuts examples down to so many tokens, as truncate_seq_pair of the official code does, with other draws.

    The longer segment is cut before the shorter one is, until both have room. What remains of a segment may lie
    anywhere in it, whatever the label: a cut that kept the two segments adjacent would give away their order, as only
    in one of the two would the first segment end with its sentence.

    Attributes:
        length: T.
        seed: of the draws.
        stream: what the examples are for.
    """

    length: int
    seed: int
    stream: str

    def cut(self, batch: UnmaskedBatch, first_example) -> UnmaskedBatch:
        """The batch with examples of at most T tokens.

        What is cut out of an example depends on the seed and on the example's number in the stream alone.

        Args:
            batch: examples that follow one another in the stream, [B, S].
            first_example: int64 scalar, the number of the first one.
        """
        first = batch.first_lengths - 2
        has_second = tf.cast(batch.lengths > batch.first_lengths, tf.int32)
        second = (batch.lengths - batch.first_lengths - 1) * has_second
        room = self.length - 2 - has_second
        kept_first, kept_second = truncated_lengths(first, second, room, tf.minimum, tf.maximum)
        purpose = f"excerpts/{self.stream}/{self.length}/{self.seed}"
        draws = ExampleDraws(purpose, 2).draw(first_example, tf.shape(batch.labels)[0])
        skipped = [
            tf.cast(draws[:, place] * tf.cast(whole - kept + 1, tf.float64), tf.int32)
            for place, (whole, kept) in enumerate([(first, kept_first), (second, kept_second)])
        ]
        first_lengths = kept_first + 2
        lengths = first_lengths + (kept_second + 1) * has_second
        # Where each token of the excerpt stood: [CLS], the first segment, [SEP], the second segment, [SEP].
        place = tf.range(self.length)[None]
        in_first = place < (first_lengths - 1)[:, None]
        in_second = place < (lengths - 1)[:, None]
        source = tf.where(
            in_first,
            place + skipped[0][:, None],
            tf.where(in_second, place + (batch.first_lengths - first_lengths + skipped[1])[:, None], 0),
        )
        source = tf.where(place == 0, 0, source)
        source = tf.where(place == (first_lengths - 1)[:, None], (batch.first_lengths - 1)[:, None], source)
        source = tf.where(place == (lengths - 1)[:, None], (batch.lengths - 1)[:, None], source)
        opens_segment = (place == 1) | (place == first_lengths[:, None])
        inside = place < lengths[:, None]
        ids, boundary = (tf.gather(values, source, batch_dims=1) for values in (batch.input_ids, batch.boundary))
        return UnmaskedBatch(
            input_ids=tf.where(inside, ids, 0),
            lengths=lengths,
            first_lengths=first_lengths,
            boundary=(boundary | opens_segment) & inside,
            labels=batch.labels,
        )
