"""Triton kernels through JAX's Pallas: LayerNorm of a sum, and the gradient of an activation.

XLA reads the input of LayerNorm three times and that of its gradient five times, and between its kernels keeps float32
numbers. Here each number is read once and written once, in the type that it has in the model.

Shapes: T rows, H and I columns.
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

# Programs that sum vectors' gradients, each over its share of the rows: several for each processor of a GPU. The
# numbers that each has at a time: some rows.
_PROGRAMS, _AT_ONCE = 528, 4096
# Rows and columns of a tile of an activation, and the rows of a program.
_TILE_ROWS, _TILE_COLUMNS, _ROWS = 4, 512, 64
# Whether Python runs the kernels, for want of a GPU.
_INTERPRET = False


def call_kernel(kernel, grid, results, num_warps, arguments):
    """Runs a kernel: what it writes.

    Args:
        kernel: functools.partial of a function of references, first to the arguments, then to the results.
        grid: tuple, programs along each axis.
        results: jax.ShapeDtypeStruct, one or a list.
        num_warps: threads of a program, in groups of 32.
        arguments: arrays.
    """
    parameters = triton.CompilerParams(num_warps=num_warps)
    name = kernel.func.__name__.strip("_")
    call = pl.pallas_call(kernel, results, grid=grid, compiler_params=parameters, interpret=_INTERPRET, name=name)
    return call(*arguments)


def _warps(width):
    return 8 if width > 2048 else 4


def _load(ref, where, mask):
    return triton.load(ref.at[where], mask=mask, other=0.0).astype(jnp.float32)


def _columns(width):
    columns = jnp.arange(pl.next_power_of_2(width))
    return columns, columns < width


def _normalize(product, bias, residual, where, mask, width, epsilon):
    """(rows without their mean over their standard deviation; one over that): float32 [rows, columns], [rows, 1]."""
    total = _load(product, where, mask) + bias + _load(residual, where, mask)
    centred = jnp.where(mask, total - jnp.sum(total, axis=1, keepdims=True) / width, 0.0)
    scale = jax.lax.rsqrt(jnp.sum(centred * centred, axis=1, keepdims=True) / width + epsilon)
    return centred * scale, scale


def _norm_of_sum(product, bias, residual, gamma, beta, result, *, epsilon):
    width = result.shape[1]
    columns, inside = _columns(width)
    bias, gamma, beta = (_load(vector, columns, inside)[None] for vector in (bias, gamma, beta))
    where, mask = (pl.program_id(0) + jnp.arange(1)[:, None], columns[None]), inside[None]
    normalized, _ = _normalize(product, bias, residual, where, mask, width, epsilon)
    triton.store(result.at[where], (normalized * gamma + beta).astype(result.dtype), mask=mask)


def _norm_gradient(product, bias, residual, gamma, upstream, result, sums, *, epsilon, rows, at_once):
    program = pl.program_id(0)
    num_rows, width = result.shape
    columns, inside = _columns(width)
    bias, gamma = (_load(vector, columns, inside)[None] for vector in (bias, gamma))

    def add_rows(index, totals):
        numbers = program * rows + index * at_once + jnp.arange(at_once)
        where, mask = (numbers[:, None], columns[None]), (numbers < num_rows)[:, None] & inside[None]
        normalized, scale = _normalize(product, bias, residual, where, mask, width, epsilon)
        given = _load(upstream, where, mask)
        scaled = given * gamma
        along, mean = (jnp.sum(x, axis=1, keepdims=True) / width for x in (scaled * normalized, scaled))
        found = jnp.where(mask, (scaled - mean - normalized * along) * scale, 0.0)
        triton.store(result.at[where], found.astype(result.dtype), mask=mask)
        return [total + jnp.sum(x, axis=0) for total, x in zip(totals, (given * normalized, given, found), strict=True)]

    totals = jax.lax.fori_loop(0, rows // at_once, add_rows, [jnp.zeros(columns.shape, jnp.float32)] * 3)
    for place, total in enumerate(totals):
        triton.store(sums.at[program, place, columns], total, mask=inside)


@functools.partial(jax.custom_vjp, nondiff_argnums=(5,))
def norm_of_sum(product, bias, residual, gamma, beta, epsilon):
    """LayerNorm(product + bias + residual).

    Args:
        product, residual: float [T, H].
        bias, gamma, beta: float32 [H].
        epsilon: Python float.

    Returns:
        float [T, H] in product's dtype.
    """
    kernel = functools.partial(_norm_of_sum, epsilon=epsilon)
    result = jax.ShapeDtypeStruct(product.shape, product.dtype)
    arguments = (product, bias, residual, gamma, beta)
    return call_kernel(kernel, (product.shape[0],), result, _warps(product.shape[1]), arguments)


def _norm_forward(product, bias, residual, gamma, beta, epsilon):
    return norm_of_sum(product, bias, residual, gamma, beta, epsilon), (product, bias, residual, gamma)


def _norm_backward(epsilon, kept, upstream):
    num_rows, width = upstream.shape
    at_once = max(1, _AT_ONCE // pl.next_power_of_2(width))
    rows = at_once * pl.cdiv(num_rows, at_once * _PROGRAMS)
    programs = pl.cdiv(num_rows, rows)
    kernel = functools.partial(_norm_gradient, epsilon=epsilon, rows=rows, at_once=at_once)
    results = [
        jax.ShapeDtypeStruct(upstream.shape, upstream.dtype),
        jax.ShapeDtypeStruct((programs, 3, width), jnp.float32),
    ]
    found, sums = call_kernel(kernel, (programs,), results, _warps(width), (*kept, upstream))
    gamma, beta, bias = jnp.sum(sums, axis=0)
    return found, bias, found, gamma, beta


norm_of_sum.defvjp(_norm_forward, _norm_backward)


def _activation_gradient(product, bias, upstream, result, sums, *, activation):
    num_rows, width = result.shape
    program, part = pl.program_id(0), pl.program_id(1)
    columns = part * _TILE_COLUMNS + jnp.arange(_TILE_COLUMNS)
    inside = columns < width
    bias = _load(bias, columns, inside)[None]

    def add_tile(tile, total):
        rows = program * _ROWS + tile * _TILE_ROWS + jnp.arange(_TILE_ROWS)
        mask = (rows < num_rows)[:, None] & inside[None]
        where = rows[:, None], columns[None]
        _, pull = jax.vjp(activation, _load(product, where, mask) + bias)
        (found,) = pull(_load(upstream, where, mask))
        triton.store(result.at[where], found.astype(result.dtype), mask=mask)
        return total + jnp.sum(jnp.where(mask, found, 0.0), axis=0)

    total = jax.lax.fori_loop(0, _ROWS // _TILE_ROWS, add_tile, jnp.zeros(columns.shape, jnp.float32))
    triton.store(sums.at[program, columns], total, mask=inside)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def activate(product, bias, activation):
    """activation(product + bias).

    Args:
        product: float [T, I].
        bias: float32 [I].
        activation: function of a float32 tensor.

    Returns:
        float [T, I] in product's dtype.
    """
    return activation(product.astype(jnp.float32) + bias).astype(product.dtype)


def _activate_forward(product, bias, activation):
    return activate(product, bias, activation), (product, bias)


def _activate_backward(activation, kept, upstream):
    product, bias = kept
    # Triton has none of these.
    if "erf" in str(jax.make_jaxpr(activation)(jax.ShapeDtypeStruct((), jnp.float32))):
        _, pull = jax.vjp(lambda x, bias: activation(x.astype(jnp.float32) + bias), product, bias)
        return pull(upstream.astype(jnp.float32))
    num_rows, width = upstream.shape
    grid = pl.cdiv(num_rows, _ROWS), pl.cdiv(width, _TILE_COLUMNS)
    results = [
        jax.ShapeDtypeStruct(upstream.shape, upstream.dtype),
        jax.ShapeDtypeStruct((grid[0], width), jnp.float32),
    ]
    kernel = functools.partial(_activation_gradient, activation=activation)
    found, sums = call_kernel(kernel, grid, results, 4, (*kept, upstream))
    return found, jnp.sum(sums, axis=0)


activate.defvjp(_activate_forward, _activate_backward)
