"""Element-wise chains as compiled functions, for Keras's tensorflow backend; backend_ops hands them on.

TensorFlow runs an element-wise chain operation by operation, each a pass over memory, and keeps what each needs for its
gradient. Here a chain is one compiled function forwards and one backwards, which recomputes what it needs from the
chain's inputs; the matrix products between the chains stay with TensorFlow's own library, which is faster at them than
the compiler is.
"""

import functools

import tensorflow as tf


def _compiled(function):
    return tf.function(function, jit_compile=True, autograph=False)


@functools.cache
def compile_chain(function):
    """The same function, one pass over memory forwards and one backwards; only its arguments are kept for that.

    Args:
        function: of tensors, which must have a static rank, to one tensor. Lives as long as the program.
    """
    forward = _compiled(function)

    @_compiled
    def backward(arguments, upstream):
        floats = [argument for argument in arguments if argument.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            output = function(*arguments)
        gradients = iter(tape.gradient(output, floats, upstream))
        return [next(gradients) if argument.dtype.is_floating else None for argument in arguments]

    @tf.custom_gradient
    def chain(*arguments):
        return forward(*arguments), lambda upstream: backward(arguments, upstream)

    return chain


@functools.cache
def compile_linear(function, transposed):
    """A linear chain, one pass forwards and one backwards; nothing is kept for that.

    Args:
        function: of tensors to a list of tensors.
        transposed: of the list of their gradients, to those of the arguments.
    """
    forward, backward = _compiled(function), _compiled(transposed)

    @tf.custom_gradient
    def chain(*arguments):
        return forward(*arguments), lambda *upstream: backward(*upstream)

    return chain


@functools.cache
def compile_biased(function, gradient):
    """A chain over the rows of a matrix that first adds a bias to them, with its gradient written out.

    Args:
        function: of (x [n, m], bias float32 [m], more tensors) to (float32 output, what the gradient wants kept).
        gradient: of the same, what was kept, and the output's gradient, to that of x, in x's dtype.
    """
    forward, backward = _compiled(function), _compiled(gradient)

    @tf.custom_gradient
    def chain(x, bias, *more):
        output, kept = forward(x, bias, *more)

        def chain_gradient(upstream):
            x_gradient = backward(x, bias, *more, kept, upstream)
            # The sum over the rows as a product, which reads the matrix once.
            bias_gradient = tf.matmul(tf.ones([1, tf.shape(x)[0]], x.dtype), x_gradient)[0]
            return x_gradient, tf.cast(bias_gradient, bias.dtype), *[None] * len(more)

        return output, chain_gradient

    return chain


@functools.cache
def compile_product(function):
    """function(x, bias) @ kernel, of which only x, bias and kernel are kept, not the product's left side.

    The backward pass makes the left side anew in the pass that makes the gradient of x, which costs no pass more.
    """
    forward = _compiled(function)

    @_compiled
    def backward(x, bias, upstream):
        with tf.GradientTape() as tape:
            tape.watch([x, bias])
            output = function(x, bias)
        return output, *tape.gradient(output, [x, bias], upstream)

    @tf.custom_gradient
    def product(x, bias, kernel):
        def gradient(upstream):
            left, x_gradient, bias_gradient = backward(x, bias, tf.matmul(upstream, kernel, transpose_b=True))
            return x_gradient, bias_gradient, tf.matmul(left, upstream, transpose_a=True)

        return tf.matmul(forward(x, bias), kernel), gradient

    return product


@functools.cache
def has_accelerator() -> bool:
    """Whether TensorFlow sees a GPU or a TPU."""
    return any(tf.config.list_logical_devices(kind) for kind in ("GPU", "TPU"))


@tf.custom_gradient
def row_sum(x):
    """The sum over the last axis, which is kept, in a compiled chain: float32 [..., n] -> [..., 1]."""
    # The compiler's sum of a row is slow on a CPU, where its product with ones is not; accelerators are fast at the
    # first, and round the second.
    if has_accelerator():
        total = tf.reduce_sum(x, axis=-1, keepdims=True)
    else:
        total = tf.matmul(x, tf.ones([tf.shape(x)[-1], 1]))
    return total, lambda upstream: tf.broadcast_to(upstream, tf.shape(x))


@_compiled
def _softmax_backward(probabilities, upstream, scale):
    dtype = probabilities.dtype
    probabilities, upstream = tf.cast(probabilities, tf.float32), tf.cast(upstream, tf.float32)
    inner = row_sum(probabilities * upstream)
    return tf.cast(scale * probabilities * (upstream - inner), dtype)


def masked_softmax(scores, attention_bias, scale):
    """softmax(scale * scores + attention_bias) over the last axis, in float32; only its result is kept."""

    @tf.custom_gradient
    def chain(scores, attention_bias):
        # Left to TensorFlow, which does the first half as part of the product that makes the scores.
        probabilities = tf.nn.softmax(scores * scale + tf.cast(attention_bias, scores.dtype))

        def gradient(upstream):
            return _softmax_backward(probabilities, upstream, tf.constant(scale)), None

        return probabilities, gradient

    return chain(scores, attention_bias)


@_compiled
def _add_to(total, gradients):
    return [tf.cast(gradient, one.dtype) + one for one, gradient in zip(total, gradients, strict=True)]


@tf.custom_gradient
def _lend(*both):
    count = len(both) // 2

    def gradient(*upstream):
        return [*_add_to(upstream[:count], upstream[count:]), *[None] * count]

    return list(map(tf.identity, both)), gradient


def lend_kernels(masters, copies):
    """Gives kernels in the compute dtype to one of their many users.

    The users' gradients are added up one after the other, in the dtype of the masters: left alone, TensorFlow
    keeps them all and adds at the end, and adds in the compute dtype.

    Args:
        masters: list of kernels as they are trained.
        copies: the same kernels in the compute dtype.

    Returns:
        (masters for the next user, kernels for this one).
    """
    both = _lend(*masters, *copies)
    return both[: len(masters)], both[len(masters) :]
