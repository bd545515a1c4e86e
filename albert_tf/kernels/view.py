"""View: a batch as the blocks of an encoder see it.

Shapes: B batch, S sequence, P positions, H hidden.
"""

import dataclasses
from typing import Any

from albert_tf.kernels import backend, formulas
from albert_tf.kernels.unpadding import Unpadding


@dataclasses.dataclass(frozen=True)
class View:
    """All that a block needs of a batch beside its hidden states.

    Attributes:
        attention_bias: float32 [B, 1, 1, S], or [B, 1, S, S] where rows hold several sequences; with positions
            [B, 1, P, S]. See formulas.attention_bias.
        positions: int32 [B, P]: the only positions whose output is wanted; None: all.
        unpadding: Unpadding that stripped the hidden states, which then are [1, T, H]; None where they have padding.
        stripped: whether an unpadding had stripped them before positions were picked: operations run one by one.
        seed: int32 [2] for dropout; None where nothing is dropped.
        training: bool.
    """

    attention_bias: Any
    positions: Any = None
    unpadding: Unpadding | None = None
    stripped: bool = False
    seed: Any = None
    training: bool = False

    @classmethod
    def of(cls, input_mask, sequence_ids=None, **more):
        """The view of a batch by its mask, int [B, S], 1 for a token, 0 for padding, and its sequences, likewise."""
        return cls(formulas.attention_bias(input_mask, sequence_ids), **more)

    @classmethod
    def without_padding(cls, input_mask, num_heads, positions=None, wanted=None):
        """The view of a batch for whose padding nothing is computed, outside training; see Unpadding."""
        return cls.of(input_mask, unpadding=Unpadding(input_mask, num_heads, positions, wanted))

    def at(self, positions):
        """The view of the same batch of which only these positions, int32 [B, P], are wanted."""
        bias = self.attention_bias
        if bias.shape[2] != 1:
            bias = backend.gather_positions(bias[:, 0], positions)[:, None]
        stripped = self.unpadding is not None
        return dataclasses.replace(self, attention_bias=bias, positions=positions, unpadding=None, stripped=stripped)

    def strip(self, x):
        """The part of a tensor [B, S, n] that is computed, by the view's unpadding: [1, T, n], or all of it."""
        return x if self.unpadding is None else self.unpadding.strip(x)

    def restore(self, x):
        """The inverse of strip."""
        return x if self.unpadding is None else self.unpadding.restore(x)

    def wanted(self, hidden):
        """The hidden states at the positions whose output is wanted: float [B, S, H] -> [B, P, H]."""
        return hidden if self.positions is None else backend.gather_positions(hidden, self.positions)
