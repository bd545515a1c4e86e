"""An experiment as its JSON file has it: a question, a base, the rows that differ from it, and what is measured."""

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.experiments.command_lines import EVALUATION, FINETUNING, RECORDS, check_flags
from albert_tf.experiments.fields import as_entries, as_object, as_text, check_keys, is_count
from albert_tf.experiments.paper_figures import PaperFigures, read_figures
from albert_tf.experiments.row import BASE_KEYS, Row, make_row, merge
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime import files, shipped_files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import refuse_repeats
from albert_tf.tasks.registry import TASK_NAMES

EVALUATIONS = MASKED_LM, SENTENCE_ORDER, NEXT_SENTENCE = ("masked_lm", "sentence_order", "next_sentence")
HELD_OUT = "held_out"

_KEYS = ("question", "source", "base", "rows", "seeds", "evaluations", EVALUATION, HELD_OUT, "tasks", "paper")
_TASK_KEYS = ("task_name", "name", "data_dir", "flags", "seeds")
_DEFAULT_SEED = PretrainingSettings.random_seed


@dataclasses.dataclass(frozen=True)
class TaskOfTable:
    """A task that every row is fine-tuned on: run_finetuning's --task_name and --data_dir, more flags, the seeds."""

    name: str
    task_name: str
    data_dir: str | None
    flags: Mapping[str, Any]
    seeds: tuple[int, ...]


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
    tasks: tuple[TaskOfTable, ...]
    paper: PaperFigures


def read_experiment(path: str, num_train_steps: int | None = None) -> Experiment:
    """Reads and checks an experiment.

    Args:
        path: of the JSON file, or the name of a shipped one.
        num_train_steps: of every row in place of its budget, for a trial.

    Raises:
        InputError: one line that names the file, the row and the key.
    """
    path = shipped_files.find(path, shipped_files.EXPERIMENTS)
    try:
        values = json.loads(files.read_small(path), object_pairs_hook=refuse_repeats)
    except FileNotFoundError:
        names = ", ".join(shipped_files.names(shipped_files.EXPERIMENTS))
        raise InputError(f"{path}: no such experiment; shipped ones are {names}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    values = as_object(values, path)
    check_keys(values, _KEYS, path, ("question", "base", "rows"))
    base = as_object(values["base"], f"{path}: base")
    check_keys(base, BASE_KEYS, f"{path}: base", ("model", "budget"))
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
        seeds=_seeds(values.get("seeds", [_DEFAULT_SEED]), f"{path}: seeds"),
        evaluations=_evaluations(values.get("evaluations", [MASKED_LM, SENTENCE_ORDER]), f"{path}: evaluations"),
        evaluation=_flags_of(EVALUATION, values.get(EVALUATION, {}), path),
        held_out=_held_out(values.get(HELD_OUT, {}), path),
        tasks=_tasks(values.get("tasks", []), f"{path}: tasks"),
        paper=read_figures(values.get("paper", {}), rows, f"{path}: paper"),
    )
    _check_measures(path, experiment)
    return experiment


def _check_measures(path: str, experiment: Experiment) -> None:
    """Sees that what claims are measured by is measured."""
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


def _flags_of(kind: str, values: Any, where: str) -> Mapping[str, Any]:
    check_flags(kind, as_object(values, f"{where}: {kind}"), where)
    return merge({}, values)


def _held_out(values: Any, path: str) -> Mapping[str, Any]:
    values = as_object(values, f"{path}: {HELD_OUT}")
    if "sentence_task" in values:
        raise InputError(f"{path}: {HELD_OUT}: 'sentence_task' follows from evaluations; leave it out")
    check_flags(RECORDS, values, f"{path}: {HELD_OUT}")
    return merge({}, values)


def _tasks(values: Any, where: str) -> tuple[TaskOfTable, ...]:
    tasks = []
    for here, entry in as_entries(values, "tasks", _TASK_KEYS, ("task_name",), where):
        if entry["task_name"] not in TASK_NAMES:
            raise InputError(f"{here}: task_name must be one of {', '.join(TASK_NAMES)}")
        flags = _flags_of_task(entry.get("flags", {}), here)
        folder = entry.get("data_dir")
        seeds = _seeds(entry.get("seeds", [_DEFAULT_SEED]), f"{here}: seeds")
        name = as_text(entry.get("name", entry["task_name"]), f"{here}: name")
        folder = None if folder is None else as_text(folder, f"{here}: data_dir")
        tasks.append(TaskOfTable(name, entry["task_name"], folder, flags, seeds))
    names = [task.name for task in tasks]
    if len(set(names)) < len(names):
        raise InputError(f"{where}: two tasks have one name; give each a name of its own")
    return tuple(tasks)


def _flags_of_task(values: Any, where: str) -> Mapping[str, Any]:
    """The flags of a task, which is fine-tuned once for each of its seeds."""
    values = _flags_of(FINETUNING, as_object(values, f"{where}: flags"), where)
    # The flag's parser makes a number of one rate, and a text of several.
    if isinstance(check_flags(FINETUNING, values, where).get("learning_rate"), str):
        raise InputError(
            f"{where}: {FINETUNING}: 'learning_rate' must be one rate, for one run of each seed; "
            f"make a task of each rate. Received {values['learning_rate']!r}."
        )
    return values


def _evaluations(values: Any, where: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not values or not all(value in EVALUATIONS for value in values):
        raise InputError(f"{where}: a list of {', '.join(EVALUATIONS)} was expected. Received {values!r}.")
    return tuple(name for name in EVALUATIONS if name in values)


def _seeds(values: Any, where: str) -> tuple[int, ...]:
    def is_seed(value: Any) -> bool:
        return is_count(value, least=0) and value < 2**32

    if not isinstance(values, list) or not values or not all(map(is_seed, values)) or len(set(values)) < len(values):
        raise InputError(f"{where}: a list of different integers from 0 to 2^32 - 1 was expected. Received {values!r}.")
    return tuple(values)
