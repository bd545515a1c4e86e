"""A model as it is served: what its graph and its weights are, where nothing is trained any more."""

from collections.abc import Mapping
from typing import Any

import keras

from albert_tf.models.named_weights import named_weights


def serving_copy(
    model, precision: str = "float32", weights: Mapping[str, Any] | None = None, intermediate_size: int | None = None
):
    """The same model with its weights in `precision`, and with the shared block in a loop.

    In a loop a kernel belongs to one operation, which keeps a single copy of it laid out for the processor; an
    operation for each layer would keep one each.

    Args:
        model: of models.albert, models.pretraining or models.finetuning, with float32 weights.
        precision: "float32" or "bfloat16".
        weights: others than its own, by the names of models.named_weights.
        intermediate_size: of the feed-forward layers of these.

    Returns:
        a model of the same class, on the CPU.
    """
    settings = model.get_config() | {"constant_graph": True, "remat": False, "dtype": precision}
    if intermediate_size is not None:
        settings["config"] = {**settings["config"], "intermediate_size": intermediate_size}
    weights = named_weights(model) if weights is None else weights
    with keras.device("cpu"):
        copy = type(model).from_config(settings)
        for name, variable in named_weights(copy).items():
            variable.assign(keras.ops.cast(weights[name], precision))
    return copy
