"""Checks of a model's outputs before anything is made of them."""

from collections.abc import Mapping

import numpy as np

from albert_tf.runtime.errors import InputError


class ModelFailedError(InputError):
    """The model failed on an input that it takes: its files are damaged, or the machine lacks something."""


def check_finite(path: str, outputs: Mapping[str, np.ndarray]) -> None:
    """Raises ModelFailedError if numbers among the outputs, by their names, are not finite: the model is damaged.

    Args:
        path: of the model.
        outputs: arrays of numbers, which are checked, or of texts.
    """
    for name, array in outputs.items():
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            raise ModelFailedError(
                f"{path}: its output {name!r} has numbers that are not finite; the weights are damaged"
            )
