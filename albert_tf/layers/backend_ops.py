"""What must differ by Keras backend: counter-based random draws, the same for the same seed at every call.

keras.random draws from a state that a recomputation (remat), a restart or a second replica would see changed; a
stateless draw has no such memory. TensorFlow and JAX have one each; their numbers differ.
"""

import keras

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

elif _BACKEND == "jax":
    import jax

    def fold_in(seed, data):
        """A new seed, uint32 [2], made of a seed [2] and an integer."""
        return jax.random.fold_in(jax.numpy.asarray(seed).astype("uint32"), data)

    def keep_mask(x, rate, seed):
        """bool, the shape of x: True with probability 1 - rate."""
        return jax.random.bernoulli(jax.numpy.asarray(seed).astype("uint32"), 1.0 - rate, x.shape)

else:

    def fold_in(seed, data):
        """Refuses: dropout is written for the TensorFlow and JAX backends of Keras."""
        raise NotImplementedError(f"Dropout needs Keras's tensorflow or jax backend; this is {_BACKEND!r}.")

    keep_mask = None
