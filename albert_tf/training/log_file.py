"""The log of a run, train_log.jsonl: a line for each start, report and evaluation."""

import json
import math
import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from albert_tf.runtime import files
from albert_tf.runtime.json_text import to_json

LOG_NAME = "train_log.jsonl"
EVALUATION = "eval"


def append_line(path: str, line: Mapping[str, Any]) -> dict[str, Any]:
    """Adds a line to the log; returns what of it is there, as JSON has no word for what is not a number."""
    known = {name: value for name, value in line.items() if not isinstance(value, float) or math.isfinite(value)}
    text = to_json(known) + "\n"
    if files.is_remote(path):
        with tf.io.gfile.GFile(path, "a") as file:
            file.write(text)
    else:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
    return known


def append_evaluation(output_dir: str, step: int, metrics: Mapping[str, Any]) -> None:
    """Adds the line of an evaluation of an earlier checkpoint, while nothing is trained and reported."""
    append_line(os.path.join(output_dir, LOG_NAME), {"kind": EVALUATION, "step": step, **metrics})


def forget_later_lines(path: str, step: int) -> set[int]:
    """Drops what a killed run logged after the checkpoint that is taken up again, and a line cut short.

    Returns the steps whose evaluations are left.
    """
    if not files.exists(path):
        return set()
    with files.open_binary(path) as file:
        text = file.read().decode("utf-8", errors="replace")
    lines = text.splitlines()
    kept = [line for line in lines if _step_of(line) <= step]
    if len(kept) < len(lines) or not text.endswith("\n"):
        with files.replace_file(path) as file:
            file.write("".join(f"{line}\n" for line in kept).encode())
    return {entry["step"] for entry in map(json.loads, kept) if entry.get("kind") == EVALUATION}


def _step_of(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        return math.inf
