"""The speed of this machine: its matrix products, and the precision in which they are faster."""

import dataclasses
import functools
import time
from typing import TypeVar

import keras
import numpy as np
from absl import logging
from keras import ops

from albert_tf.checkpoints.newest_state import newest_state
from albert_tf.kernels import backend
from albert_tf.runtime.operation_threads import MOST_CORES
from albert_tf.runtime.worker_pool import count_cores
from albert_tf.training.settings import AUTO, TrainingSettings
from albert_tf.training.strategy import Agreement, device_kind, local_devices

# Seconds to measure for, and (rows, inner units, columns) of the products on a CPU and on an accelerator. The libraries
# do not reach their best in one shape for every type; the small ones end before another program takes the processor.
_SECONDS = 0.3
_CPU_SHAPES = ((512, 512, 512), (768, 768, 768), (1024, 1024, 1024), (2048, 768, 768))
_ACCELERATOR_SHAPES = ((8192, 8192, 8192), (16384, 4096, 4096))


def leaves_a_core_free(strategy) -> bool:
    """Tells whether an operation of the only device, a CPU of two cores, is computed by one thread."""
    if keras.backend.backend() != "tensorflow" or device_kind(strategy) != "CPU" or strategy.num_replicas_in_sync > 1:
        return False
    import tensorflow as tf

    return tf.config.threading.get_intra_op_parallelism_threads() == 1 and count_cores() == MOST_CORES


def measure_matmul_peak(strategy, dtype: str = "float32") -> float:
    """The fastest of the matrix products of some tenths of a second, over all devices of the strategy.

    Args:
        strategy: of the run. One device is measured. The others are taken to be like it, but for the
            virtual devices of one CPU, which share it.
        dtype: of the factors.

    Returns:
        operations a second (2 m k n for a product of [m, k] and [k, n]); 0 on a TPU, where a single product from
        outside says nothing.
    """
    devices, kind = local_devices(strategy), device_kind(strategy)
    if kind == "TPU":
        return 0.0
    replicas = strategy.num_replicas_in_sync
    alike = replicas // len(devices) if kind == "CPU" else replicas
    at_once = 2 if leaves_a_core_free(strategy) else 1
    return _measure(devices[0], dtype, _CPU_SHAPES if kind == "CPU" else _ACCELERATOR_SHAPES, at_once) * alike


@functools.cache
def _measure(device: str, dtype: str, shapes: tuple[tuple[int, int, int], ...], at_once: int) -> float:
    """Operations a second of one device by so many products at a time; measured once, as several runs of one process
    are on the same machine."""

    def multiply(right, *lefts):
        # One number of each product, so that little travels back, and nothing else is computed.
        return sum(ops.cast(ops.matmul(left, right)[0, 0], "float32") for left in lefts)

    best = 0.0
    with keras.device(device):
        products = []
        for rows, inner, columns in shapes:
            factors = [
                ops.cast(np.random.default_rng(seed).standard_normal(shape, np.float32), dtype)
                for seed, shape in enumerate([(inner, columns), *[(rows, inner)] * at_once])
            ]
            # Compiled apart from being called, or TensorFlow warns of a function that is traced for many shapes.
            product = backend.compiled_for(multiply, *factors)
            np.asarray(product(*factors))
            products.append((2 * rows * inner * columns * at_once, product, factors))
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            for operations, product, factors in products:
                begin = time.perf_counter()
                np.asarray(product(*factors))
                best = max(best, operations / (time.perf_counter() - begin))
    return best


# How many times as fast matrix products in bfloat16 must be: what is not a product is not faster.
_CLEARLY_FASTER = 1.3
_Settings = TypeVar("_Settings", bound=TrainingSettings)


def choose_precision(settings: _Settings, strategy, agreement: Agreement) -> _Settings:
    """The settings with a precision in the place of "auto": bfloat16 where it is clearly faster here, else float32.

    A run that is resumed keeps the precision of its checkpoints.

    Args:
        settings: of the run.
        strategy: its devices.
        agreement: of the workers, who compute in one precision.
    """
    if settings.precision != AUTO:
        return settings
    before = newest_state(settings.output_dir)
    if before is not None and before.precision is not None:
        logging.info("--precision=auto: %s, as the run began", before.precision)
        return dataclasses.replace(settings, precision=before.precision)
    full, half = (measure_matmul_peak(strategy, dtype) for dtype in ("float32", "bfloat16"))
    # What a TPU multiplies is bfloat16 in any case; it is not measured.
    (wanted,) = agreement.mean(float(half >= _CLEARLY_FASTER * full))
    chosen = "bfloat16" if wanted > 0.5 else "float32"
    logging.info(
        "--precision=auto: %s; matrix products reach %.0f GFLOP/s in float32, %.0f in bfloat16",
        *(chosen, full / 1e9, half / 1e9),
    )
    return dataclasses.replace(settings, precision=chosen)
