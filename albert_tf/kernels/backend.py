"""The code that must differ by Keras backend: stateless random draws, and element-wise chains compiled for TensorFlow.

Draws: keras.random draws from a state that a recomputation (remat), a restart or a second replica would see changed; a
stateless draw has no such memory. TensorFlow and JAX have one each; their numbers differ.

Chains: tensorflow_chains.py and tensorflow_attention.py make each a compiled function for TensorFlow. JAX compiles the
whole step, so there the chains are plain functions. An optimizer's update is such a chain too.
"""

import keras
import numpy as np
from keras import ops

from albert_tf.kernels.dropping import drop

_BACKEND = keras.backend.backend()


if _BACKEND == "tensorflow":
    import tensorflow as tf

    from albert_tf.kernels.tensorflow_attention import attend, compile_split
    from albert_tf.kernels.tensorflow_chains import (
        assign_update,
        compile_biased,
        compile_norm,
        compile_product,
        has_accelerator,
        lend_kernels,
        row_sum,
    )
    from albert_tf.kernels.tensorflow_gradients import remat

    # The same numbers with and without XLA; "auto_select" is not.
    _ALGORITHM = "philox"

    def fold_in(seed, data):
        """A new seed, int32 [2], made of a seed [2] and an integer."""
        return tf.random.fold_in(tf.cast(seed, tf.int32), data, alg=_ALGORITHM)

    def keep_mask(shape, rate, seed):
        """bool of a shape: True with probability 1 - rate."""
        # Whole int32 numbers: XLA makes other floats of the same bits than TensorFlow's own kernels do.
        draws = tf.random.stateless_uniform(
            shape, tf.cast(seed, tf.int32), minval=None, maxval=None, dtype=tf.int32, alg=_ALGORITHM
        )
        return draws >= round(rate * 2**32) - 2**31

    # A product with a bias added by this operation, and an activation of that, are one kernel outside training.
    add_bias = tf.nn.bias_add

    # Over the last axis. Keras's own warns of an axis of 1, which a text of one token has by right.
    softmax = tf.nn.softmax

    def inference_norm(x, gamma, beta, epsilon, layer_norm):
        """LayerNorm over the last axis, its statistics in float32, which TensorFlow makes one kernel outside training.

        Args:
            x: float [..., H].
            gamma, beta: [H].
            epsilon: Python float.
            layer_norm: the same in keras.ops, for other backends.

        Returns:
            float [..., H] in x's dtype.
        """
        width = x.shape[-1]
        # Each row is a channel of its own: what Keras 2 did, and the pattern that TensorFlow looks for.
        flat = tf.reshape(x, [-1, width])
        rows = tf.shape(flat)[0]
        nothing = tf.constant([], tf.float32)
        normalised = tf.raw_ops.FusedBatchNormV3(
            x=tf.reshape(flat, [1, rows, width, 1]),
            scale=tf.fill([rows], 1.0),
            offset=tf.fill([rows], 0.0),
            mean=nothing,
            variance=nothing,
            epsilon=epsilon,
            data_format="NCHW",
            is_training=True,
        ).y
        normalised = tf.reshape(normalised, tf.shape(flat)) * tf.cast(gamma, x.dtype) + tf.cast(beta, x.dtype)
        return tf.reshape(normalised, tf.shape(x))

    def runs_operation_by_operation():
        """Tells whether each operation is shared among threads, and ends before the next begins."""
        return not has_accelerator()

    def concatenate_parts(function, count, dtypes):
        """The lists function(0) ... function(count - 1), two of which are computed at a time, concatenated.

        Args:
            function: function of an int32 scalar to a list of tensors [n, ...], whose n may differ.
            count: int32 scalar, at least 1.
            dtypes: of the tensors.

        Returns:
            list of tensors [N, ...].
        """
        shapes = [tf.TensorShape(None)] * len(dtypes)

        def write(part, arrays):
            results = function(part)
            shapes[:] = [tf.TensorShape([None, *result.shape[1:]]) for result in results]
            return part + 1, [array.write(part, result) for array, result in zip(arrays, results, strict=True)]

        arrays = [tf.TensorArray(dtype, size=count, infer_shape=False) for dtype in dtypes]
        _, arrays = tf.while_loop(lambda part, _: part < count, write, (0, arrays), parallel_iterations=2)
        return [tf.ensure_shape(array.concat(), shape) for array, shape in zip(arrays, shapes, strict=True)]

    def read(variable):
        """The value of a weight as a tensor; on a replica its own copy's."""
        return tf.convert_to_tensor(variable)

    def known_values(x):
        """The values of a tensor or an array as an array; None in a graph, where there are none yet."""
        if isinstance(x, tf.Tensor):
            return x.numpy() if hasattr(x, "numpy") else None
        return x if isinstance(x, np.ndarray) else None

    def repeat(function, begin, end, x):
        """function(end - 1, ... function(begin, x)) in a loop of the device.

        Args:
            function: of an int32 scalar and x to x's like.
            begin, end: Python integers.
            x: a tensor.
        """
        # Of a known number of turns, without which a compiled step has no gradient.
        _, x = tf.while_loop(
            lambda at, _: at < end,
            lambda at, x: (at + 1, function(at, x)),
            (tf.constant(begin, tf.int32), x),
            maximum_iterations=end - begin,
        )
        return x

else:
    if _BACKEND == "jax":
        import jax

        remat = jax.checkpoint

        def fold_in(seed, data):
            """A new seed, uint32 [2], made of a seed [2] and an integer."""
            return jax.random.fold_in(jax.numpy.asarray(seed).astype("uint32"), data)

        def keep_mask(shape, rate, seed):
            """bool of a shape: True with probability 1 - rate."""
            return jax.random.bernoulli(jax.numpy.asarray(seed).astype("uint32"), 1.0 - rate, shape)

        def known_values(x):
            """The values of an array; None where it is traced, which has none yet."""
            is_known = isinstance(x, np.ndarray | jax.Array) and not isinstance(x, jax.core.Tracer)
            return np.asarray(x) if is_known else None

        def repeat(function, begin, end, x):
            """function(end - 1, ... function(begin, x)) in a loop of the device."""
            # Of Python integers, which give it a gradient; jax.lax.while_loop has none.
            return jax.lax.fori_loop(begin, end, function, x)

    else:
        keep_mask = None

        def known_values(x):
            """The values of an array; None of a tensor: not looked at, whichever backend this is."""
            return x if isinstance(x, np.ndarray) else None

        def repeat(function, begin, end, x):
            """function(end - 1, ... function(begin, x))."""
            for at in range(begin, end):
                x = function(at, x)
            return x

        def remat(function):
            """The function itself: recomputation is written for the TensorFlow and JAX backends of Keras."""
            return function

        def fold_in(seed, data):
            """Refuses: dropout is written for the TensorFlow and JAX backends of Keras."""
            raise NotImplementedError(f"Dropout needs Keras's tensorflow or jax backend; this is {_BACKEND!r}.")

    def assign_update(function, variables, *arguments):
        """Assigns to variables what function(*variables, *arguments) returns."""
        for variable, value in zip(variables, function(*variables, *arguments), strict=True):
            variable.assign(value)

    def runs_operation_by_operation():
        """Tells whether each operation is shared among threads, and ends before the next: not in a compiled step."""
        return False

    def read(variable):
        """The value of a weight as a tensor."""
        return ops.convert_to_tensor(variable)

    softmax = ops.softmax

    def row_sum(x):
        """The sum over the last axis, which is kept: [..., n] -> [..., 1]."""
        return ops.sum(x, axis=-1, keepdims=True)

    def add_bias(x, bias):
        """x + bias: float [n, m], [m] -> [n, m]."""
        return x + bias

    def inference_norm(x, gamma, beta, epsilon, layer_norm):
        """LayerNorm over the last axis, computed in float32; [..., H] in x's dtype."""
        return ops.cast(layer_norm(ops.cast(x, "float32"), gamma, beta, epsilon), x.dtype)

    def compile_norm(function, gradient):
        """function without what it keeps; the backend compiles the whole step and finds the gradient by itself."""
        return lambda *arguments: function(*arguments)[0]

    def compile_split(function, transposed):
        """The function, its result taken apart; the backend compiles the whole step and finds the gradient itself."""
        return lambda x, bias: ops.unstack(function(x, bias), axis=0)

    def compile_biased(function, gradient):
        """function without what it keeps; the backend compiles the whole step and finds the gradient by itself."""
        return lambda x, bias, *more: function(x, bias, *more)[0]

    def compile_product(function):
        """function(x, bias) @ kernel."""
        return lambda x, bias, kernel: ops.matmul(function(x, bias), kernel)

    def attend(query, key, value, attention_bias, scale, dropout, layout):
        """softmax(scale * query @ key^T + attention_bias) @ value, softmax in float32."""
        (rate, keep), (merge, _) = dropout, layout
        scores = ops.matmul(query, ops.swapaxes(key, 2, 3))
        probabilities = ops.softmax(ops.cast(scores, "float32") * scale + attention_bias, axis=-1)
        return merge(ops.matmul(ops.cast(drop(probabilities, rate, keep), value.dtype), value))

    def lend_kernels(masters, copies):
        """(masters for the next user, kernels in the compute dtype for this one)."""
        return masters, [ops.cast(master, copy.dtype) for master, copy in zip(masters, copies, strict=True)]
