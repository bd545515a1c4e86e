"""With how many threads TensorFlow computes an operation, in a process that asks a model."""

import math
import os
from collections.abc import Iterable

from albert_tf.exports.export_file import EXTRA_FOLDER
from albert_tf.published.names import is_published
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.worker_pool import count_cores

# An operation of so few hidden units is mostly over before a second thread is awake; measured with two cores, between
# which the halves of a batch are shared as well (docs/benchmarks).
_MOST_UNITS, _MOST_CORES = 384, 2
_CONFIGS = (os.path.join(EXTRA_FOLDER, "albert_config.json"), "albert_config.json", "config.json")


def check_threads(num_threads: int | None) -> None:
    """Raises InputError for what is no number of threads."""
    if num_threads is not None and (not isinstance(num_threads, int) or num_threads < 1):
        raise InputError(f"--num_threads must be at least 1. Received {num_threads!r}.")


def usual_threads(paths: Iterable[str], share: int | None = None) -> int | None:
    """The threads of one operation where nobody says how many.

    Args:
        paths: of the models that TensorFlow runs.
        share: the cores that this process has to itself; None: all of them.

    Returns:
        None leaves it to TensorFlow, which has one for each core, or what TF_NUM_INTRAOP_THREADS says.
    """
    if "TF_NUM_INTRAOP_THREADS" in os.environ:
        return None
    if (share or count_cores()) <= _MOST_CORES and all(_hidden_units(path) <= _MOST_UNITS for path in paths):
        return 1
    return share


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
        tf.config.threading.set_intra_op_parallelism_threads(num_threads)
    except RuntimeError:
        raise InputError(
            f"--num_threads={num_threads}: {path} is run by TensorFlow, which has begun with a different number in "
            "this process; ask for it before TensorFlow's first operation, or by TF_NUM_INTRAOP_THREADS in the "
            "environment"
        ) from None


def _hidden_units(path: str) -> float:
    """The hidden size of a model by its config; infinite where none is found."""
    if is_published(path):
        return math.inf
    folder = path.rstrip("/")
    # A checkpoint of a run has it a folder above, an official one's files beside them.
    for place in (folder, os.path.dirname(folder)):
        for name in _CONFIGS:
            try:
                size = files.read_json(os.path.join(place, name)).get("hidden_size")
            except (InputError, OSError):
                # Missing, or for whoever loads the model to complain of.
                continue
            if isinstance(size, int):
                return size
    return math.inf
