"""What a run tells: a progress line, train_log.jsonl, TensorBoard."""

import json
import math
import os
import sys
import time
from typing import Any

import tensorflow as tf
from absl import logging
from tqdm import tqdm

from albert_tf import files

LOG_NAME = "train_log.jsonl"


class TrainingReporter:
    """Writes a line for every report to the log file and TensorBoard, and shows it.

    Args:
        output_dir: of the run.
        num_train_steps: where the run ends.
        start_step: steps taken before; what an earlier process logged behind it is taken back.
        examples_per_step: over all replicas.
        tokens_per_step: examples times sequence length, padding included.
        examples_per_epoch: records in the input.
    """

    def __init__(
        self,
        output_dir: str,
        num_train_steps: int,
        start_step: int,
        examples_per_step: int,
        tokens_per_step: int,
        examples_per_epoch: int,
    ):
        self._log_path = os.path.join(output_dir, LOG_NAME)
        self._num_train_steps = num_train_steps
        self._examples_per_step = examples_per_step
        self._tokens_per_step = tokens_per_step
        self._examples_per_epoch = examples_per_epoch
        self._step, self._started = start_step, time.monotonic()
        self._seconds_per_step: float | None = None
        _forget_later_lines(self._log_path, start_step)
        self._writers = {
            kind: tf.summary.create_file_writer(os.path.join(output_dir, "tensorboard", kind))
            for kind in ("train", "eval")
        }
        self._bar = None
        if sys.stderr.isatty():
            self._bar = tqdm(total=num_train_steps, initial=start_step, unit="step", desc="training", smoothing=0.1)

    def start_clock(self) -> None:
        """Begins the time of the next report: what passed since the last one was no training."""
        self._started = time.monotonic()

    def train(self, step: int, metrics: dict[str, float], learning_rate: float) -> None:
        """Reports the steps since the last report.

        Args:
            step: steps taken by now.
            metrics: means over those steps, by the names of steps.TRAIN_METRICS.
            learning_rate: of the last of them.
        """
        seconds = max(time.monotonic() - self._started, 1e-9)
        steps = step - self._step
        recent = seconds / steps
        # The first report holds the graph's compilation, so the estimate follows later ones closely.
        known = self._seconds_per_step
        self._seconds_per_step = recent if known is None else 0.7 * recent + 0.3 * known
        examples = step * self._examples_per_step
        line = {
            "kind": "train",
            "step": step,
            **metrics,
            "learning_rate": learning_rate,
            "tokens_per_second": steps * self._tokens_per_step / seconds,
            "examples_seen": examples,
            "epochs": examples / self._examples_per_epoch,
            "seconds": seconds,
        }
        self._write(line)
        self._show(line)
        self._step, self._started = step, time.monotonic()

    def evaluation(self, step: int, metrics: dict[str, Any]) -> None:
        """Reports an evaluation."""
        self._write({"kind": "eval", "step": step, **metrics})
        self.message(
            f"evaluation at step {step}: masked LM accuracy {metrics['masked_lm_accuracy']:.4f} "
            f"loss {metrics['masked_lm_loss']:.4f}, sentence order accuracy "
            f"{metrics['sentence_order_accuracy']:.4f} loss {metrics['sentence_order_loss']:.4f} "
            f"({metrics['num_examples']} examples)"
        )

    def message(self, text: str) -> None:
        """Shows a line of text without disturbing the progress line."""
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

    def _write(self, line: dict[str, Any]) -> None:
        _append(self._log_path, json.dumps(line) + "\n")
        with self._writers[line["kind"]].as_default(step=line["step"]):
            for name, value in line.items():
                if isinstance(value, float) and math.isfinite(value):
                    tf.summary.scalar(name, value)
        self._writers[line["kind"]].flush()

    def _show(self, line: dict[str, Any]) -> None:
        left = (self._num_train_steps - line["step"]) * self._seconds_per_step
        text = (
            f"loss {line['loss']:.3f}  masked LM {line['masked_lm_accuracy']:.3f}  "
            f"order {line['sentence_order_accuracy']:.3f}  lr {line['learning_rate']:.2e}  "
            f"{line['tokens_per_second']:,.0f} tokens/s"
        )
        if self._bar is not None:
            self._bar.update(line["step"] - self._bar.n)
            self._bar.set_postfix_str(text)
        else:
            logging.info(
                "step %d/%d  %s  epoch %.2f  ETA %s",
                *(line["step"], self._num_train_steps, text, line["epochs"], _clock(left)),
            )


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


def _append(path: str, text: str) -> None:
    if files.is_remote(path):
        with tf.io.gfile.GFile(path, "a") as file:
            file.write(text)
    else:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)


def _forget_later_lines(path: str, step: int) -> None:
    """Drops what a killed run logged behind the checkpoint that is taken up again, and a line cut short."""
    if not files.exists(path):
        return
    with files.open_binary(path) as file:
        lines = file.read().decode("utf-8", errors="replace").splitlines()
    kept = [line for line in lines if _step_of(line) <= step]
    if len(kept) < len(lines):
        with files.replace_file(path) as file:
            file.write("".join(f"{line}\n" for line in kept).encode())


def _step_of(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        return math.inf
