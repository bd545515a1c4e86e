"""The files of a KerasHub preset, with h5py and json alone: Keras 3 weights in HDF5, objects described in JSON."""

import io
import re
from collections.abc import Mapping
from typing import Any

import h5py
import ml_dtypes
import numpy as np

from albert_tf.conversion.shards import check_sizes, shard_paths
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

WEIGHTS_NAME = "model.weights.h5"
SHARD_INDEX_NAME = "model.weights.json"
WEIGHTS_SUFFIX = ".weights.h5"
CONFIG_NAME = "config.json"


def serialized(class_name: str, **config) -> dict[str, Any]:
    """The dict that keras.saving.serialize_keras_object makes of an object of keras_hub.models.

    Args:
        class_name: "AlbertBackbone".
        config: what its get_config returns but the name; what is left out takes the default of the class.
    """
    # AlbertMaskedLMPreprocessor is albert_masked_lm_preprocessor.
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", class_name).lower()
    return {
        "module": f"keras_hub.src.models.albert.{name}",
        "class_name": class_name,
        "config": {"name": name, **config},
        "registered_name": f"keras_hub>{class_name}",
    }


def read_weights(path: str) -> dict[str, np.ndarray]:
    """The datasets of a Keras weights file by path, "layers/dense/vars/0".

    Raises:
        InputError: damaged, or no HDF5 file.
        OSError: it cannot be read.
    """
    check_sizes([path])
    with files.open_binary(path) as file:
        contents = file.read()
    found: dict[str, np.ndarray] = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            # Keras 2.13 called the layers of a functional model otherwise.
            found[name.replace("_layer_checkpoint_dependencies", "layers")] = _read_dataset(item)

    try:
        with h5py.File(io.BytesIO(contents), "r") as file:
            file.visititems(visit)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError) as error:
        reason = str(error).strip("'\"").partition("\n")[0]
        raise InputError(f"{path}: damaged, or not a Keras weights file: {reason}") from None
    return found


def _read_dataset(dataset: h5py.Dataset) -> np.ndarray:
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{dataset.name} lies in another file")
    array = np.asarray(dataset)
    # HDF5 has no bfloat16: Keras stores the bits, and says in an attribute what they are.
    return array.view(ml_dtypes.bfloat16) if dataset.attrs.get("dtype") == "bfloat16" else array


def read_sharded_weights(path: str) -> dict[str, np.ndarray]:
    """The datasets of all the files that a model.weights.json lists.

    Raises:
        InputError: one of them is missing or damaged, or the list is.
    """
    weight_map = files.read_json(path).get("weight_map")
    if not isinstance(weight_map, dict):
        raise InputError(f"{path}: has no `weight_map`, the list of the weights' files")
    entries = [entry if isinstance(entry, list) else [entry] for entry in weight_map.values()]
    found: dict[str, np.ndarray] = {}
    names = {name if isinstance(name, str) else str(name) for entry in entries for name in entry}
    for shard in shard_paths(path, names, (WEIGHTS_SUFFIX,)).values():
        found |= read_weights(shard)
    return found


def write_weights(path: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes a weights file as Keras reads it; the same arrays make the same bytes."""
    contents = io.BytesIO()
    with h5py.File(contents, "w") as file:
        # The model's own variables: none, but Keras 3.3 looks for the group.
        file.require_group("vars")
        for name, array in arrays.items():
            file.create_dataset(name, data=array, track_times=False)
    with files.replace_file(path) as file:
        file.write(contents.getbuffer())
