"""The stages of a pre-training run: steps of one length, batch and way of masking, one stage after another."""

import dataclasses
import itertools
import math
from collections.abc import Sequence

from absl import logging

from albert_tf.inputs.reading import AS_MADE, Reading
from albert_tf.runtime.errors import FlagError

_WANTED = "VALUE or VALUE:SHARE,VALUE:SHARE,... with shares of the run's steps that add up to 1"


@dataclasses.dataclass(frozen=True)
class Stage:
    """Steps that are alike.

    Attributes:
        first_step, end_step: of the run, counted from 0; the end is not in it.
        batch_size: examples of a step, over all devices.
        reading: how long its examples are, and how they are masked.
    """

    first_step: int
    end_step: int
    batch_size: int
    reading: Reading = AS_MADE


@dataclasses.dataclass(frozen=True)
class Stages:
    """All stages of a run, the first at step 0, the last to its end."""

    stages: tuple[Stage, ...]

    def __iter__(self):
        return iter(self.stages)

    def at(self, step: int) -> Stage:
        """The stage that a step belongs to; after the end of all stages, the last one."""
        return next((stage for stage in self.stages if step < stage.end_step), self.stages[-1])

    def ends(self) -> tuple[int, ...]:
        """The steps at which one gives way to the next."""
        return tuple(stage.end_step for stage in self.stages[:-1])

    def batch_sizes(self) -> tuple[int, ...]:
        """The examples of a step, one stage after another; stages in a row that have as many are told of once."""
        return tuple(size for size, _ in itertools.groupby(stage.batch_size for stage in self.stages))

    def examples_between(self, first_step: int, end_step: int) -> int:
        """Number of examples of the steps from first_step up to end_step, which is not one of them."""
        total = 0
        for stage in self.stages:
            last = max(stage.end_step, end_step) if stage is self.stages[-1] else stage.end_step
            total += max(0, min(last, end_step) - max(stage.first_step, first_step)) * stage.batch_size
        return total


def parse_schedule(flag: str, text: str | None, kind: type = int) -> tuple[tuple[float, float], ...]:
    """The values of a flag that may change in a run, each with its share of the steps; () where it is not given.

    >>> parse_schedule("length_schedule", "32:0.5,128:0.5")
    ((32, 0.5), (128, 0.5))
    >>> parse_schedule("masked_lm_prob", "0.3", float)
    ((0.3, 1.0),)

    Args:
        flag: its name, for errors.
        text: VALUE, or VALUE:SHARE,VALUE:SHARE,...
        kind: of the values, int or float.

    Raises:
        FlagError: the text is not of that form, a value is not positive, or the shares do not add up to 1.
    """
    if text is None:
        return ()
    parts = [part.strip().split(":") for part in text.split(",")]
    if len(parts) == 1 and len(parts[0]) == 1:
        parts[0].append("1")
    try:
        found = tuple((kind(value), float(share)) for value, share in parts)
    except ValueError:
        raise FlagError(f"--{flag} must be {_WANTED}. Received {text!r}.") from None
    if not all(0 < value < math.inf and 0 < share <= 1 for value, share in found):
        raise FlagError(f"--{flag} must be {_WANTED}, all of them positive. Received {text!r}.")
    if abs(sum(share for _, share in found) - 1) > 1e-6:
        total = sum(share for _, share in found)
        raise FlagError(f"--{flag}: the shares must add up to 1; those of {text!r} add up to {total:g}")
    return found


def make_stages(
    num_train_steps: int,
    batch_size: int,
    max_seq_length: int,
    lengths: Sequence[tuple[int, float]] = (),
    batches: Sequence[tuple[int, float]] = (),
    masked_lm_probs: Sequence[tuple[float, float]] = (),
    ngrams: Sequence[tuple[int, float]] = (),
) -> Stages:
    """The stages of a run of so many steps.

    Shorter examples come in larger batches: a step has as many tokens as one of the records' length.

    Args:
        num_train_steps: of the run.
        batch_size: examples of a step at the records' length, where `batches` does not say it.
        max_seq_length: S of the records.
        lengths, batches, masked_lm_probs, ngrams: what parse_schedule returns.
    """
    schedules = (lengths, batches, masked_lm_probs, ngrams)
    borders = [
        [round(share * num_train_steps) for share in itertools.accumulate(share for _, share in schedule)][:-1]
        for schedule in schedules
    ]
    for schedule, passed in zip(schedules, borders, strict=True):
        ends = itertools.pairwise([0, *passed, num_train_steps]) if schedule else ()
        for (value, share), (first, end) in zip(schedule, ends, strict=False):
            if first == end:
                logging.warning("%g of a schedule has none of the %d steps: %g of them", value, num_train_steps, share)
    edges = sorted({0, num_train_steps, *itertools.chain(*borders)})
    stages = []
    for first, end in itertools.pairwise(edges):
        length, batch, prob, ngram = (
            schedule[sum(border <= first for border in passed)][0] if schedule else None
            for schedule, passed in zip(schedules, borders, strict=True)
        )
        rows = batch or batch_size
        if length is not None:
            rows = max(1, rows * max_seq_length // length)
        stages.append(Stage(first, end, rows, Reading(length, prob, ngram)))
    return Stages(tuple(stages))
