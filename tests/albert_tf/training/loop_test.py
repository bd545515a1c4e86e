"""The loop on steps that are made up: when it reports, saves, stops, and how long it stays on the device."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.pretraining.steps import TRAIN_METRICS
from albert_tf.runtime.errors import RunStopped
from albert_tf.training import loop
from albert_tf.training.cluster import Cluster
from albert_tf.training.loss_scale import first
from albert_tf.training.steps import Progress
from albert_tf.training.stop_signals import StopSignals
from albert_tf.training.strategy import Agreement


class _Events:
    def __init__(self, over_at=None):
        self.seen, self.over_at = [], over_at
        self.first_calls = []

    def report(self, step, progress):
        self.seen.append(("report", step, float(progress.counted)))

    def traced(self, seconds, steps, progress):
        self.first_calls.append(steps)

    def save(self, step, progress, evaluate):
        self.seen.append(("save", step, evaluate))
        return step == self.over_at

    def nonfinite(self, step, metrics, progress):
        self.seen.append(("nonfinite", step, metrics[0]))


class _Signals(StopSignals):
    def arrive(self):
        self._received.append(15)


def _train(plan, bad_step=None, stop_at=None, start=0, over_at=None):
    events, signals, calls = _Events(over_at), _Signals(), []

    def take(step, count, progress):
        at = start + sum(calls)
        bad = bad_step is not None and at <= bad_step < at + count
        taken = bad_step - at + 1 if bad else count
        calls.append(taken)
        if stop_at is not None and at + taken >= stop_at:
            signals.arrive()
        last = tf.constant([np.nan if bad else 1.0] * len(TRAIN_METRICS))
        return progress._replace(counted=progress.counted + taken - bad), tf.constant(taken), last, tf.constant(not bad)

    progress = Progress(tf.zeros([len(TRAIN_METRICS)]), None, None, first()).cleared()
    loop.train(plan, take, start, progress, events, signals, Agreement(None, Cluster()))
    return events.seen


def test_reports_and_checkpoints_come_at_their_steps_whatever_a_call_takes():
    plans = [loop.LoopPlan(10, log_steps=4, save_checkpoints_steps=5, iterations_per_loop=k) for k in (1, 3, 1000)]
    expected = [
        *(("report", 4, 4.0), ("report", 5, 1.0), ("save", 5, True)),
        *(("report", 8, 3.0), ("report", 10, 2.0), ("save", 10, True)),
    ]
    for plan in plans:
        assert _train(plan) == expected
    assert _train(plans[0], start=8) == expected[4:]


def test_the_first_call_alone_is_told_since_it_traced_the_graph():
    plan = loop.LoopPlan(10, log_steps=4, save_checkpoints_steps=5, iterations_per_loop=3)
    events, signals, agreement = _Events(), _Signals(), Agreement(None, Cluster())
    last = tf.constant([1.0] * len(TRAIN_METRICS))

    def take(step, count, progress):
        return progress, tf.constant(count), last, tf.constant(True)

    start = Progress(tf.zeros([len(TRAIN_METRICS)]), None, None, first()).cleared()
    loop.train(plan, take, 2, start, events, signals, agreement)
    assert events.first_calls == [1]


def test_a_stage_ends_with_a_report_and_the_first_call_of_the_next_is_told():
    plan = loop.LoopPlan(10, log_steps=8, save_checkpoints_steps=10, iterations_per_loop=100, stage_ends=(3, 5))
    events, signals, calls = _Events(), _Signals(), []
    last = tf.constant([1.0] * len(TRAIN_METRICS))

    def take(step, count, progress):
        calls.append((step, count))
        return progress._replace(counted=progress.counted + count), tf.constant(count), last, tf.constant(True)

    start = Progress(tf.zeros([len(TRAIN_METRICS)]), None, None, first()).cleared()
    loop.train(plan, take, 0, start, events, signals, Agreement(None, Cluster()))
    assert [event for event in events.seen if event[0] == "report"] == [
        *(("report", 3, 3.0), ("report", 5, 2.0), ("report", 8, 3.0), ("report", 10, 2.0)),
    ]
    assert all(at + count <= end for at, count in calls for end in (3, 5, 8, 10) if at < end)
    assert [step for step, _ in calls if step in (0, 3, 5)] == [0, 3, 5]
    assert len(events.first_calls) == 3


def test_a_save_that_says_so_ends_the_run():
    plan = loop.LoopPlan(10, log_steps=5, save_checkpoints_steps=5, iterations_per_loop=10)
    assert _train(plan, over_at=5) == [("report", 5, 5.0), ("save", 5, True)]


def test_a_bad_step_is_told_at_once_and_counts_as_a_step():
    seen = _train(loop.LoopPlan(6, log_steps=6, save_checkpoints_steps=6, iterations_per_loop=100), bad_step=2)
    assert seen[0][:2] == ("nonfinite", 2)
    assert seen[1:] == [("report", 6, 5.0), ("save", 6, True)]


def test_a_signal_saves_where_it_finds_the_run_and_ends_it():
    plan = loop.LoopPlan(100, log_steps=50, save_checkpoints_steps=50, iterations_per_loop=1)
    with pytest.raises(RunStopped, match="stopped by SIGTERM; step 3 is saved"):
        events = _Events()
        signals, steps = _Signals(), []

        def take(step, count, progress):
            steps.append(count)
            if len(steps) == 3:
                signals.arrive()
            return progress, tf.constant(1), tf.zeros([len(TRAIN_METRICS)]), tf.constant(True)

        start = Progress(tf.zeros([len(TRAIN_METRICS)]), None, None, first()).cleared()
        loop.train(plan, take, 0, start, events, signals, Agreement(None, Cluster()))
    assert [event[:2] for event in events.seen] == [("report", 3), ("save", 3)]


def test_a_signal_after_a_checkpoint_saves_nothing_twice():
    plan = loop.LoopPlan(8, log_steps=4, save_checkpoints_steps=4, iterations_per_loop=100)
    with pytest.raises(RunStopped, match="step 4 is saved"):
        _train(plan, stop_at=4)


def test_a_signal_after_a_step_saves_and_reports_what_is_not_yet():
    def seen(signal_at, **plan):
        events, signals = _Events(), _Signals()
        plan = loop.LoopPlan(**{"num_train_steps": 20, "iterations_per_loop": 1, **plan})
        steps = []

        def take(step, count, progress):
            steps.append(count)
            if len(steps) == signal_at:
                signals.arrive()
            return progress, tf.constant(1), tf.zeros([len(TRAIN_METRICS)]), tf.constant(True)

        progress = Progress(tf.zeros([len(TRAIN_METRICS)]), None, None, first()).cleared()
        with pytest.raises(RunStopped, match=f"step {signal_at} is saved"):
            loop.train(plan, take, 0, progress, events, signals, Agreement(None, Cluster()))
        return [(kind, step) for kind, step, _ in events.seen]

    # At a checkpoint, at a report, at neither.
    assert seen(4, log_steps=2, save_checkpoints_steps=4) == [("report", 2), ("report", 4), ("save", 4)]
    assert seen(2, log_steps=2, save_checkpoints_steps=4) == [("report", 2), ("save", 2)]
    assert seen(3, log_steps=2, save_checkpoints_steps=4) == [("report", 2), ("report", 3), ("save", 3)]


def test_the_last_step_is_saved_and_reported_wherever_it_lies():
    seen = _train(loop.LoopPlan(7, log_steps=3, save_checkpoints_steps=4, iterations_per_loop=100))
    assert [event[:2] for event in seen] == [
        *[("report", 3), ("report", 4), ("save", 4), ("report", 6)],
        *[("report", 7), ("save", 7)],
    ]


def test_a_signal_before_the_first_step_saves_nothing():
    plan = loop.LoopPlan(8, log_steps=4, save_checkpoints_steps=4, iterations_per_loop=100)
    for start, told in ((0, "no step was taken"), (3, "step 3 is saved")):
        events, signals = _Events(), _Signals()
        signals.arrive()

        def take(step, count, progress):
            raise AssertionError("a step was taken")

        progress = Progress(tf.zeros([len(TRAIN_METRICS)]), None, None, first()).cleared()
        with pytest.raises(RunStopped, match=f"stopped by SIGTERM; {told}"):
            loop.train(plan, take, start, progress, events, signals, Agreement(None, Cluster()))
        assert events.seen == []


def test_a_call_is_short_enough_for_a_signal():
    pace = loop.Pace()
    pace.note(100.0, 1)  # tracing
    assert pace.seconds_per_step == 0.0
    pace.note(20.0, 10)
    assert loop.most_steps(pace.seconds_per_step) == 2
    assert loop.most_steps(60.0) == loop.most_steps(0.0) == 1
