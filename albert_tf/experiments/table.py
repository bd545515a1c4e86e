"""The table of an experiment: means and standard errors over seeds, of every row."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.analysis.training_log import first_entry
from albert_tf.experiments.claims import Verdict, judge
from albert_tf.experiments.experiment import MASKED_LM, NEXT_SENTENCE, SENTENCE_ORDER, Experiment
from albert_tf.experiments.fields import is_figure
from albert_tf.experiments.grid import Unit, held_out_tasks
from albert_tf.experiments.steps import Step
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.markdown_table import markdown_table

PERCENT, NUMBER = "percent", "number"
_TITLES = {"sop": "SOP records", "nsp": "NSP records", "none": "single segments"}
# Records, the figure in what run_evaluation writes, and its title, by the evaluation that asks for it. How frequent the
# labels of next sentences are is a matter of how short the documents are: there each label counts alike.
_ACCURACIES = {
    SENTENCE_ORDER: ("sop", "sentence_order_accuracy", "sentence order"),
    NEXT_SENTENCE: ("nsp", "next_sentence_balanced_accuracy", "next sentence, balanced"),
}


@dataclasses.dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        key: in JSON.
        title: at its head.
        kind: whether it holds shares or other numbers.
    """

    key: str
    title: str
    kind: str


@dataclasses.dataclass(frozen=True)
class Cell:
    """The figure of a row in a column.

    Attributes:
        values: that the mean is of: by seed of pre-training, or, of one such seed, by seed of fine-tuning.
        mean: of them.
        standard_error: of the mean; None for one value.
        groups: by seed of pre-training, each with its seeds of fine-tuning; () where there are none of those.
    """

    values: tuple[float, ...]
    mean: float
    standard_error: float | None
    groups: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def of(cls, values: Sequence[float]) -> "Cell":
        """The mean, and the standard deviation (of a sample) by the root of how many there are.

        >>> Cell.of([1.0, 2.0, 3.0])
        Cell(values=(1.0, 2.0, 3.0), mean=2.0, standard_error=0.5773502691896258, groups=())
        """
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
        return cls(tuple(values), statistics.fmean(values), error)

    @classmethod
    def of_groups(cls, groups: Sequence[Sequence[float]]) -> "Cell":
        """The same of the groups' means, or, of one group, of its values.

        Seeds of fine-tuning that share a seed of pre-training are no independent measurements of the row.
        """
        cell = cls.of(groups[0]) if len(groups) == 1 else cls.of([statistics.fmean(group) for group in groups])
        several = any(len(group) > 1 for group in groups)
        return dataclasses.replace(cell, groups=tuple(map(tuple, groups))) if several else cell


@dataclasses.dataclass(frozen=True)
class TableRow:
    """A row: what it is, its cells by the column's key, without those that it has no figure for, and warnings."""

    name: str
    parameters: int | None
    num_train_steps: int
    cells: Mapping[str, Cell]
    paper: Sequence[float | None]
    warnings: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Table:
    """The columns and the rows, the names of the paper's columns, and how what it says compares."""

    columns: Sequence[Column]
    rows: Sequence[TableRow]
    paper_columns: Sequence[str]
    verdicts: Sequence[Verdict] = ()

    def to_json(self) -> dict[str, Any]:
        """Columns and rows as JSON has them."""
        return {
            "columns": [dataclasses.asdict(column) for column in self.columns],
            "rows": [
                {
                    **{"name": row.name, "parameters": row.parameters, "num_train_steps": row.num_train_steps},
                    "cells": {key: dataclasses.asdict(cell) for key, cell in row.cells.items()},
                    "paper": dict(zip(self.paper_columns, row.paper)),
                    "warnings": list(row.warnings),
                }
                for row in self.rows
            ],
            "claims": [verdict.to_json() for verdict in self.verdicts],
        }

    def used_columns(self) -> list[Column]:
        """The columns that a row has a figure of."""
        return [column for column in self.columns if any(column.key in row.cells for row in self.rows)]

    def lines(self) -> list[list[str]]:
        """The table as it is read: the titles, then the rows, a text for each cell."""
        used = self.used_columns()
        lines = [["", "parameters", *(column.title for column in used), *(f"paper: {t}" for t in self.paper_columns)]]
        for row in self.rows:
            cells = [_text_of(row.cells.get(column.key), column.kind) for column in used]
            paper = ["" if value is None else str(value) for value in row.paper]
            count = "" if row.parameters is None else f"{row.parameters / 1e6:.2f} M"
            lines.append([row.name, count, *cells, *paper])
        return lines

    def to_markdown(self) -> str:
        """The table as Markdown."""
        titles, *rows = self.lines()
        return markdown_table([titles, ["---"] * len(titles), *rows])


def columns_of(experiment: Experiment) -> list[Column]:
    """The columns that an experiment measures."""
    sets = held_out_tasks(experiment)
    columns = []
    if MASKED_LM in experiment.evaluations:
        for task in sets:
            beside = f", {_TITLES[task]}" if len(sets) > 1 else ""
            columns.append(Column(f"masked_lm_accuracy/{task}", f"masked LM{beside}", PERCENT))
            columns.append(Column(f"masked_lm_loss/{task}", f"nats{beside}", NUMBER))
    for name, (task, figure, title) in _ACCURACIES.items():
        if name in experiment.evaluations:
            columns.append(Column(f"{figure}/{task}", title, PERCENT))
    columns += [Column(f"task/{task.name}", task.name, PERCENT) for task in experiment.tasks]
    if len(experiment.tasks) > 1:
        columns.append(Column("task_average", "average of tasks", PERCENT))
    return columns


def make_table(experiment: Experiment, units: Sequence[Unit], output_dir: str) -> Table:
    """The table of finished rows.

    Args:
        experiment: the file.
        units: those of its rows that are finished, with all seeds.
        output_dir: of the run.

    Raises:
        InputError: a step's output is not what its command writes.
    """
    rows = []
    for row in experiment.rows:
        ours = [unit for unit in units if unit.row.name == row.name]
        if not ours:
            continue
        results = [_results(unit, experiment, output_dir) for unit in ours]
        figures = [_figures(unit, experiment, output_dir, of_tasks) for unit, of_tasks in zip(ours, results)]
        names = [column.key for column in columns_of(experiment) if all(column.key in found for found in figures)]
        cells = {name: Cell.of_groups([found[name] for found in figures]) for name in names}
        start = first_entry(f"{ours[0].pretraining.folder(output_dir)}/{ours[0].pretraining.result}")
        paper = experiment.paper.rows.get(row.name, [None] * len(experiment.paper.columns))
        warnings = _warnings(row.name, experiment, results)
        rows.append(TableRow(row.name, start.get("parameters"), row.num_train_steps, cells, paper, warnings))
    return Table(columns_of(experiment), rows, experiment.paper.columns, verdicts_of(experiment, rows))


def verdicts_of(experiment: Experiment, rows: Sequence[TableRow]) -> list[Verdict]:
    """The claims of the paper, and whether they show; "not measured" where a row or its figure is missing."""
    by_name = {row.name: row for row in rows}

    def found(name: str, key: str) -> tuple[float, ...] | None:
        cell = by_name[name].cells.get(key) if name in by_name else None
        return None if cell is None else cell.values

    verdicts = []
    for claim in experiment.paper.claims:
        key = _key_of(claim.measure, experiment)
        verdicts.append(judge(claim, found(claim.row, key), found(claim.than, key)))
    return verdicts


def _key_of(measure: str, experiment: Experiment) -> str:
    """The column of a measure: an evaluation's accuracy, or a task's score."""
    if measure == MASKED_LM:
        return f"masked_lm_accuracy/{held_out_tasks(experiment)[0]}"
    if measure in _ACCURACIES:
        return "{1}/{0}".format(*_ACCURACIES[measure])
    return f"task/{measure}"


# What every evaluation says.
_MEASURED = ("masked_lm_loss", "masked_lm_accuracy")

# Of a task: by seed of fine-tuning, the score and whether the run learned nothing.
_Results = Mapping[str, Sequence[tuple[float, bool]]]


def _results(unit: Unit, experiment: Experiment, output_dir: str) -> _Results:
    """The outcome of a unit's fine-tunings, by the task's name."""
    found = {}
    for task in experiment.tasks:
        steps = [unit.finetuning[task.name, seed] for seed in task.seeds]
        found[task.name] = [_result_of(step, output_dir) for step in steps]
    return found


def _result_of(step: Step, output_dir: str) -> tuple[float, bool]:
    result = _read(step, output_dir)
    try:
        score = next(iter(result["scores"].values()))[result["metric"]]
    except (AttributeError, KeyError, StopIteration, TypeError):
        score = None
    return _checked(score, step, output_dir), bool(result.get("stuck"))


def _read(step: Step, output_dir: str) -> dict[str, Any]:
    """The JSON object that a command wrote; InputError if it is none."""
    try:
        return step.read_result(output_dir)
    except InputError:
        raise _damaged(step, output_dir) from None


def _checked(figure: Any, step: Step, output_dir: str) -> float:
    """A figure that a command wrote; InputError if it is none."""
    if not is_figure(figure) or figure is None:
        raise _damaged(step, output_dir)
    return float(figure)


def _damaged(step: Step, output_dir: str) -> InputError:
    folder = step.folder(output_dir)
    return InputError(f"{folder}/{step.result} is not what {step.kind} writes; remove {folder} to do it again")


def _warnings(row: str, experiment: Experiment, results: Sequence[_Results]) -> list[str]:
    """A line for each task of which fine-tunings of the row learned nothing."""
    lines = []
    for task in experiment.tasks:
        stuck = [is_stuck for found in results for _, is_stuck in found[task.name]]
        if any(stuck):
            lines.append(
                f"row {row}: {sum(stuck)} of {len(stuck)} fine-tunings on {task.name} learned nothing (the loss of a "
                "constant answer); they count in its mean"
            )
    return lines


def _figures(unit: Unit, experiment: Experiment, output_dir: str, results: _Results) -> dict[str, list[float]]:
    """The values of a unit by column: one, or one for each seed of fine-tuning."""
    found: dict[str, list[float]] = {}
    for kind, step in unit.evaluations.items():
        evaluation = _read(step, output_dir)
        numbers = {name: value for name, value in evaluation.items() if isinstance(value, float)}
        for name in {*_MEASURED, *numbers}:
            _checked(evaluation.get(name), step, output_dir)
        found |= {f"{name}/{kind}": [value] for name, value in numbers.items()}
    found |= {f"task/{name}": [score for score, _ in of_task] for name, of_task in results.items()}
    if len(experiment.tasks) > 1:
        found["task_average"] = [
            statistics.fmean(statistics.fmean(found[f"task/{task.name}"]) for task in experiment.tasks)
        ]
    return found


def _text_of(cell: Cell | None, kind: str) -> str:
    """A cell's text.

    >>> _text_of(Cell.of([0.5, 0.52]), PERCENT), _text_of(Cell.of([3.25]), NUMBER), _text_of(None, PERCENT)
    ('51.0 ± 1.0 %', '3.250', '')
    """
    if cell is None:
        return ""
    scale, digits, unit = (100, 1, " %") if kind == PERCENT else (1, 3, "")
    error = "" if cell.standard_error is None else f" ± {scale * cell.standard_error:.{digits}f}"
    return f"{scale * cell.mean:.{digits}f}{error}{unit}"
