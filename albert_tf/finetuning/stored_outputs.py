"""A model's outputs for a split, kept in a file of the run: for an ensemble of several runs."""

import os
from collections.abc import Sequence

import numpy as np

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

# By name, one array for each feature.
Outputs = dict[str, list[np.ndarray]]
_SHAPES, OUTPUTS_SUFFIX = "/shapes", "_outputs.npz"


def outputs_path(folder: str, split: str) -> str:
    """The file of a split's outputs in a run's folder."""
    return os.path.join(folder, split + OUTPUTS_SUFFIX)


def save_outputs(folder: str, split: str, outputs: Outputs) -> None:
    """Writes the outputs for a split; rows may differ in their lengths."""
    arrays = {}
    for name, rows in outputs.items():
        arrays[name] = np.concatenate([np.ravel(row) for row in rows])
        arrays[name + _SHAPES] = np.array([np.shape(row) for row in rows], np.int32).reshape(len(rows), -1)
    with files.replace_file(outputs_path(folder, split)) as file:
        np.savez(file, **arrays)


def load_outputs(folder: str, split: str) -> Outputs:
    """Reads what save_outputs wrote.

    Raises:
        InputError: it is not there, or damaged.
    """
    path = outputs_path(folder, split)
    try:
        with files.open_binary(path) as file, np.load(file) as stored:
            names = [name for name in stored.files if not name.endswith(_SHAPES)]
            return {name: _cut(stored[name], stored[name + _SHAPES]) for name in names}
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise InputError(f"{path}: cannot be read ({type(error).__name__}); remove {folder} and run it again") from None


def _cut(values: np.ndarray, shapes: np.ndarray) -> list[np.ndarray]:
    ends = np.cumsum(np.prod(shapes, axis=1, dtype=np.int64))
    parts: Sequence[np.ndarray] = np.split(values, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes.tolist(), strict=True)]
