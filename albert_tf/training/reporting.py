"""The report of a run: a progress line, train_log.jsonl, TensorBoard."""

import dataclasses
import math
import os
import sys
import time
from typing import Any, NamedTuple

import tensorflow as tf
from absl import logging
from tqdm import tqdm

from albert_tf.training.log_file import EVALUATION, LOG_NAME, append_line, forget_later_lines


@dataclasses.dataclass(frozen=True)
class RunFacts:
    """The facts from which the figures of a report are computed.

    Attributes:
        num_train_steps: where the run ends.
        examples_per_step: over all replicas.
        batch_sizes: of a run whose steps have different numbers of examples, those numbers in turn.
        tokens_per_step: examples times sequence length, padding included; 0 where it is a metric, "tokens".
        examples_per_epoch: records in the input.
        rows_per_epoch: rows of the batches that hold them once, with those that only fill a batch up; 0: as many.
        flops_per_step: see albert_tf.training.machine.
        matmul_peak: operations a second of the devices, 0 if unknown.
        called: what the examples are called where a report counts them.
        shown: metrics that the progress line holds besides the loss: name -> what it is called there.
    """

    num_train_steps: int
    examples_per_step: int
    tokens_per_step: int
    examples_per_epoch: int
    rows_per_epoch: int = 0
    flops_per_step: float = 0.0
    matmul_peak: float = 0.0
    batch_sizes: tuple[int, ...] = ()
    called: str = "examples"
    shown: dict[str, str] = dataclasses.field(default_factory=dict)

    def epochs(self, rows: int) -> float:
        """Passes over the input, after so many rows."""
        return self.examples(rows) / self.examples_per_epoch

    def examples(self, rows: int) -> int:
        """Number of examples among so many rows; within an epoch those that only fill a batch up count as the last."""
        if not self.rows_per_epoch:
            return rows
        whole, rest = divmod(rows, self.rows_per_epoch)
        return whole * self.examples_per_epoch + min(rest, self.examples_per_epoch)


class _Call(NamedTuple):
    """A call that took steps: how long, how many, and for how much of that time it waited for input."""

    seconds: float
    steps: int
    waited: float


_NO_CALL = _Call(0.0, 0, 0.0)


class TrainingReporter:
    """Writes a line for every report to the log file and TensorBoard, and shows it.

    Args:
        output_dir: of the run; None writes and shows nothing, as for a worker that is not the chief.
        facts: of the run.
        start_step: steps taken before; what an earlier process logged after it is taken back.
        start_rows: rows of the batches of those, of whatever sizes.
    """

    def __init__(self, output_dir: str | None, facts: RunFacts, start_step: int, start_rows: int):
        self._facts = facts
        self._rows_seen = start_rows
        self._step, self._started = start_step, time.monotonic()
        self._seconds_per_step: float | None = None
        self._peak = facts.matmul_peak
        self._traced = _NO_CALL
        self._writers, self._bar = {}, None
        # Steps whose evaluations earlier processes logged.
        self.evaluated: set[int] = set()
        self._log_path = None
        if output_dir is None:
            return
        self._log_path = os.path.join(output_dir, LOG_NAME)
        self.evaluated = forget_later_lines(self._log_path, start_step)
        self._writers = {
            kind: tf.summary.create_file_writer(os.path.join(output_dir, "tensorboard", kind))
            for kind in ("train", EVALUATION)
        }
        if sys.stderr.isatty():
            total = facts.num_train_steps
            self._bar = tqdm(total=total, initial=start_step, unit="step", desc="training", smoothing=0.1)

    def change_facts(self, facts: RunFacts) -> None:
        """Takes the facts of the steps to come, where they differ from those reported so far."""
        self._facts = facts

    def start_clock(self) -> None:
        """Begins the time of the next report: what passed since the last one was no training."""
        self._started = time.monotonic()

    def traced(self, seconds: float, steps: int, waited: float) -> None:
        """Notes how long the first call took: it traced the graph, and says nothing of the others."""
        self._traced = _Call(seconds, steps, waited)
        if self._bar is not None:
            self._bar.unpause()

    def start(self, values: dict[str, Any]) -> None:
        """Notes in the log file that a process took the run up, and how it was made up."""
        self._write({"kind": "start", "step": self._step, **values})

    def train(
        self,
        step: int,
        metrics: dict[str, float],
        learning_rate: float,
        waited: float = 0.0,
        more: dict[str, float] | None = None,
        trust_ratios: dict[str, float] | None = None,
    ) -> None:
        """Reports the steps since the last report.

        Args:
            step: steps taken by now.
            metrics: means over those steps, by the names of Steps.metrics.
            learning_rate: of the last of them.
            waited: seconds of that time in which the devices waited for input.
            more: figures for the log and TensorBoard alone.
            trust_ratios: of the weights, for TensorBoard alone.
        """
        whole = max(time.monotonic() - self._started, 1e-9)
        facts = self._facts
        self._rows_seen += (step - self._step) * facts.examples_per_step
        seconds, steps = self._after_tracing(whole, step - self._step)
        waited -= self._traced.waited if steps < step - self._step else 0.0
        self._traced = _NO_CALL
        flops = steps * facts.flops_per_step / seconds or math.nan
        # A step that is faster than what was measured shows that this was not the peak.
        self._peak = max(self._peak, 0.0 if math.isnan(flops) else flops) if self._peak else 0.0
        tokens = steps * (facts.tokens_per_step or metrics["tokens"])
        line = {
            "kind": "train",
            "step": step,
            **metrics,
            "learning_rate": learning_rate,
            "tokens_per_second": tokens / seconds,
            "examples_per_second": steps * facts.examples_per_step / seconds,
            "model_flops_per_second": flops,
            "matmul_peak_share": flops / self._peak if self._peak else math.nan,
            "input_wait_share": min(waited / seconds, 1.0),
            "examples_seen": facts.examples(self._rows_seen),
            "epochs": facts.epochs(self._rows_seen),
            "seconds": whole,
            "seconds_left": self._seconds_left(facts.num_train_steps - step),
            **(more or {}),
        }
        self._write(line, {f"trust_ratio/{name}": ratio for name, ratio in (trust_ratios or {}).items()})
        self._show(line)
        self._step, self._started = step, time.monotonic()

    def _seconds_left(self, steps: int) -> float:
        if steps and self._seconds_per_step is None:
            return math.nan
        return steps * (self._seconds_per_step or 0.0)

    def _after_tracing(self, seconds: float, steps: int) -> tuple[float, int]:
        """Time and steps since the last report without the call that traced the graph, if there were others."""
        traced = self._traced
        if traced.steps == steps:
            return seconds, steps
        seconds, steps = max(seconds - traced.seconds, 1e-9), steps - traced.steps
        known, recent = self._seconds_per_step, seconds / steps
        self._seconds_per_step = recent if known is None else 0.7 * recent + 0.3 * known
        return seconds, steps

    def evaluation(self, step: int, metrics: dict[str, Any]) -> None:
        """Reports an evaluation."""
        self._write({"kind": EVALUATION, "step": step, **metrics})
        self.message(
            f"evaluation at step {step}: "
            + ", ".join(f"{name} {value:.4f}" for name, value in metrics.items() if isinstance(value, float))
            + f" ({metrics['num_examples']} examples)"
        )

    def message(self, text: str) -> None:
        """Shows a line of text without disturbing the progress line."""
        if self._log_path is None:
            return
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        else:
            logging.info("%s", text)

    def close(self) -> None:
        """Ends the progress line and the log."""
        for writer in self._writers.values():
            writer.close()
        if self._bar is not None:
            self._bar.close()

    def _write(self, line: dict[str, Any], more_for_tensorboard: dict[str, float] | None = None) -> None:
        if self._log_path is None:
            return
        known = append_line(self._log_path, line)
        if line["kind"] not in self._writers:
            return
        with self._writers[line["kind"]].as_default(step=line["step"]):
            for name, value in {**known, **(more_for_tensorboard or {})}.items():
                if isinstance(value, float):
                    tf.summary.scalar(name, value)
        self._writers[line["kind"]].flush()

    def _show(self, line: dict[str, Any]) -> None:
        if self._log_path is None:
            return
        share, flops = line["matmul_peak_share"], line["model_flops_per_second"]
        of_peak = "" if math.isnan(share) else f" ({share:.0%} of peak)"
        parts = [
            f"loss {line['loss']:.3f}",
            *(f"{called} {line[name]:.3f}" for name, called in self._facts.shown.items()),
            f"lr {line['learning_rate']:.2e}",
            f"norm {line['gradient_norm']:.2f}",
            f"{line['tokens_per_second']:,.0f} tokens/s",
            *([] if math.isnan(flops) else [f"{_with_prefix(flops)}FLOP/s{of_peak}"]),
            f"input {line['input_wait_share']:.0%}",
        ]
        text = "  ".join(parts)
        if self._bar is not None:
            self._bar.update(line["step"] - self._bar.n)
            self._bar.set_postfix_str(text)
        else:
            logging.info(
                "step %d/%d  %s  %s %s, epoch %.2f  ETA %s",
                *(line["step"], self._facts.num_train_steps, text),
                *(f"{line['examples_seen']:,}", self._facts.called),
                *(line["epochs"], _clock(line["seconds_left"])),
            )


def _with_prefix(value: float) -> str:
    """A number with two to three digits and the prefix of its unit, as in "190 G"."""
    for prefix in ("", "k", "M", "G", "T"):
        if value < 1000:
            return f"{value:.3g} {prefix}"
        value /= 1000
    return f"{value:.4g} P"


def _clock(seconds: float) -> str:
    if math.isnan(seconds):
        return "not known yet"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"
