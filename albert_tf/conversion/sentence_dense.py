"""The step Dense of sentence-transformers: a folder with its config.json and weights, read and written.

Shapes: H numbers of a vector before it, T after it.
"""

import os
from typing import Any

import numpy as np

from albert_tf.conversion.hugging_face_files import WEIGHTS_NAME, find_weights, read_weights, write_safetensors
from albert_tf.heads.vector_dense import BIAS, IDENTITY, KERNEL, TANH, VectorDense
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json_bytes

_CONFIG_NAME = "config.json"
_KERNEL, _BIAS = "linear.weight", "linear.bias"
# {the last part of its class: what it is here}
_ACTIVATIONS = {"Identity": IDENTITY, "Tanh": TANH}
_CLASSES = {IDENTITY: "torch.nn.modules.linear.Identity", TANH: "torch.nn.modules.activation.Tanh"}
# What it reads and writes, where a file says so; anything else is of vectors of pieces.
_VECTOR = "sentence_embedding"


def read_dense(folder: str) -> VectorDense:
    """The layer in a folder, with its numbers.

    Args:
        folder: of the step.

    Raises:
        InputError: a file is missing or damaged, or the layer is none that there is a like of here.
    """
    path = os.path.join(folder, _CONFIG_NAME)
    if not files.exists(path):
        raise InputError(f"{path} is missing, which says what layer follows pooling; copy the folder as a whole")
    values = files.read_json(path)
    activation = _read_activation(values.get("activation_function", _CLASSES[TANH]), path)
    for key in ("module_input_name", "module_output_name"):
        if values.get(key) not in (None, _VECTOR):
            raise InputError(f"{path}: {key} is {values[key]!r}; a layer of vectors of texts, {_VECTOR!r}, is read")
    weights_path = find_weights(folder)
    if weights_path is None:
        raise InputError(f"{folder}: no {WEIGHTS_NAME} there, the numbers of the layer; copy the folder as a whole")
    weights = read_weights(weights_path)
    if _KERNEL not in weights or weights[_KERNEL].ndim != 2:
        raise InputError(f"{weights_path}: no matrix {_KERNEL!r}, the layer's kernel")
    kernel = np.asarray(weights[_KERNEL], np.float32).T
    bias = weights.get(_BIAS, np.zeros(kernel.shape[1], np.float32))
    for key, size in zip(("in_features", "out_features"), kernel.shape, strict=True):
        if key in values and values[key] != size:
            raise InputError(f"{path}: {key} is {values[key]!r}, the kernel in {weights_path} has {size}")
    dense = VectorDense(int(kernel.shape[1]), activation)
    return dense.with_weights({KERNEL: np.ascontiguousarray(kernel), BIAS: bias}, weights_path)


def write_dense(folder: str, dense: VectorDense) -> None:
    """Writes a layer's config and weights.

    Args:
        folder: to make.
        dense: with its numbers.

    Raises:
        InputError: the numbers are not known.
        OSError: no room, or no right to write.
    """
    weights = dense.to_weights()
    if not weights:
        raise InputError(f"{folder} is not written: the numbers of the dense layer after pooling are not at hand")
    files.make_folder(folder)
    values = {
        "in_features": int(weights[KERNEL].shape[0]),
        "out_features": dense.size,
        "bias": True,
        "activation_function": _CLASSES[dense.activation],
    }
    with files.replace_file(os.path.join(folder, _CONFIG_NAME)) as file:
        file.write(to_json_bytes(values, indent=2) + b"\n")
    write_safetensors(os.path.join(folder, WEIGHTS_NAME), {_KERNEL: weights[KERNEL].T, _BIAS: weights[BIAS]})


def _read_activation(name: Any, path: str) -> str:
    known = _ACTIVATIONS.get(str(name).rpartition(".")[2])
    if known is None:
        raise InputError(
            f"{path}: activation_function {name!r} has no like here; {' and '.join(_ACTIVATIONS)} are read"
        )
    return known
