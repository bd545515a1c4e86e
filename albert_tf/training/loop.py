"""The loop of a training run: when to come back from the device, to report, to save and to stop.

Nothing here decides what is computed. However many steps the device takes at a time, and wherever a run is cut off
and taken up again, the same steps are taken, and the same means reported; only a stop divides those of a report in two.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from absl import logging

from albert_tf.checkpoints.checkpoint_evaluation import read_evaluation, write_evaluation
from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.optimization.lamb import LAMB
from albert_tf.runtime.errors import InputError
from albert_tf.training import run_description
from albert_tf.training.diagnostics import TrustRatios, write_nonfinite_report
from albert_tf.training.reporting import TrainingReporter
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
            events.nonfinite(step - 1, np.asarray(last).tolist(), progress)
        if plan.reports_at(step):
            events.report(step, progress)
            progress = progress.cleared()
        if plan.saves_at(step) and events.save(step, progress, evaluate=True):
            return


class TrainingEvents:
    """The LoopEvents of a run.

    Args:
        run: run.TrainingRun.
        state: where it starts.
        reporter: of the run.
        diagnosis: diagnosis.Diagnosis, whose figures are reported too; None: none.
    """

    def __init__(self, run, state: TrainingState, reporter: TrainingReporter, diagnosis=None):
        self._run = run
        self._settings = run.settings
        self._state = state
        self._reporter = reporter
        self._diagnosis = diagnosis
        self._trust_ratios = None
        if isinstance(run.optimizer, LAMB) and run.cluster.is_chief:
            self._trust_ratios = TrustRatios(run.model, run.optimizer)
        self._told_of_all_reduce = False

    def evaluate_if_left_out(self) -> None:
        """Makes up for the evaluation of the checkpoint that the run goes on from, or its report, if it was cut off."""
        step = self._state.step
        is_due = step % self._settings.save_checkpoints_steps == 0 or step == self._run.num_train_steps()
        if not (self._settings.do_eval and step and is_due):
            return
        folder = self._run.checkpoints.path(self._state.step)
        found = read_evaluation(folder)
        # No worker has begun to write it before all have looked.
        self._run.agreement.mean(0.0)
        if found is None:
            self._evaluate(folder)
        elif self._state.step not in self._reporter.evaluated:
            self._reporter.evaluation(self._state.step, found)

    def report(self, step: int, progress: Progress) -> None:
        """Writes and shows the means over the steps since the last report."""
        scale = progress.scale
        scaled = {"loss_scale": float(scale.scale), "overflow_steps": int(scale.overflows)}
        more = (scaled if self._run.steps.scale_loss else {}) | {"nonfinite_steps": self._state.nonfinite_steps}
        metrics = dict(zip(self._run.steps.metrics, progress.means(), strict=True))
        self._reporter.train(
            step,
            metrics,
            self._learning_rate(step - 1),
            waited=float(progress.waited),
            more=more | (self._diagnosis.report(step, metrics) if self._diagnosis is not None else {}),
            trust_ratios=self._trust_ratios.now() if self._trust_ratios is not None else None,
        )
        if not self._told_of_all_reduce:
            self._told_of_all_reduce = True
            if text := run_description.describe_all_reduce(self._run.steps):
                self._reporter.message(text)

    def traced(self, seconds: float, steps: int, progress: Progress) -> None:
        """Leaves the time of tracing out of the next report's rates."""
        self._reporter.traced(seconds, steps, float(progress.waited))

    def save(self, step: int, progress: Progress, evaluate: bool) -> bool:
        """Writes a checkpoint, and evaluates it with --do_eval; then says whether the run is over before its end."""
        run, settings = self._run, self._settings
        scale = {name: np.asarray(value).item() for name, value in progress.scale._asdict().items()}
        self._state = dataclasses.replace(
            self._state,
            step=step,
            examples_seen=self._examples_seen(step),
            loss_scale=scale if run.steps.scale_loss else None,
        )
        folder = run.checkpoints.path(step)
        if evaluate:
            run.before_saving()
        if run.cluster.is_chief:
            run.checkpoints.save(run.model, run.optimizer, self._state)
            self._reporter.message(f"saved {folder}")
        if evaluate and settings.do_eval:
            self._evaluate(folder)
        self._reporter.start_clock()
        return evaluate and settings.do_eval and run.is_over(step)

    def nonfinite(self, step: int, values: list[float], progress: Progress) -> None:
        """Reports the step and its batch, and ends the run unless such steps are to be skipped.

        Raises:
            InputError: with --nonfinite=stop, or after --max_nonfinite_steps of them.
        """
        run, settings = self._run, self._settings
        self._state = dataclasses.replace(self._state, nonfinite_steps=self._state.nonfinite_steps + 1)
        metrics = dict(zip(run.steps.metrics, values, strict=True))
        rate, first = self._learning_rate(step), self._examples_seen(step)
        what = "loss" if not abs(metrics["loss"]) < float("inf") else "gradient_norm"
        where = ""
        if run.cluster.is_chief:
            where = "; see " + write_nonfinite_report(
                settings.output_dir,
                step,
                metrics,
                run.find_batch(step, first),
                learning_rate=rate,
                loss_scale=float(progress.scale.scale),
                first_example=first,
                weights_at_step=step,
            )
        told = (
            f"the {what} is {metrics[what]} in step {step} (learning rate {rate:.3g}, examples {first} to "
            f"{first + run.examples_between(step, step + 1) - 1}{where})"
        )
        count, limit = self._state.nonfinite_steps, settings.max_nonfinite_steps
        if settings.nonfinite == "stop":
            raise InputError(
                f"{told}; lower --learning_rate, lengthen --num_warmup_steps, look at the records, or pass over such "
                "steps with --nonfinite=skip; the run goes on from its last checkpoint"
            )
        if count > limit:
            raise InputError(
                f"{told}; such steps: {count}, --max_nonfinite_steps={limit}; lower --learning_rate or look "
                "at the records; the run goes on from its last checkpoint"
            )
        logging.warning("%s; weights and moments stay as they were (%d of %d such steps)", told, count, limit)

    def _evaluate(self, folder: str) -> None:
        metrics = self._run.evaluate()
        if self._run.cluster.is_chief:
            write_evaluation(folder, metrics)
        self._reporter.evaluation(self._state.step, metrics)

    def _examples_seen(self, step: int) -> int:
        """The place in the input after so many steps; a different batch size before the restart counts as it was."""
        return self._state.examples_seen + self._run.examples_between(self._state.step, step)

    def _learning_rate(self, step: int) -> float:
        return float(self._run.schedule(step))
