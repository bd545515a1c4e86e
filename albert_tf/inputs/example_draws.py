"""Random numbers of an example, by its number in the stream of examples alone.

They do not depend on the batch that an example is in, on which thread or host draws them, or on what was drawn before.
"""

import hashlib

import tensorflow as tf

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
