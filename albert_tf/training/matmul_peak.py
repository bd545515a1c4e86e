"""Operations a second that the machine reaches in matrix products: what a training step is measured by."""

import functools
import time

import tensorflow as tf

# Seconds to measure for, and (rows, inner units, columns) of the products on a CPU and on an accelerator. The libraries
# do not reach their best in one shape for every type; the small ones end before another program takes the processor.
_SECONDS = 0.3
_CPU_SHAPES = ((512, 512, 512), (768, 768, 768), (1024, 1024, 1024), (2048, 768, 768))
_ACCELERATOR_SHAPES = ((8192, 8192, 8192), (16384, 4096, 4096))


def measure_matmul_peak(strategy, dtype: str = "float32") -> float:
    """The fastest of the matrix products of some tenths of a second, over all devices of the strategy.

    Args:
        strategy: a tf.distribute strategy. One device is measured. The others are taken to be like it, but for the
            virtual devices of one CPU, which share it.
        dtype: of the factors.

    Returns:
        operations a second (2 m k n for a product of [m, k] and [k, n]); 0 on a TPU, where a single product from
        outside says nothing.
    """
    device = strategy.extended.worker_devices[0]
    kind = tf.DeviceSpec.from_string(device).device_type
    if kind == "TPU":
        return 0.0
    replicas = strategy.num_replicas_in_sync
    devices = replicas // len(strategy.extended.worker_devices) if kind == "CPU" else replicas
    return _measure(device, dtype, _CPU_SHAPES if kind == "CPU" else _ACCELERATOR_SHAPES) * devices


@functools.cache
def _measure(device: str, dtype: str, shapes: tuple[tuple[int, int, int], ...]) -> float:
    """Operations a second of one device; measured once, as several runs of one process are on the same machine."""

    @tf.function
    def multiply(left, right):
        # One number of the product, so that little travels back, and nothing else is computed.
        return tf.matmul(left, right)[0, 0]

    best = 0.0
    with tf.device(device):
        products = []
        for rows, inner, columns in shapes:
            factors = [
                tf.cast(tf.random.stateless_normal(shape, [seed, 0]), dtype)
                for seed, shape in enumerate([(rows, inner), (inner, columns)])
            ]
            # Traced apart from being called, or TensorFlow warns of a function that is traced for many shapes.
            product = multiply.get_concrete_function(*factors)
            product(*factors).numpy()
            products.append((2 * rows * inner * columns, product, factors))
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            for operations, product, factors in products:
                begin = time.perf_counter()
                product(*factors).numpy()
                best = max(best, operations / (time.perf_counter() - begin))
    return best
