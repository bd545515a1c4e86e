"""Attention in Triton kernels that read queries, keys and values where their product left them, side by side.

Their gradients are written there too; cuDNN's kernels want copies of each. Of a short sequence one program has all
scores of a head to itself; of a longer one it sees some keys at a time (Dao et al., 2022, arXiv 2205.14135).

Shapes: B batch, S sequence, H hidden, N heads, D = H / N, R rows and C columns of scores.
"""

import functools
import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from albert_tf.kernels.jax_triton import call_kernel

# Tokens whose scores, in float32 and with their gradients, a program's registers hold.
_MOST_AT_ONCE = 128
# Of a longer sequence: the tokens of a program, and of the others those that it sees at a time.
_OWN, _OTHERS = 128, 64
_QUERIES, _KEYS, _VALUES = range(3)
# Threads of a program, in groups of 32: what was fastest on an H100 with heads of 64.
_WARPS_AT_ONCE, _WARPS = 8, 4


def _times(left, right, axes=(1, 0)):
    """The product over an axis of each, in float32."""
    dimensions = (((axes[0],), (axes[1],)), ((), ()))
    return jax.lax.dot_general(left, right, dimensions, preferred_element_type=jnp.float32)


class _Head:
    """One head of one sequence: where its numbers are in tensors [B S, n H]."""

    def __init__(self, length, size):
        self.row, self.head = pl.program_id(0), pl.program_id(1)
        self._length, self._size = length, size
        self._inside = jnp.arange(max(16, pl.next_power_of_2(size)))
        self.is_column = self._inside < size
        self.scale = 1.0 / math.sqrt(size)

    def _columns(self, width=0, part=0):
        """The columns of this head in the part of that number of several tensors side by side, of H columns each."""
        return part * width + self.head * self._size + self._inside

    def _where(self, ref, tokens, part, parts):
        rows = (self.row * self._length + tokens)[:, None]
        mask = (tokens < self._length)[:, None] & self.is_column[None]
        return (rows, self._columns(ref.shape[1] // parts, part)[None]), mask

    def read(self, ref, tokens, part=0, parts=1):
        """float [tokens, D], zero where there is none."""
        where, mask = self._where(ref, tokens, part, parts)
        return triton.load(ref.at[where], mask=mask, other=0.0)

    def write(self, ref, tokens, value, part=0, parts=1):
        """Puts back what `read` would read."""
        where, mask = self._where(ref, tokens, part, parts)
        triton.store(ref.at[where], value.astype(ref.dtype), mask=mask)

    def projected(self, product, bias, tokens, part):
        """Queries, keys or values: float [tokens, D]."""
        value = self.read(product, tokens, part, 3)
        vector = triton.load(bias.at[self._columns(bias.shape[0] // 3, part)], mask=self.is_column, other=0.0)
        return value + vector[None].astype(value.dtype)

    def seen(self, ref, asking, tokens, turned=False):
        """Numbers added to the scores: float32 [R, C], or [1, C]; -inf for keys that are none. Turned: [C, R]."""
        is_key = tokens < self._length
        if ref.shape[1] == 1:
            found = triton.load(ref.at[self.row, 0, tokens], mask=is_key, other=-jnp.inf)
            return found[:, None] if turned else found[None]
        asking = jnp.minimum(asking, self._length - 1)
        where = (asking[None], tokens[:, None]) if turned else (asking[:, None], tokens[None])
        is_key = is_key[:, None] if turned else is_key[None]
        mask = jnp.broadcast_to(is_key, jnp.broadcast_shapes(where[0].shape, where[1].shape))
        return triton.load(ref.at[(self.row, *where)], mask=mask, other=-jnp.inf)

    def read_row(self, ref, tokens):
        """float32 [tokens] of [B, N, S]."""
        return triton.load(ref.at[self.row, self.head, tokens], mask=tokens < self._length, other=0.0)

    def write_row(self, ref, tokens, value):
        """Puts back what `read_row` would read."""
        triton.store(ref.at[self.row, self.head, tokens], value, mask=tokens < self._length)

    def write_sums(self, ref, place, gradients):
        """Writes the sums over tokens of gradients by part, float32 [tokens, D], to [B, places, 3, H]."""
        for part, gradient in gradients.items():
            where = (self.row, place, part, self._columns())
            triton.store(ref.at[where], jnp.sum(gradient, axis=0), mask=self.is_column)


def _probabilities(head, query, key, seen, tokens):
    scores = _times(query, key, (1, 1)) * head.scale + head.seen(seen, tokens, tokens)
    powers = jnp.exp(scores - jnp.max(scores, axis=1, keepdims=True))
    return powers / jnp.sum(powers, axis=1, keepdims=True)


def _attention_at_once(product, bias, seen, result, *, length, size):
    head, tokens = _Head(length, size), jnp.arange(max(16, pl.next_power_of_2(length)))
    query, key, value = (head.projected(product, bias, tokens, part) for part in range(3))
    shares = _probabilities(head, query, key, seen, tokens)
    head.write(result, tokens, _times(shares.astype(value.dtype), value))


def _attention_gradient_at_once(product, bias, seen, upstream, result, sums, *, length, size):
    head, tokens = _Head(length, size), jnp.arange(max(16, pl.next_power_of_2(length)))
    query, key, value = (head.projected(product, bias, tokens, part) for part in range(3))
    shares = _probabilities(head, query, key, seen, tokens)
    given = head.read(upstream, tokens)
    of_shares = _times(given, value, (1, 1))
    of_scores = shares * (of_shares - jnp.sum(shares * of_shares, axis=1, keepdims=True)) * head.scale
    of_scores = jnp.where((tokens < length)[:, None], of_scores, 0.0).astype(value.dtype)
    found = {
        _QUERIES: _times(of_scores, key),
        _KEYS: _times(of_scores, query, (0, 0)),
        _VALUES: _times(shares.astype(value.dtype), given, (0, 0)),
    }
    for part, gradient in found.items():
        head.write(result, tokens, gradient, part, 3)
    head.write_sums(sums, 0, found)


def _attention(product, bias, seen, result, log_sums, *, length, size):
    head, own = _Head(length, size), pl.program_id(2) * _OWN + jnp.arange(_OWN)
    query = head.projected(product, bias, own, _QUERIES)

    def see(index, state):
        most, total, context = state
        others = index * _OTHERS + jnp.arange(_OTHERS)
        key, value = (head.projected(product, bias, others, part) for part in (_KEYS, _VALUES))
        scores = _times(query, key, (1, 1)) * head.scale + head.seen(seen, own, others)
        more = jnp.maximum(most, jnp.max(scores, axis=1))
        powers, before = jnp.exp(scores - more[:, None]), jnp.exp(most - more)
        context = context * before[:, None] + _times(powers.astype(value.dtype), value)
        return more, total * before + jnp.sum(powers, axis=1), context

    begin = (jnp.full((_OWN,), -1e30, jnp.float32), jnp.zeros((_OWN,), jnp.float32))
    begin += (jnp.zeros((_OWN, head.is_column.shape[0]), jnp.float32),)
    most, total, context = jax.lax.fori_loop(0, pl.cdiv(length, _OTHERS), see, begin)
    head.write(result, own, context / total[:, None])
    head.write_row(log_sums, own, most + jnp.log(total))


def _attention_gradient(product, bias, seen, upstream, log_sums, deltas, result, sums, *, length, size):
    head, own = _Head(length, size), pl.program_id(2) * _OWN + jnp.arange(_OWN)
    turns = pl.cdiv(length, _OTHERS)
    nothing = jnp.zeros((_OWN, head.is_column.shape[0]), jnp.float32)

    # First the gradients of its keys and values, from one part of the queries after another: scores [keys, queries].
    key, value = (head.projected(product, bias, own, part) for part in (_KEYS, _VALUES))

    def ask(index, state):
        others = index * _OTHERS + jnp.arange(_OTHERS)
        query, given = head.projected(product, bias, others, _QUERIES), head.read(upstream, others)
        scores = _times(key, query, (1, 1)) * head.scale + head.seen(seen, others, own, turned=True)
        shares = jnp.exp(scores - head.read_row(log_sums, others)[None])
        shares = jnp.where((others < length)[None], shares, 0.0)
        of_scores = shares * (_times(value, given, (1, 1)) - head.read_row(deltas, others)[None])
        return (
            state[0] + _times(of_scores.astype(query.dtype), query),
            state[1] + _times(shares.astype(given.dtype), given),
        )

    of_keys, of_values = jax.lax.fori_loop(0, turns, ask, (nothing, nothing))
    of_keys = of_keys * head.scale
    head.write(result, own, of_keys, _KEYS, 3)
    head.write(result, own, of_values, _VALUES, 3)
    head.write_sums(sums, pl.program_id(2), {_KEYS: of_keys, _VALUES: of_values})

    # Then those of its queries, from one part of the keys after another.
    query, given = head.projected(product, bias, own, _QUERIES), head.read(upstream, own)
    log_sum, delta = head.read_row(log_sums, own)[:, None], head.read_row(deltas, own)[:, None]

    def answer(index, of_queries):
        others = index * _OTHERS + jnp.arange(_OTHERS)
        key, value = (head.projected(product, bias, others, part) for part in (_KEYS, _VALUES))
        scores = _times(query, key, (1, 1)) * head.scale + head.seen(seen, own, others)
        shares = jnp.exp(scores - log_sum)
        of_scores = shares * (_times(given, value, (1, 1)) - delta)
        return of_queries + _times(of_scores.astype(key.dtype), key)

    of_queries = jax.lax.fori_loop(0, turns, answer, nothing) * head.scale
    of_queries = jnp.where((own < length)[:, None], of_queries, 0.0)
    head.write(result, own, of_queries, _QUERIES, 3)
    head.write_sums(sums, pl.program_id(2), {_QUERIES: of_queries})


def _warps(sizes):
    return _WARPS if sizes["size"] <= 64 else 2 * _WARPS


def _shapes(product, num_heads):
    batch, length, width = product.shape
    return batch, length, width // 3, {"length": length, "size": width // 3 // num_heads}


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def attend_to_all(product, bias, seen, num_heads):
    """Self-attention of the queries, keys and values product + bias.

    Args:
        product: float [B, S, 3 H].
        bias: float32 [3 H].
        seen: float32 [B, 1, S] or [B, S, S]: to be added to the scores.
        num_heads: N.

    Returns:
        float [B, S, H] in product's dtype.
    """
    return _forward(product, bias, seen, num_heads)[0]


def _forward(product, bias, seen, num_heads):
    batch, length, hidden_size, sizes = _shapes(product, num_heads)
    arguments = (product.reshape(batch * length, -1), bias, seen)
    result = jax.ShapeDtypeStruct((batch * length, hidden_size), product.dtype)
    if length <= _MOST_AT_ONCE:
        kernel = functools.partial(_attention_at_once, **sizes)
        context, log_sums = call_kernel(kernel, (batch, num_heads), result, _WARPS_AT_ONCE, arguments), None
    else:
        kernel = functools.partial(_attention, **sizes)
        results = [result, jax.ShapeDtypeStruct((batch, num_heads, length), jnp.float32)]
        grid = (batch, num_heads, pl.cdiv(length, _OWN))
        context, log_sums = call_kernel(kernel, grid, results, _warps(sizes), arguments)
    context = context.reshape(batch, length, hidden_size)
    return context, (product, bias, seen, None if log_sums is None else context, log_sums)


def _backward(num_heads, kept, upstream):
    product, bias, seen, context, log_sums = kept
    batch, length, hidden_size, sizes = _shapes(product, num_heads)
    arguments = (product.reshape(batch * length, -1), bias, seen, upstream.reshape(batch * length, -1))
    places = 1 if log_sums is None else pl.cdiv(length, _OWN)
    results = [
        jax.ShapeDtypeStruct((batch * length, 3 * hidden_size), product.dtype),
        jax.ShapeDtypeStruct((batch, places, 3, hidden_size), jnp.float32),
    ]
    if log_sums is None:
        kernel = functools.partial(_attention_gradient_at_once, **sizes)
        found, sums = call_kernel(kernel, (batch, num_heads), results, _WARPS_AT_ONCE, arguments)
    else:
        products = (upstream.astype(jnp.float32) * context).reshape(batch, length, num_heads, -1)
        deltas = jnp.sum(products, axis=-1).transpose(0, 2, 1)
        kernel = functools.partial(_attention_gradient, **sizes)
        found, sums = call_kernel(
            kernel, (batch, num_heads, places), results, _warps(sizes), (*arguments, log_sums, deltas)
        )
    return found.reshape(product.shape), jnp.sum(sums, axis=(0, 1)).reshape(-1), None


attend_to_all.defvjp(_forward, _backward)
