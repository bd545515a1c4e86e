"""Choice of the precision that a run computes in, where it is left to the machine."""

import dataclasses

from absl import logging

from albert_tf.checkpoints.newest_state import newest_state
from albert_tf.training.matmul_peak import measure_matmul_peak
from albert_tf.training.settings import AUTO, TrainingSettings
from albert_tf.training.strategy import Agreement

# How many times as fast matrix products in bfloat16 must be: what is not a product is not faster.
_CLEARLY_FASTER = 1.3


def choose_precision(settings: TrainingSettings, strategy, agreement: Agreement) -> TrainingSettings:
    """The settings with a precision in the place of "auto": bfloat16 where it is clearly faster here, else float32.

    A run that is resumed keeps the precision of its checkpoints.

    Args:
        settings: of the run.
        strategy: its devices.
        agreement: of the workers, who compute in one precision.
    """
    if settings.precision != AUTO:
        return settings
    before = newest_state(settings.output_dir)
    if before is not None and before.precision is not None:
        logging.info("--precision=auto: %s, as the run began", before.precision)
        return dataclasses.replace(settings, precision=before.precision)
    full, half = (measure_matmul_peak(strategy, dtype) for dtype in ("float32", "bfloat16"))
    # What a TPU multiplies is bfloat16 in any case; it is not measured.
    (wanted,) = agreement.mean(float(half >= _CLEARLY_FASTER * full))
    chosen = "bfloat16" if wanted > 0.5 else "float32"
    logging.info(
        "--precision=auto: %s; matrix products reach %.0f GFLOP/s in float32, %.0f in bfloat16",
        *(chosen, full / 1e9, half / 1e9),
    )
    return dataclasses.replace(settings, precision=chosen)
