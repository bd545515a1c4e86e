"""The loop of a training run: when to come back from the device, to report, to save and to stop.

Nothing here decides what is computed. However many steps the device takes at a time, and wherever a run is cut off
and taken up again, the same steps are taken, and the same means reported.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Protocol

from albert_tf.training.steps import Progress
from albert_tf.training.stop_signals import StopSignals
from albert_tf.training.strategy import Agreement

# A signal waits for the device to come back; it should not have to wait longer than this for steps, in seconds.
_LONGEST_CALL = 5.0


@dataclasses.dataclass(frozen=True)
class LoopPlan:
    """Steps at which a run reports, saves a checkpoint, pauses or ends.

    Attributes:
        num_train_steps: the last one.
        log_steps: between reports.
        save_checkpoints_steps: between checkpoints.
        iterations_per_loop: most steps on the device without coming back.
        stage_ends: steps at which a stage of the run ends and the next begins.
    """

    num_train_steps: int
    log_steps: int
    save_checkpoints_steps: int
    iterations_per_loop: int
    stage_ends: tuple[int, ...] = ()

    def steps_until_pause(self, step: int) -> int:
        """Steps to the next report, checkpoint or end, of a stage or of the run, whichever is first."""
        to_report = self.log_steps - step % self.log_steps
        to_save = self.save_checkpoints_steps - step % self.save_checkpoints_steps
        to_end = min(end for end in (*self.stage_ends, self.num_train_steps) if end > step) - step
        return min(to_report, to_save, to_end, self.iterations_per_loop)

    def saves_at(self, step: int) -> bool:
        """Tells whether a checkpoint is due after this step."""
        return step % self.save_checkpoints_steps == 0 or step == self.num_train_steps

    def reports_at(self, step: int) -> bool:
        """Tells whether a report is due; there is one at every checkpoint, and at the end of a stage."""
        return step % self.log_steps == 0 or self.saves_at(step) or step in self.stage_ends


class LoopEvents(Protocol):
    """Actions of the owner of a run when the loop comes by."""

    def report(self, step: int, progress: Progress) -> None:
        """The steps since the last report are done."""

    def traced(self, seconds: float, steps: int, progress: Progress) -> None:
        """The first call is done, which traced the graph: so many seconds for so many steps."""

    def save(self, step: int, progress: Progress, evaluate: bool) -> bool:
        """A checkpoint is to be written, and evaluated if such is the owner's habit. True ends the run here."""

    def nonfinite(self, step: int, metrics: list[float], progress: Progress) -> None:
        """A step, counted from 0, had a loss or gradient that is not finite, and changed nothing."""


class Pace:
    """The time that a step takes, so that the device comes back in time for a signal."""

    def __init__(self):
        self.seconds_per_step = 0.0
        self._calls = 0

    def note(self, seconds: float, steps: int) -> None:
        """A call took so long; the first one holds the tracing of the graph and says nothing."""
        self._calls += 1
        if self._calls > 1:
            self.seconds_per_step = seconds / steps


def most_steps(seconds_per_step: float) -> int:
    """The largest number of steps that a call may take; one until it is known how long they are."""
    return max(1, int(_LONGEST_CALL / seconds_per_step)) if seconds_per_step > 0 else 1


def train(
    plan: LoopPlan,
    take: Callable[[int, int, Progress], tuple],
    start_step: int,
    progress: Progress,
    events: LoopEvents,
    signals: StopSignals,
    agreement: Agreement,
) -> None:
    """Trains to the end of the plan, or until a save says that this is the end.

    Args:
        plan: of the run.
        take: from a step on takes at most so many, and returns what Steps.take does.
        start_step: steps taken before.
        progress: of the steps since the last report.
        events: what to do on the way.
        signals: the wish to stop.
        agreement: of the workers.

    Raises:
        RunStopped: by a signal, after a checkpoint.
    """
    step, pace = start_step, Pace()
    while step < plan.num_train_steps:
        stop, seconds = agreement.mean(float(signals.received is not None), pace.seconds_per_step)
        if stop:
            # What was reported or saved at this step already is not again.
            if step > start_step and not plan.reports_at(step):
                events.report(step, progress)
            if step > start_step and not plan.saves_at(step):
                events.save(step, progress, evaluate=False)
            signals.stop(f"step {step} is saved" if step else "no step was taken")
        began = time.monotonic()
        progress, taken, last, usable = take(step, min(plan.steps_until_pause(step), most_steps(seconds)), progress)
        taken = int(taken)
        if step == start_step or step in plan.stage_ends:
            events.traced(time.monotonic() - began, taken, progress)
            pace = Pace()
        pace.note(time.monotonic() - began, taken)
        step += taken
        if not usable:
            events.nonfinite(step - 1, last.numpy().tolist(), progress)
        if plan.reports_at(step):
            events.report(step, progress)
            progress = progress.cleared()
        if plan.saves_at(step) and events.save(step, progress, evaluate=True):
            return
