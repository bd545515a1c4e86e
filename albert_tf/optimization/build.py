"""An optimizer by its name, with its schedule, and smaller rates for the layers nearer to the input."""

from albert_tf.config import AlbertConfig
from albert_tf.optimization.adamw import AdamW
from albert_tf.optimization.lamb import LAMB
from albert_tf.optimization.muon import Muon
from albert_tf.optimization.names import OPTIMIZER_NAMES, STABLE_DECAY
from albert_tf.optimization.schedules import WarmupPolynomialDecay, WarmupStableDecay
from albert_tf.runtime.errors import FlagError


def layerwise_factors(config: AlbertConfig, decay: float) -> list[tuple[str, float]]:
    """Factors of the learning rate for each part of an encoder: decay for each step away from the head.

    A smaller rate for what lies nearer to the input (Howard & Ruder, 2018, arXiv 1801.06146, section 3.2).

    The layers of a group share their weights, so all of them have one rate. With one group of shared layers there are
    three depths: head and pooler have the whole rate, the shared block `decay` of it, embeddings and their
    projection `decay` squared. G groups make G + 2 depths; a model that shares nothing has one for each layer.

    Args:
        config: of the model.
        decay: above 0; 1 gives every weight the whole rate.

    Returns:
        (regular expression, factor) pairs for the variables' paths; what none of them fits has the whole rate.
    """
    rows = config.num_hidden_groups if config.parameter_sharing == "all" else config.num_hidden_layers
    pairs = [("(^|/)albert/(embeddings|encoder/embedding_hidden_mapping_in)/", decay ** (rows + 1))]
    pairs += [(f"(^|/)albert/encoder/block_{row}_", decay ** (rows - row)) for row in range(rows)]
    return pairs if decay != 1 else []


_OPTIMIZERS = dict(zip(OPTIMIZER_NAMES, (LAMB, AdamW, Muon), strict=True))


def build_optimizer(
    name: str, learning_rate, learning_rate_factors=(), precision: str = "float32", **settings
) -> AdamW:
    """Makes an optimizer with the official settings.

    Args:
        name: one of OPTIMIZER_NAMES.
        learning_rate: float or keras LearningRateSchedule.
        learning_rate_factors: see AdamW.
        precision: of the model; in bfloat16, Muon's iterations are in bfloat16 too, which halves their time.
        **settings: of the optimizer's own.

    Raises:
        InputError: any other name.
    """
    if name not in _OPTIMIZERS:
        raise FlagError(f"--optimizer must be one of {', '.join(OPTIMIZER_NAMES)}. Received {name!r}.")
    if _OPTIMIZERS[name] is Muon and precision == "bfloat16":
        settings = {"newton_schulz_dtype": precision, **settings}
    return _OPTIMIZERS[name](learning_rate=learning_rate, learning_rate_factors=learning_rate_factors, **settings)


def build_schedule(settings, num_train_steps: int, num_warmup_steps: int) -> WarmupPolynomialDecay | WarmupStableDecay:
    """Makes the learning rate by the step.

    Args:
        settings: has learning_rate, learning_rate_schedule and, by the schedule, start_warmup_step and poly_power or
            decay_steps_for: training.settings.TrainingSettings.
        num_train_steps: steps of the run.
        num_warmup_steps: those of the warm-up.
    """
    if settings.learning_rate_schedule == STABLE_DECAY:
        decay = settings.decay_steps_for(num_train_steps)
        return WarmupStableDecay(settings.learning_rate, num_train_steps, num_warmup_steps, decay)
    return WarmupPolynomialDecay(
        settings.learning_rate, num_train_steps, num_warmup_steps, settings.start_warmup_step, settings.poly_power
    )
