"""Trained weights from wherever --init_checkpoint points: a run or checkpoint of ours, or an official checkpoint."""

import os
import re
from typing import Any

import numpy as np

from albert_tf import files
from albert_tf.config import AlbertConfig
from albert_tf.conversion.official import read_official, to_ours
from albert_tf.errors import InputError
from albert_tf.models.named_weights import assign_weights, named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.training import checkpoints
from albert_tf.training.tensor_files import load_tensors

_BLOCK = re.compile(r"/block_\d+_(\d+)/")


def load_pretrained(path: str, config_file: str | None = None) -> tuple[AlbertForPretraining, dict[str, Any] | None]:
    """Makes the model that a checkpoint holds.

    Args:
        path: output_dir of a run (its best checkpoint, else its newest), a checkpoint's folder, or the prefix of an
            official checkpoint.
        config_file: albert_config.json; None takes the one beside the weights.

    Returns:
        the model, and what is known of its vocabulary: {"file", "sha256", "size"} or None.

    Raises:
        InputError: no checkpoint there, a damaged one, or one that does not fit the config.
    """
    folder, prefix = _locate(path)
    beside = os.path.join(folder or os.path.dirname(prefix), checkpoints.CONFIG_NAME)
    config = AlbertConfig.from_json_file(config_file or beside)
    arrays, vocabulary = read_pretrained(path, config)
    model = AlbertForPretraining(config)
    assign_weights(model, arrays, source=path)
    return model, vocabulary


def read_pretrained(path: str, config: AlbertConfig) -> tuple[dict[str, np.ndarray], dict[str, Any] | None]:
    """The weights at a path by our names, and what is known of their vocabulary.

    Args:
        path: see load_pretrained.
        config: of the model they are for; tells the names in an official checkpoint.

    Raises:
        InputError: an empty path, no checkpoint there, or a damaged one.
    """
    folder, prefix = _locate(path)
    if folder is not None:
        return load_tensors(os.path.join(folder, "model")), checkpoints.read_state(folder).vocabulary
    return to_ours(config, read_official(prefix)), None


def _locate(path: str) -> tuple[str | None, str]:
    """The checkpoint's folder, if it is one of ours, and else None and the official checkpoint's prefix."""
    if not path:
        raise InputError("--init_checkpoint is empty; name a checkpoint, or leave the flag out to start from scratch")
    folder = checkpoints.find_checkpoint(path)
    prefix = path.removesuffix(".index")
    if folder is None and not files.exists(f"{prefix}.index"):
        raise InputError(
            f"{path}: no checkpoint here; give a run's --output_dir, a checkpoint-NNNNNNNN folder in it, or the "
            "prefix of an official checkpoint (model.ckpt-best)"
        )
    return folder, prefix


def initialise(model, path: str, from_group0: bool = False) -> dict[str, Any] | None:
    """Gives a new model the weights at a path.

    Args:
        model: AlbertForPretraining.
        path: see load_pretrained.
        from_group0: start every group of blocks from the checkpoint's first one.

    Returns:
        what is known of the weights' vocabulary.

    Raises:
        InputError: what read_pretrained raises, or weights that do not fit the model.
    """
    source = model.config
    if from_group0:
        source = AlbertConfig.from_dict({**model.config.to_dict(), "num_hidden_groups": 1, "parameter_sharing": "all"})
    arrays, vocabulary = read_pretrained(path, source)
    if from_group0:
        first = {name: array for name, array in arrays.items() if not _BLOCK.search(name) or "/block_0_" in name}
        arrays = {name: array for name, array in first.items() if "/block_0_" not in name}
        for name in named_weights(model):
            original = _BLOCK.sub(r"/block_0_\1/", name)
            if original in first:
                arrays[name] = first[original]
    assign_weights(model, arrays, source=path)
    return vocabulary
