"""Number of steps that a run takes in the minutes it is given: a trial of some seconds measures the step."""

import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from absl import logging

from albert_tf.checkpoints.newest_state import newest_state
from albert_tf.optimization.names import STABLE_DECAY
from albert_tf.pretraining.run import PretrainingRun
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.pretraining.stages import Stage
from albert_tf.runtime.errors import InputError
from albert_tf.training.strategy import Agreement

# Fewer steps than these are no training; the first of a trial, which are slower, are not counted.
_FEWEST_STEPS, _STEPS_BEFORE = 10, 2
# Seconds that a stage of the trial is measured for: a share of all, within limits.
_TRIAL_SHARE, _TRIAL_SECONDS = 0.01, (2.0, 5.0)


def plan_run(
    settings: PretrainingSettings,
    make_run: Callable[[PretrainingSettings], PretrainingRun],
    began: float,
    agreement: Agreement,
) -> PretrainingRun:
    """The run with the number of steps that --train_minutes has room for.

    A run that is resumed keeps the number that its checkpoints tell, so that it is the same run; the minutes it had
    before do not count then.

    Args:
        settings: with train_minutes.
        make_run: makes the run of settings.
        began: time.monotonic() of when the minutes began.
        agreement: of the workers, who take as many steps.

    Raises:
        InputError: the minutes are not enough for ten steps.
    """
    before = newest_state(settings.output_dir)
    if before is not None and before.planned_steps is not None:
        logging.info("--train_minutes was made %d steps when the run began", before.planned_steps)
        return make_run(dataclasses.replace(settings, num_train_steps=before.planned_steps))
    trial_began = time.monotonic()
    run = make_run(settings)
    values = run.read_values()
    seconds_a_step = _measure(run, settings)
    left = settings.train_minutes * 60 - (time.monotonic() - began)
    steps = math.floor(agreement.mean(left / seconds_a_step)[0])
    if steps < _FEWEST_STEPS:
        raise InputError(
            f"--train_minutes={settings.train_minutes:g}: a step takes {seconds_a_step:.2f} s and to begin takes "
            f"{time.monotonic() - began:.0f} s, which leaves {max(0, steps)} steps; give more minutes, a smaller model "
            "or a smaller batch"
        )
    planned = dataclasses.replace(settings, num_train_steps=steps)
    _log(planned, seconds_a_step, time.monotonic() - trial_began)
    run.begin_anew(planned, values)
    return run


def _log(settings: PretrainingSettings, seconds_a_step: float, seconds: float) -> None:
    """Tells what was chosen."""
    decay = "decay to the end"
    if settings.learning_rate_schedule == STABLE_DECAY:
        decay = f"the last {settings.num_decay_steps} of decay"
    logging.info(
        "--train_minutes=%g: a step takes %.3f s (measured for %.0f s), so the run has %d steps: %d of warm-up, %s",
        *(settings.train_minutes, seconds_a_step, seconds, settings.num_train_steps),
        *(settings.num_warmup_steps, decay),
    )


def _measure(run: PretrainingRun, settings: PretrainingSettings) -> float:
    """Seconds of a step of a run, whose variables change by it."""
    return sum(
        _measure_stage(run, stage, settings) * (stage.end_step - stage.first_step) / settings.num_train_steps
        for stage in run.stages
    )


def _measure_stage(run: PretrainingRun, stage: Stage, settings: PretrainingSettings) -> float:
    """Seconds of a step of a stage."""
    iterator = run.batches_from(dataclasses.replace(run.fresh_state(), step=stage.first_step))
    progress, *_ = run.steps.take(iterator, _STEPS_BEFORE, run.steps.start())
    count, turns = 0, []
    fewest_seconds, most_seconds = _TRIAL_SECONDS
    enough = min(max(_TRIAL_SHARE * 60 * settings.train_minutes, fewest_seconds), most_seconds)
    while sum(seconds for seconds, _ in turns) < enough:
        at_once = max(1, min(settings.iterations_per_loop, count))
        began = time.monotonic()
        progress, *_ = run.steps.take(iterator, at_once, progress)
        np.asarray(progress.counted)
        turns.append((time.monotonic() - began, at_once))
        count += at_once
    return typical_step(turns)


def typical_step(turns: Sequence[tuple[float, int]]) -> float:
    """Seconds that half of all steps took at most: other work beside a few turns does not make a run shorter.

    >>> typical_step([(0.2, 1), (9.0, 2), (0.5, 5)])
    0.1

    Args:
        turns: (seconds, steps) of each.
    """
    paces = sorted((seconds / steps, steps) for seconds, steps in turns)
    done = list(itertools.accumulate(steps for _, steps in paces))
    return next(pace for (pace, _), steps in zip(paces, done, strict=True) if 2 * steps >= done[-1])
