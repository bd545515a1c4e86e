"""Named arrays in TensorFlow's checkpoint format, with the names as they are: readable by tf.train.load_checkpoint."""

import os
from collections.abc import Callable, Mapping

import numpy as np

from albert_tf.runtime import files
from albert_tf.runtime.errors import DamagedError, reason_of
from albert_tf.runtime.literal_paths import literal_path

# Of the file that the tensors themselves are in.
DATA_SUFFIX = ".data-00000-of-00001"


def save_tensors(prefix: str, tensors: Mapping[str, object]) -> None:
    """Writes PREFIX.index and PREFIX.data-00000-of-00001 and, on a local disk, waits until they are on it.

    Args:
        prefix: path without suffix; its folder must exist.
        tensors: by name; variables, tensors or arrays.

    Raises:
        OSError: no room, or no right to write.
    """
    import tensorflow as tf

    values = [tf.convert_to_tensor(_of_any_backend(value)) for value in tensors.values()]
    try:
        tf.raw_ops.SaveV2(
            prefix=prefix, tensor_names=list(tensors), shape_and_slices=[""] * len(values), tensors=values
        )
    except tf.errors.OpError as error:
        raise OSError(f"{prefix}: the checkpoint cannot be written: {reason_of(error)}") from None
    if not files.is_remote(prefix):
        for path in (f"{prefix}{DATA_SUFFIX}", f"{prefix}.index"):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _of_any_backend(value):
    """A Keras variable's value; an array if TensorFlow does not know its kind."""
    value = getattr(value, "value", value)
    return value if "tensorflow" in type(value).__module__ else np.asarray(value)


def load_tensors(prefix: str, wanted: Callable[[str], bool] = lambda name: True) -> dict[str, np.ndarray]:
    """Reads the arrays of a checkpoint; every checksum is verified.

    Args:
        prefix: path without suffix.
        wanted: tells by its name whether an array is to be read.

    Raises:
        DamagedError: no such checkpoint, or a damaged one.
    """
    import tensorflow as tf

    if not files.exists(f"{prefix}.index"):
        raise DamagedError(f"{prefix}: no such checkpoint ({prefix}.index is missing)")
    try:
        with literal_path(prefix) as found:
            reader = tf.train.load_checkpoint(found)
            return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map() if wanted(name)}
    except (tf.errors.OpError, ValueError, IndexError) as error:  # IndexError: a data file cut short
        raise DamagedError(f"{prefix}: the checkpoint is damaged: {reason_of(error)}") from None
