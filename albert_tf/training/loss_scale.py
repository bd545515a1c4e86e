"""The scale of the loss in float16: as large as the gradients allow (Micikevicius et al., 2018, arXiv 1710.03740).

A step whose gradients overflow is left out and halves the scale; DOUBLE_AFTER steps without one double it. Powers of
two, so that scaling and unscaling round nothing.
"""

import typing

import numpy as np
from keras import ops

FIRST_SCALE = 2.0**15
DOUBLE_AFTER = 2000


class LossScale(typing.NamedTuple):
    """The state, part of every checkpoint.

    Attributes:
        scale: float32, what the loss is multiplied with before the gradients are taken.
        good_steps: int32, steps since the scale last changed.
        overflows: int32, steps left out since the run began.
    """

    scale: typing.Any
    good_steps: typing.Any
    overflows: typing.Any


def first(scaled: bool = False) -> LossScale:
    """The state before the first step; without scaling, that of every step."""
    zero = np.zeros((), np.int32)
    return LossScale(np.full((), FIRST_SCALE if scaled else 1.0, np.float32), zero, zero)


def adjust(state: LossScale, finite, loss_finite, scaled: bool):
    """The state after a step.

    Args:
        state: before it.
        finite: bool scalar, whether loss and gradients were finite.
        loss_finite: bool scalar, whether the loss, which is not scaled, was.
        scaled: whether losses are scaled at all.

    Returns:
        (the new state; bool scalar, whether training can go on as if nothing had happened: the step was finite, or
        only overflowed for its scale).
    """
    if not scaled:
        return state, finite
    overflow = ~finite & loss_finite & (state.scale > 1.0)
    good = ops.where(finite, state.good_steps + 1, 0)
    doubled = good >= DOUBLE_AFTER
    scale = ops.where(overflow, state.scale / 2.0, ops.where(doubled, state.scale * 2.0, state.scale))
    return (
        LossScale(scale, ops.where(doubled, 0, good), state.overflows + ops.cast(overflow, "int32")),
        finite | overflow,
    )
