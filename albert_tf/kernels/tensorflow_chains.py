"""Element-wise chains as compiled functions, for Keras's tensorflow backend; backend hands them on.

TensorFlow runs an element-wise chain operation by operation, each a pass over memory, and keeps what each needs for its
gradient. Here a chain is one compiled function forwards and one backwards, which recomputes what it needs from the
chain's inputs; the matrix products between the chains stay with TensorFlow's own library, which is faster at them than
the compiler is.
"""

import functools

import keras
import tensorflow as tf

from albert_tf.kernels.tensorflow_gradients import custom_gradient

# Numbers of a variable whose update takes longer than a compiled function's start; compiling takes a tenth of a second.
_WORTH_COMPILING = 2**16


def compiled(function):
    """The function, compiled by XLA."""
    return tf.function(function, jit_compile=True, autograph=False)


@functools.cache
def has_accelerator() -> bool:
    """Tells whether TensorFlow sees a GPU or a TPU."""
    return any(tf.config.list_logical_devices(kind) for kind in ("GPU", "TPU"))


def column_sum(x, dtype):
    """The sum over all axes but the last: [..., n] -> [n] of a dtype."""
    rows = tf.reshape(x, [-1, x.shape[-1]])
    if has_accelerator():
        return tf.cast(tf.reduce_sum(tf.cast(rows, tf.float32), axis=0), dtype)
    # As a product, which reads the matrix once.
    return tf.cast(tf.matmul(tf.ones([1, tf.shape(rows)[0]], x.dtype), rows)[0], dtype)


def row_sum(x):
    """The sum over the last axis, which is kept, in a compiled chain: float32 [..., n] -> [..., 1]."""
    # The compiler's sum of a row is slow on a CPU, where its product with ones is not; accelerators are fast at the
    # first, and round the second.
    if has_accelerator():
        return tf.reduce_sum(x, axis=-1, keepdims=True)
    return tf.matmul(x, tf.ones([tf.shape(x)[-1], 1]))


@functools.cache
def compile_biased(function, gradient):
    """A chain over the rows of a matrix that first adds a bias to them, with its gradient written out.

    Args:
        function: of (x [n, m], bias float32 [m], more tensors) to (float32 output, what the gradient wants kept).
        gradient: of the same, what was kept, and the output's gradient, to that of x, in x's dtype.
    """
    forward, backward = compiled(function), compiled(gradient)

    @custom_gradient
    def chain(x, bias, *more):
        output, kept = forward(x, bias, *more)

        def chain_gradient(upstream):
            x_gradient = backward(x, bias, *more, kept, upstream)
            return x_gradient, column_sum(x_gradient, bias.dtype), *[None] * len(more)

        return output, chain_gradient

    return chain


@functools.cache
def compile_norm(function, gradient):
    """LayerNorm of a sum, one pass forwards; what its gradients share is one pass, and each a product.

    Args:
        function: of (x [n, m], bias [m], residual [n, m], gamma [m], beta [m], more tensors) to (output [n, m], what
            the gradient wants kept).
        gradient: of the same, what was kept, and the output's gradient, to the list of the gradient of residual, that
            of the output times what gamma scales, and that of x, if it is not residual's.
    """
    forward, backward = compiled(function), compiled(gradient)

    @custom_gradient
    def norm(x, bias, residual, gamma, beta, *more):
        output, kept = forward(x, bias, residual, gamma, beta, *more)

        def norm_gradient(upstream):
            results = backward(x, bias, residual, gamma, beta, *more, kept, upstream)
            residual_gradient, products, *dropped = results
            x_gradient = dropped[0] if dropped else residual_gradient
            return (
                x_gradient,
                column_sum(x_gradient, bias.dtype),
                residual_gradient,
                column_sum(products, gamma.dtype),
                column_sum(upstream, beta.dtype),
                *[None] * len(more),
            )

        return output, norm_gradient

    return norm


@functools.cache
def compile_product(function):
    """function(x, bias) @ kernel, of which only x, bias and kernel are kept, not the product's left side.

    That is made anew when its gradient is there; were it not to wait, TensorFlow would keep the first after all.
    """
    forward = compiled(function)

    @compiled
    def backward(x, bias, upstream):
        with tf.GradientTape() as tape:
            tape.watch(x)
            output = function(x, bias)
        return tape.gradient(output, x, upstream)

    @custom_gradient
    def product(x, bias, kernel):
        def gradient(upstream):
            # Each a pass of its own: the compiler would write down what both have in common, and read it twice.
            with tf.control_dependencies([upstream]):
                left = forward(x, bias)
            x_gradient = backward(x, bias, tf.matmul(upstream, kernel, transpose_b=True))
            return x_gradient, column_sum(x_gradient, bias.dtype), tf.matmul(left, upstream, transpose_a=True)

        return tf.matmul(forward(x, bias), kernel), gradient

    return product


@compiled
def _add_to(total, gradients):
    return [tf.cast(gradient, one.dtype) + one for one, gradient in zip(total, gradients, strict=True)]


@custom_gradient
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


def assign_update(function, variables, *arguments):
    """Assigns to variables what a function makes of their values; in one pass over the memory, where they are large.

    Args:
        function: of the variables' values and the arguments to their new values; the same object each time, as it is
            compiled once for each shape.
        variables: of Keras or TensorFlow, of one shape; in a replica its own copies are meant.
        *arguments: the first a tensor of the variables' shape, the others scalar tensors or Python numbers.
    """
    values = [variable.value if isinstance(variable, keras.Variable) else variable for variable in variables]
    # A gradient may not know its own shape, as where fit leaves the batch's open.
    like = arguments[0]
    if not like.shape.is_fully_defined():
        like = tf.ensure_shape(like, values[0].shape)
    is_large = like.shape.num_elements() >= _WORTH_COMPILING
    update = _compile_update(function) if is_large else functools.partial(_update, function)
    # By their handles: a variable of several replicas is no argument of a function.
    update([value.handle for value in values], like, *arguments[1:])


def _update(function, handles, like, *arguments):
    """Gives the variables at the handles, of the shape and dtype of `like`, their new values."""
    values = [
        tf.ensure_shape(tf.raw_ops.ReadVariableOp(resource=handle, dtype=like.dtype), like.shape) for handle in handles
    ]
    for handle, value in zip(handles, function(*values, like, *arguments), strict=True):
        tf.raw_ops.AssignVariableOp(resource=handle, value=value)


@functools.cache
def _compile_update(function):
    return compiled(functools.partial(_update, function))
