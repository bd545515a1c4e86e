"""Contents of a report: rates, shares of the peak and of the wait; in the log, on TensorBoard, in a line."""

import json
import logging
import math

import pytest
import tensorflow as tf

from albert_tf.pretraining.steps import TRAIN_METRICS
from albert_tf.training import reporting
from albert_tf.training.reporting import RunFacts, TrainingReporter

FACTS = RunFacts(
    num_train_steps=100,
    examples_per_step=8,
    tokens_per_step=128,
    examples_per_epoch=50,
    flops_per_step=1e9,
    matmul_peak=4e9,
)
METRICS = dict.fromkeys(TRAIN_METRICS, 0.5)


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [100.0]
    monkeypatch.setattr(reporting.time, "monotonic", lambda: now[0])
    return now


def _lines(folder):
    with open(folder / "train_log.jsonl") as file:
        return [json.loads(line) for line in file]


def test_no_report_is_above_the_peak(tmp_path, clock, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    reporter = TrainingReporter(str(tmp_path), FACTS, start_step=0, start_rows=0)
    # 10 steps of 1e9 operations, at a measured peak of 4e9: 2 s are faster than that, 4 s are slower.
    for step, seconds in ((10, 2), (20, 4)):
        clock[0] += seconds
        reporter.train(step, METRICS, 1e-3)
    reporter.close()
    assert [line["matmul_peak_share"] for line in _lines(tmp_path)] == [1.0, 0.5]
    assert "(100% of peak)" in caplog.records[-2].getMessage()


def test_a_report_by_hand(tmp_path, clock, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    # The steps before took 4 examples each, those of now 8.
    reporter = TrainingReporter(str(tmp_path), FACTS, start_step=10, start_rows=40)
    clock[0] += 20
    reporter.train(20, METRICS, 1e-3, waited=5.0, trust_ratios={"a/kernel": 2.5})
    reporter.close()
    (line,) = _lines(tmp_path)
    assert line["tokens_per_second"] == 64
    assert line["model_flops_per_second"] == 5e8
    assert line["matmul_peak_share"] == 0.125
    assert line["input_wait_share"] == 0.25
    assert (line["examples_seen"], line["epochs"]) == (120, 2.4)
    assert (line["seconds"], line["seconds_left"]) == (20, 160)
    assert "trust_ratio/a/kernel" not in line
    text = caplog.records[-1].getMessage()
    for part in ("step 20/100", "loss 0.500", "norm 0.50", "64 tokens/s", "500 MFLOP/s (12% of peak)", "input 25%"):
        assert part in text
    assert "120 examples, epoch 2.40  ETA 0:02:40" in text
    (events,) = (tmp_path / "tensorboard" / "train").iterdir()
    tags = {value.tag for event in tf.compat.v1.train.summary_iterator(str(events)) for value in event.summary.value}
    assert {"trust_ratio/a/kernel", "loss", "input_wait_share"} < tags


def test_the_first_estimate_leaves_the_tracing_of_the_graph_out(tmp_path, clock, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    reporter = TrainingReporter(str(tmp_path), FACTS, start_step=0, start_rows=0)
    clock[0] += 60
    reporter.traced(60.0, 1, waited=3.0)
    clock[0] += 9
    reporter.train(10, METRICS, 1e-3, waited=3.9)
    reporter.close()
    (line,) = _lines(tmp_path)
    assert (line["seconds"], line["seconds_left"], line["tokens_per_second"]) == (69, 90, 128)
    assert line["input_wait_share"] == pytest.approx(0.1)
    assert "ETA 0:01:30" in caplog.records[-1].getMessage()


def test_a_report_of_the_first_call_alone_estimates_nothing(tmp_path, clock, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    reporter = TrainingReporter(str(tmp_path), FACTS, start_step=0, start_rows=0)
    clock[0] += 60
    reporter.traced(60.0, 1, waited=0.0)
    reporter.train(1, METRICS, 1e-3)
    clock[0] += 2
    reporter.train(2, METRICS, 1e-3)
    reporter.close()
    first, second = _lines(tmp_path)
    assert "seconds_left" not in first
    assert second["seconds_left"] == 196
    assert "ETA not known yet" in caplog.records[0].getMessage()


def test_windows_are_not_called_examples(tmp_path, clock, caplog):
    caplog.set_level("INFO")
    reporter = TrainingReporter(str(tmp_path), RunFacts(100, 8, 128, 50, called="windows"), start_step=0, start_rows=0)
    clock[0] += 1
    reporter.train(10, METRICS, 1e-3)
    reporter.close()
    assert "80 windows, epoch 1.60" in caplog.records[0].getMessage()


def test_rows_that_only_fill_a_batch_up_are_no_examples_of_an_epoch(tmp_path, clock):
    # Two examples in batches of 32: an epoch is one step.
    facts = RunFacts(3, examples_per_step=32, tokens_per_step=128, examples_per_epoch=2, rows_per_epoch=32)
    reporter = TrainingReporter(str(tmp_path), facts, start_step=0, start_rows=0)
    clock[0] += 1
    reporter.train(3, METRICS, 1e-3)
    reporter.close()
    (line,) = _lines(tmp_path)
    assert (line["epochs"], line["examples_seen"]) == (3.0, 6)
    # Seven steps of 32 for 200 examples: the rows that are missing are those of the last step.
    facts = RunFacts(14, examples_per_step=32, tokens_per_step=128, examples_per_epoch=200, rows_per_epoch=224)
    assert [facts.examples(32 * steps) for steps in (2, 6, 7, 8, 14)] == [64, 192, 200, 232, 400]
    assert (facts.epochs(64), facts.epochs(448)) == (0.32, 2.0)


def test_what_is_not_a_number_is_left_out_of_the_log(tmp_path):
    reporter = TrainingReporter(str(tmp_path), RunFacts(100, 8, 128, 50), start_step=0, start_rows=0)
    reporter.start({"replicas": 2})
    reporter.train(1, {**METRICS, "loss": math.nan}, 1e-3)
    reporter.close()
    start, line = _lines(tmp_path)
    assert start == {"kind": "start", "step": 0, "replicas": 2}
    assert "loss" not in line
    assert "matmul_peak_share" not in line
    assert "NaN" not in (tmp_path / "train_log.jsonl").read_text()


def test_a_worker_that_is_not_the_chief_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reporter = TrainingReporter(None, FACTS, start_step=0, start_rows=0)
    reporter.start({})
    reporter.train(1, METRICS, 1e-3)
    reporter.evaluation(1, {**METRICS, "num_examples": 1})
    reporter.message("nothing")
    reporter.close()
    assert list(tmp_path.iterdir()) == []


def test_numbers_carry_the_prefix_of_their_size():
    assert [reporting._with_prefix(value) for value in (12.0, 1.5e9, 2e11, 3e15)] == ["12 ", "1.5 G", "200 G", "3 P"]
