"""What must differ by Keras backend: random draws without state, and element-wise chains compiled for TensorFlow.

Draws: keras.random draws from a state that a recomputation (remat), a restart or a second replica would see changed; a
stateless draw has no such memory. TensorFlow and JAX have one each; their numbers differ.

Chains: TensorFlow runs an element-wise chain operation by operation, each a pass over memory, and keeps what each
needs for its gradient. Here a chain is one compiled function forwards and one backwards, which recomputes what it
needs from the chain's inputs; the matrix products between the chains stay with TensorFlow's own library, which is
faster at them than the compiler is. JAX compiles the whole step, so there the chains are plain functions.
"""

import functools

import keras
from keras import ops

_BACKEND = keras.backend.backend()


if _BACKEND == "tensorflow":
    import tensorflow as tf

    # The same numbers with and without XLA; "auto_select" is not.
    _ALGORITHM = "philox"

    def fold_in(seed, data):
        """A new seed, int32 [2], made of a seed [2] and an integer."""
        return tf.random.fold_in(tf.cast(seed, tf.int32), data, alg=_ALGORITHM)

    def keep_mask(x, rate, seed):
        """bool, the shape of x: True with probability 1 - rate."""
        # Whole int32 numbers: XLA makes other floats of the same bits than TensorFlow's own kernels do.
        draws = tf.random.stateless_uniform(
            tf.shape(x), tf.cast(seed, tf.int32), minval=None, maxval=None, dtype=tf.int32, alg=_ALGORITHM
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
    def _sums_by_product() -> bool:
        # The compiler's sum of a row is slow on a CPU, where its product with ones is not; accelerators are fast at
        # the first, and round the second.
        return not any(tf.config.list_logical_devices(kind) for kind in ("GPU", "TPU"))

    @tf.custom_gradient
    def row_sum(x):
        """The sum over the last axis, which is kept, in a compiled chain: float32 [..., n] -> [..., 1]."""
        if _sums_by_product():
            total = tf.matmul(x, tf.ones([tf.shape(x)[-1], 1]))
        else:
            total = tf.reduce_sum(x, axis=-1, keepdims=True)
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

    def read(variable):
        """The value of a weight as a tensor; on a replica its own copy's."""
        return tf.convert_to_tensor(variable)

    remat = tf.recompute_grad

else:
    if _BACKEND == "jax":
        import jax

        remat = jax.checkpoint

        def fold_in(seed, data):
            """A new seed, uint32 [2], made of a seed [2] and an integer."""
            return jax.random.fold_in(jax.numpy.asarray(seed).astype("uint32"), data)

        def keep_mask(x, rate, seed):
            """bool, the shape of x: True with probability 1 - rate."""
            return jax.random.bernoulli(jax.numpy.asarray(seed).astype("uint32"), 1.0 - rate, x.shape)

    else:
        keep_mask = None

        def remat(function):
            """The function itself: recomputation is written for the TensorFlow and JAX backends of Keras."""
            return function

        def fold_in(seed, data):
            """Refuses: dropout is written for the TensorFlow and JAX backends of Keras."""
            raise NotImplementedError(f"Dropout needs Keras's tensorflow or jax backend; this is {_BACKEND!r}.")

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

    def compile_chain(function):
        """The function itself; the backend compiles the whole step."""
        return function

    def compile_linear(function, transposed):
        """The function itself; the backend compiles the whole step and finds the gradient by itself."""
        return function

    def compile_product(function):
        """function(x, bias) @ kernel."""
        return lambda x, bias, kernel: ops.matmul(function(x, bias), kernel)

    def masked_softmax(scores, attention_bias, scale):
        """softmax(scale * scores + attention_bias) over the last axis, in float32."""
        probabilities = ops.softmax(ops.cast(scores, "float32") * scale + attention_bias, axis=-1)
        return ops.cast(probabilities, scores.dtype)

    def lend_kernels(masters, copies):
        """(masters for the next user, kernels in the compute dtype for this one)."""
        return masters, [ops.cast(master, copy.dtype) for master, copy in zip(masters, copies, strict=True)]
