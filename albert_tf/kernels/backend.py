"""The code that differs by Keras backend: stateless random draws, loops, updates of weights, which formulas run.

keras.random draws from a state that a recomputation (remat), a restart or a second replica would see changed; a
stateless draw has no such memory. TensorFlow and JAX have one each; their numbers differ.
"""

import contextlib
import contextvars
import functools
import re

import keras
import numpy as np
from keras import ops

from albert_tf.kernels import formulas

_BACKEND = keras.backend.backend()


if _BACKEND == "tensorflow":
    import tensorflow as tf

    from albert_tf.kernels import tensorflow_inference, tensorflow_training
    from albert_tf.kernels.tensorflow_compiling import assign_update, has_accelerator
    from albert_tf.kernels.tensorflow_gradients import remat
    from albert_tf.kernels.tensorflow_training import lend_kernels

    def formulas_for(training):
        """The module whose functions compute the formulas."""
        return tensorflow_training if training else tensorflow_inference

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

    def remat_in_loop(function):
        """The function itself: TensorFlow's loops keep what they keep outside of loops."""
        return function

    # The function of tensors in one graph.
    compiled = tf.function

    def compiled_reader(function, variables):
        """The function itself: the operations of TensorFlow are compiled already."""
        return function

    def compiled_for(function, *arguments):
        """The function, compiled for arguments like these before it is called."""
        return tf.function(function).get_concrete_function(*arguments)

    def gather_positions(sequence, positions):
        """Picks positions out of each sequence: float [B, S, H], int [B, P] -> [B, P, H].

        The sequences are laid end to end and picked by row, which is one lookup (gather_indexes of the official code).
        """
        batch, length, hidden_size = ops.shape(sequence)
        rows = ops.arange(batch, dtype="int32")[:, None] * length + ops.cast(positions, "int32")
        return ops.take(ops.reshape(sequence, (-1, hidden_size)), rows, axis=0)

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
    gather_positions = formulas.gather_positions

    if _BACKEND == "jax":
        import jax

        # Of programs for devices that are not this machine's, one of those.
        _target = contextvars.ContextVar("_target", default=None)

        @contextlib.contextmanager
        def lowering_for(device):
            """Lets what is lowered in the block be for a device that need not be here."""
            token = _target.set(device)
            try:
                yield
            finally:
                _target.reset(token)

        def formulas_for(training):
            """The module whose functions compute the formulas: kernels on a GPU, else the compiler alone."""
            # Not before something is computed: the processes of a run are joined before JAX looks for devices.
            return _formulas_on(_target.get() or jax.devices()[0])

        @functools.cache
        def _formulas_on(device):
            if not _takes_kernels(device):
                return formulas
            from albert_tf.kernels import jax_gpu

            return jax_gpu

        def _takes_kernels(device):
            """Tells whether a device is a GPU of NVIDIA's Ampere generation or a later one, and JAX 0.8 or later."""
            found = re.fullmatch(r"(\d+)\.\d+", str(getattr(device, "compute_capability", None)))
            return found is not None and int(found[1]) >= 8 and jax.__version_info__ >= (0, 8)

        remat, compiled = jax.checkpoint, jax.jit

        def remat_in_loop(function):
            """The function, of which a loop keeps only the products with weights for the gradient.

            The compiler computes again what is cheap, but not across the turns of a loop: there it keeps all that a
            turn makes. ALBERT-base with 16 x 512 in bfloat16 on a TPU v5e: 12.7 GiB, 3.0 with this, 4.7 without a loop.
            """
            return jax.checkpoint(function, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)

        def compiled_reader(function, variables):
            """The function of arrays as one program, which reads what the variables hold whenever it is called.

            By itself each operation is a program, and a GPU's compiler takes a tenth of a second and more for each.
            """
            variables = list(variables)

            def compute(values, *arguments):
                with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
                    return function(*arguments)

            program = jax.jit(compute)
            return lambda *arguments: program([variable.value for variable in variables], *arguments)

        def compiled_for(function, *arguments):
            """The function, compiled for arguments like these before it is called."""
            return jax.jit(function).lower(*arguments).compile()

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

        def formulas_for(training):
            """The module whose functions compute the formulas."""
            return formulas

        def known_values(x):
            """The values of an array; None of a tensor: not looked at, whichever backend this is."""
            return x if isinstance(x, np.ndarray) else None

        def repeat(function, begin, end, x):
            """function(end - 1, ... function(begin, x))."""
            for at in range(begin, end):
                x = function(at, x)
            return x

        def compiled(function, *arguments):
            """The function itself: its operations run one by one."""
            return function

        compiled_for = compiled_reader = compiled

        def remat(function):
            """The function itself: recomputation is written for the TensorFlow and JAX backends of Keras."""
            return function

        remat_in_loop = remat

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

    def lend_kernels(masters, copies):
        """(masters for the next user, kernels in the compute dtype for this one)."""
        return masters, [ops.cast(master, copy.dtype) for master, copy in zip(masters, copies, strict=True)]
