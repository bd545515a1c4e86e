"""Sequences without their padding, laid end to end, so that nothing is computed for what is not there.

Attention needs sequences side by side: it is computed in a few groups of like length, each padded to its longest.

Shapes: B batch, S sequence, T tokens that are not padding, b, s and t the same of a group, H hidden, N heads,
D = H / N, n anything.
"""

import itertools

from keras import ops

from albert_tf.kernels import backend, formulas

# More groups have less padding, and more operations to start.
_GROUPS = 4
_OF_GROUPS = ("attention_bias", "rows_of_heads", "rows_of_tokens")


class Unpadding:
    """The places of the tokens of a padded batch. Needs shapes that depend on values: not under XLA.

    What is called tokens here and in the methods are the positions that are computed: those that input_mask has, and
    such of the padding as are read or attended to nevertheless. Which of them are attended to, the mask alone says.

    Args:
        input_mask: int [B, S], 1 for a token, 0 for padding.
        num_heads: N.
        positions: int [B, P]: those that are read; None: [CLS].
        wanted: int [B, S], 1 where the output is read, padding or not; None: where there are tokens.
    """

    def __init__(self, input_mask, num_heads, positions=None, wanted=None):
        self._num_heads = num_heads
        given = ops.cast(input_mask, "int32")
        batch, length = ops.shape(given)
        self._mask = _computed(given, positions, wanted)
        self._is_full = ops.all(self._mask > 0)
        ends = ops.max(self._mask * ops.arange(1, length + 1, dtype="int32"), axis=1, initial=0)
        order = ops.cast(ops.argsort(ends), "int32")
        by_end, given_by_end = (ops.take(mask, order, axis=0) for mask in (self._mask, given))
        counts = ops.sum(by_end, axis=1)
        starts = ops.cumsum(counts) - counts
        # Where the stripped tokens stood, and, for every position, which of them is there.
        found = ops.cast(ops.nonzero(ops.reshape(by_end, (-1,)))[0], "int32")
        self._positions = ops.take(order, found // length, axis=0) * length + found % length
        last = ops.sum(counts) - 1
        self._tokens = _tokens(self._mask, ops.take(starts, ops.argsort(order), axis=0), last)
        edges = [batch * at // _GROUPS for at in range(_GROUPS + 1)]
        self._groups = []
        for begin, end in itertools.pairwise(edges):
            longest = ops.max(ops.concatenate([ops.ones((1,), "int32"), ops.take(ends, order[begin:end], axis=0)]))
            mask = by_end[begin:end, :longest]
            tokens = _tokens(mask, starts[begin:end], last)
            positions = ops.cast(ops.nonzero(ops.reshape(mask, (-1,)))[0], "int32")
            self._groups.append(
                {
                    "attention_bias": formulas.attention_bias(given_by_end[begin:end, :longest]),
                    "rows_of_heads": _rows_of_heads(tokens, num_heads),
                    "rows_of_tokens": _rows_of_tokens(positions, longest, num_heads),
                }
            )

    def tensors(self):
        """All that changes from one batch to another, as a flat list, for a loop or a branch of a graph."""
        groups = [tensor for group in self._groups for tensor in group.values()]
        return [self._mask, self._is_full, self._positions, self._tokens, *groups]

    @classmethod
    def of_tensors(cls, tensors, num_heads):
        """The inverse of `tensors`."""
        made = cls.__new__(cls)
        made._num_heads = num_heads
        made._mask, made._is_full, made._positions, made._tokens, *rest = tensors
        names = len(rest) // _GROUPS
        made._groups = [
            dict(zip(_OF_GROUPS, rest[begin : begin + names], strict=True)) for begin in range(0, len(rest), names)
        ]
        return made

    def strip(self, x):
        """float [B, S, n] -> [1, T, n], shorter sequences first; nothing is moved where there is no padding."""
        flat = ops.reshape(x, (1, -1, x.shape[-1]))
        return ops.cond(self._is_full, lambda: flat, lambda: ops.take(flat, self._positions, axis=1))

    def restore(self, x):
        """float [1, T, n] -> [B, S, n], with whatever in the padding."""
        batch, length = ops.shape(self._mask)
        flat = ops.cond(self._is_full, lambda: x, lambda: ops.take(x, self._tokens, axis=1))
        return ops.reshape(flat, (batch, length, x.shape[-1]))

    def first(self, x):
        """The first position of each sequence: float [1, T, n] -> [B, n]."""
        batch, length = ops.shape(self._mask)
        tokens = ops.where(self._is_full, ops.arange(batch, dtype="int32") * length, self._tokens[:, 0])
        return ops.take(x[0], tokens, axis=0)

    def attend(self, x, attention_bias):
        """Attention among the tokens of each sequence.

        Args:
            x: float [1, T, 3 H]: queries, keys and values side by side.
            attention_bias: float32 [B, 1, 1, S], of the whole batch.

        Returns:
            float [1, T, H].
        """
        heads, (tokens, width) = self._num_heads, ops.shape(x)[1:]
        attend = backend.formulas_for(training=False).attend_heads

        def together():
            parts = ops.unstack(formulas.part_heads(self.restore(x), heads, 3), num=3, axis=0)
            return self.strip(formulas.merge_heads(attend(*parts, attention_bias)))

        def in_groups():
            # Sequences are put side by side, and each head given its own matrix, by one lookup, and so back.
            rows = ops.reshape(x, (-1, width // 3 // heads))
            contexts = []
            for group in self._groups:
                parts = ops.unstack(ops.take(rows, group["rows_of_heads"], axis=0), num=3, axis=0)
                context = attend(*parts, group["attention_bias"])
                context = ops.reshape(context, (-1, rows.shape[1]))
                contexts.append(ops.take(context, group["rows_of_tokens"], axis=0))
            return ops.reshape(ops.concatenate(contexts), (1, -1, width // 3))

        # A group is never empty: TensorFlow's CPU library gives products of nothing a wrong shape at times.
        too_few = ops.shape(self._mask)[0] < _GROUPS
        context = ops.cond(ops.logical_or(self._is_full, too_few), together, in_groups)
        # Of x's static shape, as a loop wants it.
        return ops.reshape(context, (1, tokens, width // 3))


def _computed(mask, positions, wanted):
    """1 where something is computed, int [B, S]: at tokens, at what is read, and in sequences without a token at all.

    Padding has the same share in every softmax, MASKED_SCORE, so that where there is nothing else all of it counts.
    """
    places = ops.arange(ops.shape(mask)[1], dtype="int32")
    read = places == 0
    if positions is not None:
        read = ops.any(ops.cast(positions, "int32")[:, :, None] == places, axis=1)
    if wanted is not None:
        read = ops.logical_or(read, ops.cast(wanted, "bool"))
    is_token = mask > 0
    without_token = ops.logical_not(ops.any(is_token, axis=1, keepdims=True))
    return ops.cast(ops.logical_or(is_token, ops.logical_or(read, without_token)), "int32")


def _tokens(mask, starts, last):
    """The token at each position of `mask`, int [b, s], or one near by; `starts`, int [b], is each row's first."""
    return ops.minimum(starts[:, None] + ops.maximum(ops.cumsum(mask, axis=1) - 1, 0), last)


def _rows_of_heads(tokens, num_heads):
    """Rows of [T, 3, N, D] that make queries, keys and values: int [b, s] -> [3, b, N, s].

    Padding reads a token near by: any finite numbers do, as no token attends to them.
    """
    parts = ops.arange(3 * num_heads, dtype="int32")
    return tokens[None, :, None, :] * 3 * num_heads + ops.reshape(parts, (3, 1, num_heads, 1))


def _rows_of_tokens(positions, length, num_heads):
    """Rows of [b, N, s, D] where the tokens' contexts are: int [t], positions in [b, s], -> [t, N]."""
    heads = ops.arange(num_heads, dtype="int32")
    first = positions // length * num_heads * length + positions % length
    return first[:, None] + heads * length
