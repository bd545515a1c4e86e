"""Sequences without their padding, laid end to end, so that nothing is computed for what is not there.

Shapes: B batch, S sequence, T tokens that are not padding, n anything.
"""

from keras import ops


class Unpadding:
    """Where the tokens of a padded batch stand. Needs shapes that depend on values: not under XLA.

    Args:
        input_mask: int [B, S], 1 for a token, 0 for padding; the first position of a sequence is a token.
    """

    def __init__(self, input_mask):
        self._mask = ops.cast(input_mask, "int32")
        flat = ops.reshape(self._mask, (-1,))
        self._rows = ops.cast(ops.nonzero(flat)[0], "int32")
        # Padding reads the token before it: any finite numbers do, as no token attends to them.
        self._last_token = ops.maximum(ops.cumsum(flat) - 1, 0)
        self._is_full = ops.all(flat > 0)

    def strip(self, x):
        """float [B, S, n] -> [1, T, n]; nothing is moved where there is no padding."""
        flat = ops.reshape(x, (1, -1, x.shape[-1]))
        return ops.cond(self._is_full, lambda: flat, lambda: ops.take(flat, self._rows, axis=1))

    def restore(self, x):
        """float [1, T, n] -> [B, S, n], with whatever in the padding."""
        batch, length = ops.shape(self._mask)
        flat = ops.cond(self._is_full, lambda: x, lambda: ops.take(x, self._last_token, axis=1))
        return ops.reshape(flat, (batch, length, x.shape[-1]))

    def restore_with_zeros(self, x):
        """float [1, T, n] -> [B, S, n], with zeros in the padding."""
        return self.restore(x) * ops.cast(self._mask[:, :, None], x.dtype)
