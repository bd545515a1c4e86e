"""Prints how far the kernels for GPUs are from their formulas: by case the largest errors of value and gradients.

Without a GPU Python runs the kernels.
"""

import json
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np

from albert_tf.kernels import backend, formulas, jax_gpu, jax_triton
from albert_tf.layers.base import get_activation

jax_triton._INTERPRET = jax.default_backend() != "gpu"

RNG = np.random.default_rng(0)
LABELS = jnp.asarray(RNG.integers(0, 90, 24), "int32")


def _numbers(shapes, dtype="float32"):
    scales = [shape[0] ** -0.5 if len(shape) == 2 else 1.0 for shape in shapes]
    return [jnp.asarray(RNG.normal(size=shape) * scale, dtype) for shape, scale in zip(shapes, scales, strict=True)]


def _feed_forward(activation):
    def compute(run, x, kernel, outer_kernel, bias, outer_bias, gamma, beta):
        inner, outer, norm = (kernel, bias), (outer_kernel, outer_bias), (gamma, beta, 1e-3)
        return run.feed_forward(x, inner, outer, get_activation(activation), norm)

    return compute


def _feed_forward_shapes(rows, hidden, inner):
    return [(3, rows, hidden), (hidden, inner), (inner, hidden)], [(inner,), (hidden,), (hidden,), (hidden,)]


def _self_attention(num_heads, seen):
    return lambda run, x, kernel, bias: run.self_attention(x, kernel, bias, num_heads, seen)


def _attention_of_some(run, x, kernel, bias):
    query, key, value = run.project_heads(x, kernel, bias, 4, 3)
    return run.attention(query[:, :, :6], key, value, SEEN)


def _attention_shapes(rows, length, hidden):
    return [(rows, length, hidden), (hidden, 3 * hidden)], [(3 * hidden,)]


def _seen(*lengths, of):
    return formulas.attention_bias(np.arange(of) < np.array(lengths)[:, None])


def _packed(length):
    sequences = np.sort(RNG.integers(0, 3, (2, length)), axis=1)
    return formulas.attention_bias(sequences > 0, jnp.asarray(sequences))


SEEN = _seen(32, 5, of=32)
LONG = 150
PRECISIONS = ("float32", "bfloat16", "float16")
# By name: function, shapes in the compute dtype, shapes in float32.
CASES = {
    "feed_forward": (_feed_forward("gelu"), *_feed_forward_shapes(7, 64, 600)),
    "feed_forward of many rows": (_feed_forward("gelu"), *_feed_forward_shapes(800, 16, 24)),
    "feed_forward, exact GELU": (_feed_forward("gelu_erf"), *_feed_forward_shapes(5, 48, 130)),
    "feed_forward, ReLU": (_feed_forward("relu"), *_feed_forward_shapes(5, 48, 130)),
    "self_attention": (_self_attention(4, SEEN), *_attention_shapes(2, 32, 64)),
    "self_attention, odd": (_self_attention(3, _seen(37, 1, of=37)), *_attention_shapes(2, 37, 72)),
    "self_attention, packed": (_self_attention(2, _packed(40)), *_attention_shapes(2, 40, 32)),
    "self_attention, long": (_self_attention(2, _seen(LONG, 3, of=LONG)), *_attention_shapes(2, LONG, 32)),
    "self_attention, long and packed": (_self_attention(3, _packed(LONG)), *_attention_shapes(2, LONG, 60)),
    "attention of some": (_attention_of_some, *_attention_shapes(2, 32, 64)),
    "vocabulary_sums": (lambda run, scores, bias: run.vocabulary_sums(scores, bias, LABELS), [(24, 90)], [(90,)]),
}


def _with_gradients(function, run, arguments):
    result, pull = jax.vjp(lambda *arguments: function(run, *arguments), *arguments)
    # Of numbers of many sizes, so that every element has a gradient of its own.
    upstream = jnp.linspace(-1.0, 2.0, result.size).reshape(result.shape).astype(result.dtype)
    return [result, *pull(upstream)]


def _errors(name, dtype):
    function, shapes, vectors = CASES[name]
    arguments = _numbers(shapes, dtype) + _numbers(vectors)
    with jax.default_matmul_precision("highest"):
        expected = _with_gradients(function, formulas, [argument.astype("float32") for argument in arguments])
        found = _with_gradients(function, jax_gpu, arguments)
    assert [x.dtype for x in found[1:]] == [argument.dtype for argument in arguments]
    return [float(jnp.abs(x - y).max() / jnp.abs(y).max()) for x, y in zip(found, expected, strict=True)]


if __name__ == "__main__":
    errors = {f"{name}: {dtype}": _errors(name, dtype) for name in CASES for dtype in PRECISIONS}
    # Of NVIDIA's Hopper and Turing, of AMD, of a processor.
    devices = [types.SimpleNamespace(compute_capability=found) for found in ("9.0", "7.5", "gfx90a")]
    chosen = [backend._takes_kernels(device) for device in (*devices, types.SimpleNamespace())]
    sys.stdout.write(json.dumps({"errors": errors, "chosen": chosen}))
