"""An experiment as its JSON file has it: a question, a base, the rows that differ from it, and what is measured."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.experiments.command_lines import EVALUATION, RECORDS
from albert_tf.experiments.fields import as_object, as_seeds, as_text, check_keys, read_values
from albert_tf.experiments.paper_figures import PaperFigures, read_figures
from albert_tf.experiments.row import BASE_KEYS, Row, check_nulls, flags_of, make_row
from albert_tf.experiments.task_columns import TaskColumn, read_tasks
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime import shipped_files
from albert_tf.runtime.errors import InputError

EVALUATIONS = MASKED_LM, SENTENCE_ORDER, NEXT_SENTENCE = ("masked_lm", "sentence_order", "next_sentence")
HELD_OUT = "held_out"

_KEYS = ("question", "source", "base", "rows", "seeds", "evaluations", EVALUATION, HELD_OUT, "tasks", "paper")
_DEFAULT_SEED = PretrainingSettings.random_seed


@dataclasses.dataclass(frozen=True)
class Experiment:
    """The contents of an experiment's file, checked.

    Attributes:
        name: of the file, without its ending.
        question: in a sentence.
        source: of the question, such as a table of the paper.
        rows: in the file's order.
        seeds: of pre-training.
        evaluations: of EVALUATIONS.
        evaluation: flags of run_evaluation.
        held_out: flags of the held-out records besides the usual ones.
        tasks: to fine-tune on.
        paper: its figures.
    """

    name: str
    question: str
    source: str
    rows: tuple[Row, ...]
    seeds: tuple[int, ...]
    evaluations: tuple[str, ...]
    evaluation: Mapping[str, Any]
    held_out: Mapping[str, Any]
    tasks: tuple[TaskColumn, ...]
    paper: PaperFigures


def read_experiment(
    path: str,
    *,
    num_train_steps: int | None = None,
    num_seeds: int | None = None,
    tasks_file: str | None = None,
) -> Experiment:
    """Reads and checks an experiment.

    Args:
        path: of the JSON file, or the name of a shipped one.
        num_train_steps: of every row in place of its budget, for a trial.
        num_seeds: of pre-training; more than the experiment has go on after its highest. None: the experiment's.
        tasks_file: a JSON list of tasks beside those of the experiment, of the same form.

    Raises:
        InputError: one line that names the file, the row and the key.
    """
    path = shipped_files.find(path, shipped_files.EXPERIMENTS)
    try:
        values = as_object(read_values(path), path)
    except FileNotFoundError:
        names = ", ".join(shipped_files.names(shipped_files.EXPERIMENTS))
        raise InputError(f"{path}: no such experiment; shipped ones are {names}") from None
    check_keys(values, _KEYS, path, ("question", "base", "rows"))
    base = as_object(values["base"], f"{path}: base")
    check_keys(base, BASE_KEYS, f"{path}: base", ("model", "budget"))
    check_nulls(base, f"{path}: base")
    rows = as_object(values["rows"], f"{path}: rows")
    if not rows:
        raise InputError(f"{path}: rows: give at least one")
    made = tuple(make_row(path, name, base, changes, num_train_steps) for name, changes in rows.items())
    _check_starts(path, made)
    experiment = Experiment(
        name=os.path.splitext(os.path.basename(path))[0],
        question=as_text(values["question"], f"{path}: question"),
        source=as_text(values.get("source", ""), f"{path}: source"),
        rows=made,
        seeds=_seeds(values.get("seeds", [_DEFAULT_SEED]), f"{path}: seeds", num_seeds),
        evaluations=_evaluations(values.get("evaluations", [MASKED_LM, SENTENCE_ORDER]), f"{path}: evaluations"),
        evaluation=flags_of(EVALUATION, values.get(EVALUATION, {}), path),
        held_out=_held_out(values.get(HELD_OUT, {}), path),
        tasks=read_tasks(values.get("tasks", []), f"{path}: tasks", tasks_file),
        paper=read_figures(values.get("paper", {}), rows, f"{path}: paper"),
    )
    _check_measures(path, experiment)
    return experiment


def _check_measures(path: str, experiment: Experiment) -> None:
    """Sees that what claims are measured by is measured, and is one thing."""
    for task in experiment.tasks:
        if not task.name.strip() or task.name in EVALUATIONS:
            raise InputError(f"{path}: tasks: a task cannot have the name {task.name!r}; give it another one")
    measures = (*experiment.evaluations, *(task.name for task in experiment.tasks))
    for number, claim in enumerate(experiment.paper.claims):
        if claim.measure not in measures:
            raise InputError(
                f"{path}: paper: claims[{number}]: measure: this experiment has {', '.join(measures)}. "
                f"Received {claim.measure!r}."
            )


def _check_starts(path: str, rows: Sequence[Row]) -> None:
    """Sees that every row that starts from another comes after it."""
    for number, row in enumerate(rows):
        if row.start_from is not None and row.start_from not in [earlier.name for earlier in rows[:number]]:
            raise InputError(f"{path}: row {row.name}: start_from: no row {row.start_from!r} comes before it")


def _seeds(values: Any, where: str, number: int | None) -> tuple[int, ...]:
    """The seeds of the file; or so many of them, and, where it has fewer, those that follow the highest."""
    seeds = as_seeds(values, where)
    if number is None:
        return seeds
    more = range(max(seeds) + 1, max(seeds) + 1 + number - len(seeds))
    return as_seeds([*seeds, *more][:number], f"{where} with --num_seeds={number}")


def _held_out(values: Any, path: str) -> Mapping[str, Any]:
    values = as_object(values, f"{path}: {HELD_OUT}")
    if "sentence_task" in values:
        raise InputError(f"{path}: {HELD_OUT}: 'sentence_task' follows from evaluations; leave it out")
    return flags_of(RECORDS, values, f"{path}: {HELD_OUT}")


def _evaluations(values: Any, where: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not values or not all(value in EVALUATIONS for value in values):
        raise InputError(f"{where}: a list of {', '.join(EVALUATIONS)} was expected. Received {values!r}.")
    return tuple(name for name in EVALUATIONS if name in values)
