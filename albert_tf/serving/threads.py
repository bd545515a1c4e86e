"""With how many threads TensorFlow computes an operation, in a process that asks a model."""

import math
import numbers
from collections.abc import Iterable

from albert_tf.published.names import is_published
from albert_tf.runtime import operation_threads
from albert_tf.runtime.errors import FlagError, InputError


def check_threads(num_threads: int | None) -> None:
    """Raises InputError for what is no number of threads."""
    is_count = isinstance(num_threads, numbers.Integral) and not isinstance(num_threads, bool)
    if num_threads is not None and (not is_count or num_threads < 1):
        raise FlagError(f"--num_threads must be at least 1. Received {num_threads!r}.")


def usual_threads(paths: Iterable[str], share: int | None = None) -> int | None:
    """operation_threads.usual_threads of the models at these places."""
    units = [math.inf if is_published(path) else operation_threads.hidden_units_at(path) for path in paths]
    return operation_threads.usual_threads(units, share)


def set_threads(num_threads: int | None, path: str) -> None:
    """Lets TensorFlow compute an operation with so many threads; None: with as many as it does.

    Raises:
        InputError: it has begun with a different number, which holds for all that this process does.
    """
    check_threads(num_threads)
    if num_threads is None:
        return
    import tensorflow as tf

    try:
        tf.config.threading.set_intra_op_parallelism_threads(int(num_threads))
    except RuntimeError:
        raise InputError(
            f"--num_threads={num_threads}: {path} is run by TensorFlow, which has begun with a different number in "
            "this process; ask for it before TensorFlow's first operation, or by TF_NUM_INTRAOP_THREADS in the "
            "environment"
        ) from None
