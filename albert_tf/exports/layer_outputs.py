"""Outputs of every layer as tensors that an export can have.

Shapes: B batch, S sequence, H hidden, L layers, A applications of a block, N heads.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from keras import ops


def stacked_layers(outputs: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The tuples of a model's outputs as a tensor each, in which a sequence stands as a whole.

    Args:
        outputs: of AlbertModel with output_attentions.
        names: those of exports.settings.LAYER_OUTPUTS that are wanted.

    Returns:
        "hidden_states" float [B, L + 1, S, H], "attentions" float32 [B, A, N, S, S].
    """
    return {name: ops.stack(outputs[name], axis=1) for name in names}
