"""The formulas on NVIDIA GPUs, for JAX: attention in one kernel, and each chain between two products.

The products stay with the compiler, which tries out whose kernels are the fastest for them. What drops anything is
computed as the formulas say.
"""

import jax
import jax.numpy as jnp

from albert_tf.kernels import formulas, jax_triton
from albert_tf.kernels.formulas import attention, attention_at, attention_at_few, project, project_heads
from albert_tf.kernels.jax_attention import attend_to_all

__all__ = [
    "add_projection",
    "attention",
    "attention_at",
    "attention_at_few",
    "feed_forward",
    "project",
    "project_heads",
    "self_attention",
    "vocabulary_sums",
]

# Numbers of a head that a program's registers hold.
_LARGEST_HEAD = 128


def self_attention(x, kernel, bias, num_heads, seen, rate=0.0, keep=()):
    """As formulas.self_attention, in 16 bits."""
    batch, _, width = x.shape
    if keep or x.dtype.itemsize != 2 or width // num_heads > _LARGEST_HEAD:
        return formulas.self_attention(x, kernel, bias, num_heads, seen, rate, keep)
    seen = jnp.broadcast_to(seen, (batch, *seen.shape[1:]))[:, 0]
    return attend_to_all(formulas.project(x, kernel), bias, seen, num_heads)


def add_projection(x, kernel, bias, residual, norm, rate=0.0, keep=()):
    """As formulas.add_projection."""
    if keep:
        return formulas.add_projection(x, kernel, bias, residual, norm, rate, keep)
    width = kernel.shape[1]
    product = formulas.project(x, kernel).reshape(-1, width)
    return jax_triton.norm_of_sum(product, bias, residual.reshape(-1, width), *norm).reshape(residual.shape)


def feed_forward(x, inner, outer, activation, norm, rate=0.0, keep=()):
    """As formulas.feed_forward."""
    kernel, bias = inner
    product = formulas.project(x, kernel)
    hidden = jax_triton.activate(product.reshape(-1, kernel.shape[1]), bias, activation)
    return add_projection(hidden.reshape(product.shape), *outer, x, norm, rate, keep)


@jax.custom_vjp
def vocabulary_sums(scores, bias, labels):
    """As formulas.vocabulary_sums, whose gradient JAX would scatter, and keep in float32."""
    return formulas.vocabulary_sums(scores, bias, labels)


def _vocabulary_forward(scores, bias, labels):
    log_sum = jax.nn.logsumexp(scores.astype(jnp.float32) + bias, axis=-1, keepdims=True)
    return vocabulary_sums(scores, bias, labels), (scores, bias, labels, log_sum)


def _vocabulary_backward(kept, upstream):
    scores, bias, labels, log_sum = kept
    words = jax.lax.broadcasted_iota(labels.dtype, scores.shape, 1)
    shares = jnp.exp(scores.astype(jnp.float32) + bias - log_sum)
    found = (shares - (words == labels[:, None])) * upstream[:, :1]
    return found.astype(scores.dtype), jnp.sum(found, axis=0), None


vocabulary_sums.defvjp(_vocabulary_forward, _vocabulary_backward)
