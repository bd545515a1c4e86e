"""A model as it is served: what its graph and its weights are, where nothing is trained any more."""

import keras

from albert_tf.models.named_weights import named_weights


def serving_copy(model, precision: str = "float32"):
    """The same model with its weights in `precision`, and with the shared block in a loop.

    In a loop a kernel belongs to one operation, which keeps a single copy of it laid out for the processor; an
    operation for each layer would keep one each.

    Args:
        model: of models.albert, models.pretraining or models.finetuning, with float32 weights.
        precision: "float32" or "bfloat16".

    Returns:
        a model of the same class, on the CPU.
    """
    settings = model.get_config() | {"constant_graph": True, "remat": False, "dtype": precision}
    with keras.device("cpu"):
        copy = type(model).from_config(settings)
        weights = named_weights(model)
        for name, variable in named_weights(copy).items():
            variable.assign(keras.ops.cast(weights[name], precision))
    return copy
