"""An experiment as its JSON file has it: a question, a base, the rows that differ from it, and what is measured."""

import dataclasses
import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any

from albert_tf.config import AlbertConfig
from albert_tf.experiments.command_lines import (
    EMBEDDINGS,
    EVALUATION,
    FINETUNING,
    PRETRAINING,
    RECORDS,
    check_flags,
    check_settings,
    names_of,
)
from albert_tf.experiments.fields import as_object, as_text, check_keys, is_count, is_figure
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime import files, shipped_files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import refuse_repeats
from albert_tf.tasks.registry import TASK_NAMES

EVALUATIONS = MASKED_LM, SENTENCE_ORDER, NEXT_SENTENCE = ("masked_lm", "sentence_order", "next_sentence")
HELD_OUT = "held_out"

_KEYS = ("question", "source", "base", "rows", "seeds", "evaluations", EVALUATION, HELD_OUT, "tasks", "paper")
_SECTIONS = ("config", RECORDS, EMBEDDINGS, PRETRAINING)
_ROW_KEYS = ("model", *_SECTIONS, "budget")
_TASK_KEYS = ("task_name", "name", "data_dir", "flags", "seeds")
_PAPER_KEYS = ("columns", "rows", "note")
# Flags of pre-training that are those of the records.
_LENGTHS = ("max_seq_length", "max_predictions_per_seq")
_BUDGETS = ("steps", "tokens")
_ROW_NAME = re.compile(r"[A-Za-z0-9][\w.+=-]*")
_LONGEST_NAME = 60
_DEFAULT_SEED = PretrainingSettings.random_seed


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of the grid: the base with what the row changes.

    Attributes:
        name: in the table.
        changes: what it says itself, section by section.
        config: keys of albert_config.json.
        records: flags of create_pretraining_data.
        embeddings: flags of count_embeddings; None: word embeddings start from random numbers.
        pretraining: flags of run_pretraining.
        num_train_steps: of its budget.
    """

    name: str
    changes: Mapping[str, Any]
    config: Mapping[str, Any]
    records: Mapping[str, Any]
    embeddings: Mapping[str, Any] | None
    pretraining: Mapping[str, Any]
    num_train_steps: int


@dataclasses.dataclass(frozen=True)
class TaskOfTable:
    """A task that every row is fine-tuned on: run_finetuning's --task_name and --data_dir, more flags, the seeds."""

    name: str
    task_name: str
    data_dir: str | None
    flags: Mapping[str, Any]
    seeds: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class PaperFigures:
    """Figures of the paper: the names of the columns, and values by row, None where it has none."""

    columns: tuple[str, ...] = ()
    rows: Mapping[str, tuple[float | None, ...]] = dataclasses.field(default_factory=dict)
    note: str = ""


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
    check_keys(base, _ROW_KEYS, f"{path}: base", ("model", "budget"))
    rows = as_object(values["rows"], f"{path}: rows")
    if not rows:
        raise InputError(f"{path}: rows: give at least one")
    return Experiment(
        name=os.path.splitext(os.path.basename(path))[0],
        question=as_text(values["question"], f"{path}: question"),
        source=as_text(values.get("source", ""), f"{path}: source"),
        rows=tuple(_make_row(path, name, base, changes, num_train_steps) for name, changes in rows.items()),
        seeds=_seeds(values.get("seeds", [_DEFAULT_SEED]), f"{path}: seeds"),
        evaluations=_evaluations(values.get("evaluations", [MASKED_LM, SENTENCE_ORDER]), f"{path}: evaluations"),
        evaluation=_flags_of(EVALUATION, values.get(EVALUATION, {}), path),
        held_out=_held_out(values.get(HELD_OUT, {}), path),
        tasks=_tasks(values.get("tasks", []), f"{path}: tasks"),
        paper=_paper(values.get("paper", {}), rows, f"{path}: paper"),
    )


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A section of the base with a row's changes; null takes a flag out.

    >>> merge({"ngram": 3, "length_schedule": "32:0.5,128:0.5"}, {"ngram": 1, "length_schedule": None})
    {'ngram': 1}
    """
    return {name: value for name, value in {**base, **changes}.items() if value is not None}


def _make_row(path: str, name: str, base: Mapping[str, Any], changes: Any, num_train_steps: int | None) -> Row:
    where = f"{path}: row {name}"
    if not _ROW_NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise InputError(
            f"{where}: a row's name has letters, digits and _ . + = -, no comma or space, and at most "
            f"{_LONGEST_NAME} of them"
        )
    changes = as_object(changes, where)
    check_keys(changes, _ROW_KEYS, where)
    sections: dict[str, Any] = {}
    for section in _SECTIONS:
        ours = [part.get(section, {}) for part in (base, changes)]
        if section == EMBEDDINGS and section not in base:
            ours[0] = None
        if section == EMBEDDINGS and (ours[1] is None or (ours[0] is None and section not in changes)):
            sections[section] = None
            continue
        sections[section] = merge(*(as_object(part or {}, f"{where}: {section}") for part in ours))
    model = as_text({**base, **changes}["model"], f"{where}: model")
    shape = dataclasses.asdict(AlbertConfig.from_json_file(model))
    config = AlbertConfig.from_dict({**shape, **sections["config"]}, where=f"{where}: config")
    for section in (RECORDS, EMBEDDINGS):
        check_flags(section, sections[section] or {}, where)
    sections[PRETRAINING] = {**names_of(sections[RECORDS], _LENGTHS), **sections[PRETRAINING]}
    given = check_flags(PRETRAINING, sections[PRETRAINING], where)
    steps = num_train_steps or _steps({**base, **changes}["budget"], given, f"{where}: budget")
    own = {"albert_config_file": "", "input_file": "", "output_dir": "", "num_train_steps": steps, "do_train": True}
    check_settings(PRETRAINING, PretrainingSettings, {**given, **own}, where)
    stated = {**dataclasses.asdict(config)}
    if "vocab_size" not in sections["config"]:
        # That of the vocabulary, which is given to the command.
        del stated["vocab_size"]
    return Row(name, changes, stated, sections[RECORDS], sections[EMBEDDINGS], sections[PRETRAINING], steps)


def _steps(budget: Any, given: Mapping[str, Any], where: str) -> int:
    """The steps of a budget in steps or in tokens, padding included."""
    budget = as_object(budget, where)
    check_keys(budget, _BUDGETS, where)
    if len(budget) != 1 or not all(is_count(value) for value in budget.values()):
        raise InputError(f"{where}: give one of steps and tokens, an integer of at least 1. Received {dict(budget)}.")
    if "steps" in budget:
        return budget["steps"]
    if given.get("batch_schedule") is not None:
        raise InputError(
            f"{where}: with {PRETRAINING}'s batch_schedule the steps are of different sizes; give steps, not tokens"
        )
    sizes = [given.get(name, getattr(PretrainingSettings, name)) for name in ("train_batch_size", "max_seq_length")]
    return max(1, round(budget["tokens"] / max(1, math.prod(sizes))))


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
    if not isinstance(values, list):
        raise InputError(f"{where}: a list of tasks was expected. Received {values!r}.")
    tasks = []
    for number, entry in enumerate(values):
        here = f"{where}[{number}]"
        entry = as_object(entry, here)
        check_keys(entry, _TASK_KEYS, here, ("task_name",))
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


def _paper(values: Any, rows: Mapping[str, Any], where: str) -> PaperFigures:
    values = as_object(values, where)
    check_keys(values, _PAPER_KEYS, where)
    columns = values.get("columns", [])
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise InputError(f"{where}: columns: a list of names was expected. Received {columns!r}.")
    figures = as_object(values.get("rows", {}), f"{where}: rows")
    for name, row in figures.items():
        if name not in rows:
            raise InputError(f"{where}: rows: the grid has no row {name!r}")
        if not isinstance(row, list) or len(row) != len(columns) or not all(map(is_figure, row)):
            raise InputError(f"{where}: row {name}: a number or null for each of {len(columns)} columns was expected")
    note = as_text(values.get("note", ""), f"{where}: note")
    return PaperFigures(tuple(columns), {name: tuple(row) for name, row in figures.items()}, note)


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
