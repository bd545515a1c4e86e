"""Reports of what goes wrong in a step: a loss that is not finite, LAMB's trust ratios."""

import os
from typing import Any

import numpy as np
from keras import ops

from albert_tf.kernels import backend
from albert_tf.models.named_weights import trained_weights
from albert_tf.runtime import files


def write_nonfinite_report(
    output_dir: str, step: int, metrics: dict[str, float], records: list[dict[str, Any]], **more: Any
) -> str:
    """Writes OUTPUT_DIR/nonfinite-STEP.json.

    Args:
        output_dir: of the run.
        step: counted from 0.
        metrics: of the step, by the names of Steps.metrics.
        records: what the batch was made of, see inputs.record_origin.find_records.
        **more: what else is known, such as the learning rate.

    Returns:
        the file's path.
    """
    path = os.path.join(output_dir, f"nonfinite-{step:08d}.json")
    # JSON has no word for what is not finite.
    spelled = {name: value if abs(value) < float("inf") else str(value) for name, value in metrics.items()}
    values = {"step": step, **more, "metrics": spelled, "records": records}
    files.write_json(path, values)
    return path


class TrustRatios:
    """Asks LAMB what it would scale its next update by, were it made of the moments as they are.

    Weights without decay have no ratio: LAMB leaves their learning rate alone.

    Args:
        model: the weights.
        optimizer: a LAMB built on them.
    """

    def __init__(self, model, optimizer):
        self._optimizer = optimizer
        # Low-rank updates have moments too, and come last.
        weights = zip(trained_weights(model).items(), *optimizer.moments(), strict=False)
        self._parts = {
            name: (index, variable, mean, square)
            for index, ((name, variable), mean, square) in enumerate(weights)
            if optimizer.decays(index)
        }
        self._compute = backend.compiled(self._ratios)

    def now(self) -> dict[str, float]:
        """{name of the weight: ratio}; 1 where either norm is zero, as in LAMB."""
        values = [[backend.read(variable) for variable in variables] for _, *variables in self._parts.values()]
        return dict(zip(self._parts, np.asarray(self._compute(values)).tolist(), strict=True))

    def _ratios(self, values):
        ratios = []
        for (index, *_), (weight, mean, square) in zip(self._parts.values(), values, strict=True):
            update = self._optimizer.direction(index, weight, mean, square)
            ratios.append(self._optimizer.layer_scale(index, weight, update))
        return ops.stack(ratios)
