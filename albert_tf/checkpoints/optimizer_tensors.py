"""The optimizer file of a checkpoint: the moments of what is trained, and low-rank updates with what they update."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from albert_tf.models.low_rank import LowRankUpdates
from albert_tf.models.named_weights import trained_weights
from albert_tf.runtime.errors import InputError


def optimizer_tensors(model: Any, optimizer: Any, low_rank: LowRankUpdates | None) -> dict[str, Any]:
    """The variables of the file by name: adam_m/NAME, adam_v/NAME, lora_a/NAME, lora_b/NAME, lora_base/NAME.

    Args:
        model: whose frozen weights have no moments.
        optimizer: built on what is trained.
        low_rank: the updates that are trained, if such.
    """
    names = list(trained_weights(model) if low_rank is None else low_rank.updated())
    found: dict[str, Any] = {}
    for kind, variables in zip(("adam_m", "adam_v"), optimizer.moments(), strict=True):
        found |= {f"{kind}/{name}": variable for name, variable in zip(names, variables, strict=True)}
    return found if low_rank is None else {**found, **low_rank.trained, **low_rank.bases}


def assign_optimizer_tensors(stored: Mapping[str, np.ndarray], variables: Mapping[str, Any], folder: str) -> None:
    """Gives the variables of optimizer_tensors their stored values.

    Raises:
        InputError: one is missing, or of a different shape: something else was trained there.
    """
    for key, variable in variables.items():
        if key not in stored or stored[key].shape != tuple(variable.shape):
            raise InputError(
                f"{folder}: the optimizer's {key} is missing or of another shape; go on with the --freeze, --lora_rank "
                "and model that it was trained with, or start a new --output_dir with --init_checkpoint"
            )
        variable.assign(stored[key])
