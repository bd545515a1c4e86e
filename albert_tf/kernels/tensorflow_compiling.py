"""Compiling chains of operations with TensorFlow's compiler, and sums that are fast inside and outside of them."""

import functools
import os

import keras
import tensorflow as tf

# The compiler's own flag for what it leaves to a library, YNNPACK: all that it would, but sums and maxima.
_LIBRARY_FLAG, _BUT_REDUCTIONS = "--xla_cpu_experimental_ynn_fusion_type", "-reduce"
# Numbers of a variable whose update takes longer than a compiled function's start; compiling takes a tenth of a second.
_WORTH_COMPILING = 2**16


def keep_reductions() -> None:
    """Lets the compiler make sums and maxima itself, in this process and those it starts.

    Where two threads come to a compiled function for the first time at once, as the halves of a batch do, both add to
    one list what a library needs for its reductions, without a lock (TensorFlow 2.21, XLA's YnnFusionThunk), and the
    process may end in a segmentation fault. The compiler is as fast at them (docs/benchmarks). It reads its flags once,
    when something is first compiled; XLA_FLAGS stays where it says something of that library, or names a file of flags.
    """
    given = os.environ.get("XLA_FLAGS", "").strip()
    names_a_file = given and not given.startswith("-")
    if not names_a_file and _LIBRARY_FLAG not in given:
        os.environ["XLA_FLAGS"] = f"{given} {_LIBRARY_FLAG}={_BUT_REDUCTIONS}".strip()


keep_reductions()


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
