"""The files of weights in a folder of Hugging Face's save_pretrained, whole or in shards, read into arrays.

Safetensors files are read with the `safetensors` package alone; pytorch_model.bin needs torch, and is only unpickled
with weights_only, which runs no code from the file.
"""

import io
import os
import pickle
import re

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

from albert_tf.conversion.shards import check_sizes, shard_paths
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

WEIGHTS_NAME = "model.safetensors"
# In the order in which transformers looks for them.
_WEIGHT_FILES = (
    WEIGHTS_NAME,
    f"{WEIGHTS_NAME}.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
_OTHER_FRAMEWORKS = ("tf_model.h5", "flax_model.msgpack")
_SUFFIXES = (".safetensors", ".bin", ".safetensors.index.json", ".bin.index.json")
_INDEX_SUFFIX = ".index.json"
_LFS_POINTER = b"version https://git-lfs"

# The number types of safetensors that hold numbers as numpy knows them, and bfloat16 as TensorFlow does.
_DTYPES = {
    **{name: np.dtype(f"float{name[1:]}") for name in ("F64", "F32", "F16")},
    **{f"I{bits}": np.dtype(f"int{bits}") for bits in (64, 32, 16, 8)},
    **{f"U{bits}": np.dtype(f"uint{bits}") for bits in (64, 32, 16, 8)},
    "BOOL": np.dtype(bool),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}


def find_weights(path: str) -> str | None:
    """The file of weights, or the index of its shards, that a path means.

    Args:
        path: a folder, or such a file.

    Returns:
        a path; None if there is none of them, nor weights of TensorFlow or Flax.
    """
    names = files.list_folder(path)
    for name in (*_WEIGHT_FILES, *_OTHER_FRAMEWORKS):
        if name in names:
            return os.path.join(path, name)
    return path if not names and path.endswith(_SUFFIXES) and files.exists(path) else None


def read_weights(path: str) -> dict[str, np.ndarray]:
    """Reads a file of weights, or all shards of an index.

    Args:
        path: as `find_weights` returns it.

    Returns:
        the arrays by name, in the type they are stored in.

    Raises:
        InputError: damaged, incomplete, or of a kind that cannot be read here.
    """
    if os.path.basename(path) in _OTHER_FRAMEWORKS:
        raise InputError(
            f"{path}: weights of TensorFlow or Flax; transformers 4 reads them with from_tf=True or from_flax=True, "
            f"and save_pretrained then writes {WEIGHTS_NAME}"
        )
    if path.endswith(_INDEX_SUFFIX):
        return _read_shards(path)
    check_sizes([path])
    with files.open_binary(path) as file:
        contents = file.read()
    if contents.startswith(_LFS_POINTER):
        raise InputError(f"{path}: a Git LFS pointer in place of the weights; `git lfs pull` fetches them")
    return _read_safetensors(path, contents) if path.endswith(".safetensors") else _read_torch(path, contents)


def write_safetensors(path: str, arrays: dict[str, np.ndarray]) -> None:
    """Writes arrays as transformers does; the same arrays give the same bytes.

    Raises:
        OSError: no room, or no right to write.
    """
    contiguous = {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}
    with files.replace_file(path) as file:
        file.write(safetensors.numpy.save(contiguous, metadata={"format": "pt"}))


def _read_shards(index_path: str) -> dict[str, np.ndarray]:
    shard_of = files.read_json(index_path).get("weight_map")
    if not isinstance(shard_of, dict) or not all(isinstance(shard, str) for shard in shard_of.values()):
        raise InputError(f"{index_path}: no `weight_map` from names of tensors to files")
    suffix = os.path.splitext(index_path.removesuffix(_INDEX_SUFFIX))[1]
    arrays: dict[str, np.ndarray] = {}
    for shard, path in shard_paths(index_path, set(shard_of.values()), (suffix,)).items():
        stored = read_weights(path)
        lost = [name for name, its_shard in shard_of.items() if its_shard == shard and name not in stored]
        if lost:
            raise InputError(f"{path}: lacks {lost[0]}, which {os.path.basename(index_path)} says is there")
        arrays |= stored
    return arrays


def _read_safetensors(path: str, contents: bytes) -> dict[str, np.ndarray]:
    try:
        stored = safetensors.deserialize(contents)
    except safetensors.SafetensorError as error:
        raise InputError(f"{path}: damaged, no safetensors file: {_first_line(error)}") from None
    unknown = [f"{name} ({tensor['dtype']})" for name, tensor in stored if tensor["dtype"] not in _DTYPES]
    if unknown:
        raise InputError(f"{path}: tensors of a type that is not read here: {', '.join(sorted(unknown)[:3])}")
    return {
        name: np.frombuffer(tensor["data"], dtype=_DTYPES[tensor["dtype"]]).reshape(tensor["shape"])
        for name, tensor in sorted(stored)
    }


def _read_torch(path: str, contents: bytes) -> dict[str, np.ndarray]:
    try:
        import torch
    except ImportError:
        raise InputError(
            f"{path}: reading a .bin needs torch: pip install torch, or save the model as {WEIGHTS_NAME} "
            "(save_pretrained does since transformers 4.35)"
        ) from None
    try:
        stored = torch.load(io.BytesIO(contents), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise InputError(f"{path}: damaged, no file of torch weights: {_first_line(error)}") from None
    if not isinstance(stored, dict) or not all(isinstance(tensor, torch.Tensor) for tensor in stored.values()):
        raise InputError(f"{path}: no state_dict, which is tensors by name")
    return {name: _torch_to_numpy(stored[name]) for name in sorted(stored)}


def _torch_to_numpy(tensor) -> np.ndarray:
    import torch

    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:  # numpy itself has no such type
        return tensor.view(torch.int16).numpy().view(_DTYPES["BF16"])
    return tensor.numpy()


def _first_line(error: Exception) -> str:
    return re.sub(r"\s+", " ", str(error).split("\n")[0]).strip() or type(error).__name__
