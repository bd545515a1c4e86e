"""Hidden units of the feed-forward layers doubled where their weights are far larger than others, for int8.

Trained encoders have a few units whose weights in the second kernel are ten times as large as the column's others. As
a column has one scale, these few decide the steps of all. A unit that stands there twice, with half of its weights
each, gives the same sum with half of the largest (Zhao et al. 2019, arXiv 1901.09504, outlier channel splitting).

Shapes: I intermediate, H hidden.
"""

import numpy as np

from albert_tf.exports.served_copy import changed_copy
from albert_tf.models.named_weights import named_weights

_FIRST, _FIRST_BIAS, _SECOND = "intermediate/kernel", "intermediate/bias", "output/kernel"
_LAYER = "/feed_forward/"
# In standard deviations of a column: what the largest of some thousand weights without outliers comes to.
_USUAL = 6.0
# At most a unit more for as many, and as many together as processors multiply at a time.
_UNITS_A_COPY, _MULTIPLE = 48, 32


def split_outliers(model):
    """A model that computes the same with weights nearer to each other; the model itself where none stands out.

    Args:
        model: of models.pretraining or models.finetuning, with float32 weights.
    """
    weights = {name: np.asarray(variable) for name, variable in named_weights(model).items()}
    seconds = [name for name in weights if name.endswith(_LAYER + _SECOND)]
    size = model.config.intermediate_size
    most = max(size // _UNITS_A_COPY // _MULTIPLE, 1) * _MULTIPLE
    largest = {name: _largest(weights[name]) for name in seconds}
    wanted = max(int(np.sum(np.ceil(rows / _USUAL).clip(1) - 1)) for rows in largest.values())
    if not wanted:
        return model
    extra = min(most, -(-wanted // _MULTIPLE) * _MULTIPLE)
    for name in seconds:
        counts = _count_copies(largest[name], extra)
        before = name.removesuffix(_SECOND)
        for part in (_FIRST, _FIRST_BIAS):
            weights[before + part] = np.repeat(weights[before + part], counts, axis=-1)
        weights[name] = np.repeat(weights[name] / counts[:, None].astype("float32"), counts, axis=0)
    return changed_copy(model, weights, size + extra)


def _largest(kernel: np.ndarray) -> np.ndarray:
    """For each unit of [I, H] its largest weight, in standard deviations of the weight's column: [I]."""
    spread = kernel.std(axis=0)
    return np.max(np.abs(kernel) / np.where(spread == 0, 1, spread), axis=1)


def _count_copies(largest: np.ndarray, extra: int) -> np.ndarray:
    """The copies of each unit: int64 [I], I + `extra` in all, one more always of the unit that is largest by then."""
    counts = np.ones(len(largest), "int64")
    for _ in range(extra):
        counts[np.argmax(largest / counts)] += 1
    return counts
