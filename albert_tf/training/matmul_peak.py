"""How many operations a second the machine reaches in a large matrix product: what a training step is measured by."""

import functools
import time

import tensorflow as tf

# Seconds to measure for, and edges of the square matrices on a CPU and on an accelerator.
_SECONDS = 0.3
_CPU_SIZE, _ACCELERATOR_SIZE = 1024, 8192


def measure_matmul_peak(strategy, dtype: str = "float32") -> float:
    """The fastest of the matrix products of some tenths of a second, over all devices of the strategy.

    Args:
        strategy: a tf.distribute strategy. One device is measured. The others are taken to be like it, but for the
            virtual devices of one CPU, which share it.
        dtype: of the factors.

    Returns:
        operations a second (2 n^3 a product); 0 on a TPU, where a single product from outside says nothing.
    """
    device = strategy.extended.worker_devices[0]
    kind = tf.DeviceSpec.from_string(device).device_type
    if kind == "TPU":
        return 0.0
    replicas = strategy.num_replicas_in_sync
    devices = replicas // len(strategy.extended.worker_devices) if kind == "CPU" else replicas
    return _measure(device, dtype, _CPU_SIZE if kind == "CPU" else _ACCELERATOR_SIZE) * devices


@functools.cache
def _measure(device: str, dtype: str, size: int) -> float:
    """Operations a second of one device; measured once, as several runs of one process are on the same machine."""

    @tf.function
    def multiply(left, right):
        # One number of the product, so that little travels back.
        return tf.reduce_max(tf.matmul(left, right))

    with tf.device(device):
        left, right = (tf.cast(tf.random.stateless_uniform([size, size], [seed, 0]), dtype) for seed in (1, 2))
        multiply(left, right).numpy()
        fastest, end = float("inf"), time.monotonic() + _SECONDS
        while time.monotonic() < end:
            begin = time.perf_counter()
            multiply(left, right).numpy()
            fastest = min(fastest, time.perf_counter() - begin)
    return 2 * size**3 / fastest
