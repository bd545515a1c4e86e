"""The threads that TensorFlow gives an operation, where nobody says how many."""

import math
import os
from collections.abc import Iterable

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.worker_pool import count_cores

# An operation of so few hidden units is mostly over before a second thread is awake; measured with two cores, between
# which the halves of a batch are shared (docs/benchmarks).
_MOST_UNITS, MOST_CORES = 384, 2
_CONFIGS = ("assets.extra/albert_config.json", "albert_config.json", "config.json")


def usual_threads(hidden_units: Iterable[float], share: int | None = None) -> int | None:
    """The threads of one operation where nobody says how many.

    Args:
        hidden_units: of the models that this process runs.
        share: the cores that it has to itself; None: all of them.

    Returns:
        1 for small models on two cores or one; else the share. None leaves it to TensorFlow, which has one for each
        core, or what TF_NUM_INTRAOP_THREADS says.
    """
    if "TF_NUM_INTRAOP_THREADS" in os.environ:
        return None
    if (share or count_cores()) <= MOST_CORES and all(units <= _MOST_UNITS for units in hidden_units):
        return 1
    return share


def hidden_units_at(path: str) -> float:
    """The hidden size of a model by the config in its folder, or above; infinite where none is found."""
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
