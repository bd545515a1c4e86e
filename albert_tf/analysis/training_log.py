"""The curves in the log of a training run, whatever its lines hold."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from albert_tf.records.names import SENTENCE_TASKS, SOP
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.run_names import name_runs

LOG_NAME = "train_log.jsonl"
LATEST_STEP = 1 << 53  # of what a float holds exactly

_LARGEST = 3.5e38  # a figure of a run is a float32
_LONGEST_LINE = 1 << 20  # bytes


# Parts of the names of what an evaluation tells besides scores.
_NO_SCORES = ("loss", "error", "num_", "thresh")


@dataclass(frozen=True)
class Curves:
    """The log of one run.

    Attributes:
        name: what to call it in the legend.
        train: {key: (steps, values)} of the training lines, steps ascending, values finite.
        evaluation: the same of the evaluation lines.
        sentence_task: "sop", "nsp" or "none"; "sop" where the log does not say.
        starts: the lines that processes wrote when they took the run up, each with its "step".
    """

    name: str
    train: dict[str, tuple[list[int], list[float]]]
    evaluation: dict[str, tuple[list[int], list[float]]]
    sentence_task: str = SOP
    starts: tuple[Mapping[str, Any], ...] = ()


def is_score(name: str) -> bool:
    """Tells by its name whether a figure of an evaluation is a score, and no loss, count or threshold."""
    return not any(part in name for part in _NO_SCORES)


def read_log(path: str, name: str = "", faults: list[str] | None = None) -> Curves:
    """Reads the log of a run.

    A run that was resumed has repeated the steps after its last checkpoint; of each step the last line counts. A
    last line that is cut off, as in a run that is still writing, is left out, and so is a value that is not a finite
    number. Evaluations on other records than the last are left out too.

    Args:
        path: a train_log.jsonl, or the output_dir that holds it.
        name: for the legend; the name of the output_dir if left out.
        faults: takes what is wrong in place of an error, and the curves are those of the lines before; None: raise it.

    Raises:
        InputError: no such file, a line that is not of a log, or no training steps.
    """
    if not path.endswith(".jsonl"):
        path = os.path.join(path, LOG_NAME)
    tables: dict[str, dict[str, dict[int, float]]] = {"train": {}, "eval": {}}
    sentence_task, starts, evaluated_on = SOP, [], None
    try:
        for entry in _read_entries(path):
            if entry["kind"] == "start":
                starts.append(entry)
                if entry.get("sentence_task") in SENTENCE_TASKS:
                    sentence_task = entry["sentence_task"]
            of_these = entry.get("evaluated_on")
            if entry["kind"] == "eval" and of_these != evaluated_on:
                # Of other records, which say nothing beside these.
                tables["eval"].clear()
                evaluated_on = of_these
            table = tables.get(entry["kind"], {})
            for key, value in entry.items():
                if key not in ("kind", "step") and _is_number(value):
                    table.setdefault(key, {})[entry["step"]] = float(value)
        if not tables["train"]:
            raise InputError(f"{path}: no training steps in it yet")
    except InputError as error:
        if faults is None:
            raise
        faults.append(str(error))
    name = name or os.path.basename(os.path.dirname(os.path.abspath(path)))
    train, evaluation = ({key: _columns(values) for key, values in table.items()} for table in tables.values())
    return Curves(name, train, evaluation, sentence_task, tuple(starts))


def read_logs(paths: Sequence[str]) -> list[Curves]:
    """Reads the logs of several runs, whose names tell them apart: see read_log."""
    folders = [os.path.dirname(path) or "." if path.endswith(".jsonl") else path for path in paths]
    return [read_log(path, name) for path, name in zip(paths, name_runs(folders))]


def first_entry(path: str) -> dict[str, Any]:
    """The first line of a log, which says what the run is; the same errors as read_log's."""
    return next(_read_entries(path), {})


def _read_entries(path: str) -> Iterator[dict[str, Any]]:
    """The lines of a log, a line in memory at a time."""
    fault = None
    try:
        with files.open_binary(path) as file:
            number = 0
            while line := file.readline(_LONGEST_LINE):
                number += 1
                if fault is not None:
                    raise InputError(fault)
                entry = _parse(line)
                if entry is None:
                    # It counts unless it is the last one.
                    shown = line[:60].decode("utf-8", errors="replace")
                    fault = f"{path}, line {number}: not a line of a training log: {shown!r}"
                else:
                    yield entry
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path}: no such log; --output_dir of a run_pretraining that has started is wanted") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give a run's --output_dir, or the log in it") from None


def _parse(line: bytes) -> dict[str, Any] | None:
    """The entry that a line holds, with its kind and its step; None if the line is not of a log."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
        return None
    step = entry.get("step")
    is_step = isinstance(step, int) and not isinstance(step, bool) and 0 <= step <= LATEST_STEP
    return entry if is_step else None


def _is_number(value: Any) -> bool:
    """Tells whether a value is a number that can be drawn."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # NaN is no number between these either.
    return -_LARGEST <= value <= _LARGEST


def _columns(values: dict[int, float]) -> tuple[list[int], list[float]]:
    steps = sorted(values)
    return steps, [values[step] for step in steps]
