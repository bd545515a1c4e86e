"""An optimizer by its flag's name."""

from albert_tf.optimization.adamw import AdamW
from albert_tf.optimization.lamb import LAMB
from albert_tf.optimization.muon import Muon
from albert_tf.optimization.names import OPTIMIZER_NAMES
from albert_tf.runtime.errors import InputError

_OPTIMIZERS = dict(zip(OPTIMIZER_NAMES, (LAMB, AdamW, Muon), strict=True))


def build_optimizer(name: str, learning_rate, learning_rate_factors=(), **settings) -> AdamW:
    """Makes an optimizer with the official settings.

    Args:
        name: one of OPTIMIZER_NAMES.
        learning_rate: float or keras LearningRateSchedule.
        learning_rate_factors: see AdamW.
        **settings: of the optimizer's own.

    Raises:
        InputError: any other name.
    """
    if name not in _OPTIMIZERS:
        raise InputError(f"--optimizer must be one of {', '.join(OPTIMIZER_NAMES)}. Received {name!r}.")
    return _OPTIMIZERS[name](learning_rate=learning_rate, learning_rate_factors=learning_rate_factors, **settings)
