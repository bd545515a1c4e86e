"""Position embeddings of a new model that start as waves, in place of random numbers.

To look at a neighbour, attention needs a map from each position to the next one. Of random vectors it has to learn one
for every position; of sines and cosines (Vaswani et al., 2017, arXiv 1706.03762, section 3.5) one rotation serves all.
They are trained from there like all weights.
"""

import numpy as np

_LONGEST = 10_000.0


def make_waves(positions: int, size: int, deviation: float) -> np.ndarray:
    """Sines in the first half of the columns, cosines of the same frequencies in the second; float32 [positions, size].

    Args:
        positions: rows.
        size: E; of an odd number the last column is zero.
        deviation: root mean square of a value.
    """
    half = size // 2
    frequencies = _LONGEST ** (-np.arange(half) / max(1, half))
    angles = np.arange(positions)[:, None] * frequencies
    waves = np.zeros((positions, size))
    waves[:, :half], waves[:, half : 2 * half] = np.sin(angles), np.cos(angles)
    return (waves * deviation * np.sqrt(2)).astype(np.float32)


def initialise_positions(model) -> None:
    """Gives a new model waves for its position embeddings, as large on the average as its random ones."""
    variable = model.albert.embeddings.position_embeddings
    variable.assign(make_waves(*variable.shape, model.config.initializer_range))
