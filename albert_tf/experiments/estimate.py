"""The time that the steps that are left will take, from the time that finished ones took."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.experiments.steps import Step


def estimate_seconds(left: Sequence[Step], notes: Sequence[Mapping[str, Any]]) -> tuple[float, set[str]]:
    """Estimates how long steps take, one at a time, on the machine that finished the others.

    Args:
        left: the steps.
        notes: of finished steps; those that were stopped on the way have no time, and do not count.

    Returns:
        (seconds, the kinds of which none is finished, for which nothing is in the seconds).
    """
    total, unknown = 0.0, set()
    for step in left:
        rates = [note["seconds"] / note["work"] for note in notes if note.get("kind") == step.kind and _has_time(note)]
        if rates:
            total += statistics.median(rates) * step.work
        else:
            unknown.add(step.kind)
    return total, unknown


def duration(seconds: float) -> str:
    """A duration in words.

    >>> duration(42), duration(250), duration(9000)
    ('42 s', '4 min', '2 h 30 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _has_time(note: Mapping[str, Any]) -> bool:
    seconds, work = note.get("seconds"), note.get("work")
    return isinstance(seconds, int | float) and isinstance(work, int | float) and work > 0
