"""The names under which a model's weights are stored, and putting stored weights back, nothing silent.

A name is the variable's path without the name of the outermost model, so that it does not depend on how often or
under what name the model was made: "albert/encoder/block_0_0/attention/query_kernel".
"""

from collections.abc import Mapping

import numpy as np

from albert_tf.runtime.errors import InputError


def named_weights(model) -> dict:
    """The weights of a model by name, in a fixed order, frozen ones (`trainable = False`) among them.

    Returns:
        dict of name -> keras.Variable.
    """
    prefix = f"{model.name}/"
    return {variable.path.removeprefix(prefix): variable for variable in model.weights}


def trained_weights(model) -> dict:
    """The weights of named_weights that are not frozen: those that have gradients and moments."""
    return {name: variable for name, variable in named_weights(model).items() if variable.trainable}


def find_nonfinite(arrays: Mapping[str, np.ndarray]) -> list[str]:
    """Lists the arrays that hold NaN or infinity, and how many: "albert/pooler/bias (3 of 768)"."""
    found = []
    for name, array in arrays.items():
        finite = np.isfinite(array)
        if not finite.all():
            found.append(f"{name} ({finite.size - np.count_nonzero(finite):,} of {finite.size:,})")
    return found


def assign_weights(model, arrays: Mapping[str, np.ndarray], source: str) -> None:
    """Gives every weight of a model its stored value.

    Args:
        model: with built weights.
        arrays: by the names of `named_weights`.
        source: where the arrays come from, for the error.

    Raises:
        InputError: names missing or left over, a different shape, or values that are not finite: all are listed,
            and nothing is assigned.
    """
    weights = named_weights(model)
    faults = [f"missing {name}" for name in weights if name not in arrays]
    faults += [f"unexpected {name}" for name in arrays if name not in weights]
    faults += [
        f"{name} is {list(arrays[name].shape)}, the model's is {list(variable.shape)}"
        for name, variable in weights.items()
        if name in arrays and tuple(arrays[name].shape) != tuple(variable.shape)
    ]
    faults += [f"NaN or infinite values in {found}" for found in find_nonfinite(arrays)]
    if faults:
        raise InputError(f"{source} does not fit the model: {'; '.join(faults)}")
    for name, variable in weights.items():
        variable.assign(arrays[name])
