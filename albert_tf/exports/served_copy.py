"""A model as it is served: what its graph and its weights are, where nothing is trained any more."""

from collections.abc import Mapping
from typing import Any

import keras

from albert_tf.layers.attention import merge_projections, merged_projections
from albert_tf.models.named_weights import named_weights


def serving_copy(model, precision: str = "float32"):
    """The same model with its weights in `precision`, with the shared block in a loop and its projections merged.

    In a loop a kernel belongs to one operation, which keeps a single copy of it laid out for the processor; an
    operation for each layer would keep one each. Kernels of queries, keys and values that lie side by side are not put
    there in every call, which took a tenth of the time of a single short text.

    Args:
        model: of models.albert, models.pretraining or models.finetuning, with float32 weights.
        precision: "float32" or "bfloat16".

    Returns:
        a model of the same class, on the CPU.
    """
    with merged_projections():
        return _copy(model, {"dtype": precision}, merge_projections(named_weights(model)))


def changed_copy(model, weights: Mapping[str, Any], intermediate_size: int):
    """The same model with other weights, on the CPU.

    Args:
        model: of models.pretraining or models.finetuning.
        weights: float32, by the names of models.named_weights.
        intermediate_size: of the feed-forward layers of these.
    """
    config = {**model.get_config()["config"], "intermediate_size": intermediate_size}
    return _copy(model, {"dtype": "float32", "config": config}, weights)


def _copy(model, changes: Mapping[str, Any], weights: Mapping[str, Any]):
    with keras.device("cpu"):
        copy = type(model).from_config(model.get_config() | {"constant_graph": True, "remat": False} | changes)
        for name, variable in named_weights(copy).items():
            variable.assign(keras.ops.cast(weights[name], variable.dtype))
    return copy
