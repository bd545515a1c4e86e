"""An optimizer by its flag's name, with its schedule."""

from albert_tf.errors import InputError
from albert_tf.optimization.adamw import AdamW
from albert_tf.optimization.lamb import LAMB
from albert_tf.optimization.schedules import WarmupPolynomialDecay

OPTIMIZERS = {"lamb": LAMB, "adamw": AdamW}


def build_optimizer(
    name: str,
    learning_rate: float,
    num_train_steps: int,
    num_warmup_steps: int = 0,
    start_warmup_step: int = 0,
    power: float = 1.0,
) -> AdamW:
    """Makes the optimizer and its learning-rate schedule.

    Args:
        name: a key of OPTIMIZERS.
        learning_rate: at the end of the warm-up.
        num_train_steps: the decay's length.
        num_warmup_steps: the warm-up's length.
        start_warmup_step: where the warm-up starts.
        power: of the decay.

    Raises:
        InputError: a name that is no key of OPTIMIZERS.
    """
    if name not in OPTIMIZERS:
        raise InputError(f"--optimizer must be one of {', '.join(OPTIMIZERS)}. Received {name!r}.")
    schedule = WarmupPolynomialDecay(learning_rate, num_train_steps, num_warmup_steps, start_warmup_step, power)
    return OPTIMIZERS[name](learning_rate=schedule)
