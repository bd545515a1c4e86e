"""Everything that exists for speed or differs by backend, behind eleven functions, a View and a BlockRunner.

`formulas` says what is computed, in plain keras.ops; the rest says how the backend is fastest at it. Layers, heads and
losses use only what is listed here. Models, optimizers and engines also compile and hold variables; what differs by
backend in that (`compiled`, `compiled_for`, `compiled_reader`, `assign_update`, `read`, `known_values`) they take from
`backend`.
"""

from albert_tf.kernels.backend import fold_in, gather_positions, keep_mask
from albert_tf.kernels.block_runner import BlockRunner
from albert_tf.kernels.doors import (
    add_projection,
    attend,
    attention_probabilities,
    feed_forward,
    project,
    vocabulary_sums,
)
from albert_tf.kernels.formulas import drop, layer_norm
from albert_tf.kernels.view import View

__all__ = [
    "BlockRunner",
    "View",
    "add_projection",
    "attend",
    "attention_probabilities",
    "drop",
    "feed_forward",
    "fold_in",
    "gather_positions",
    "keep_mask",
    "layer_norm",
    "project",
    "vocabulary_sums",
]
