"""All that the pages of an experiment tell: its table, and what is to be known of it."""

import dataclasses
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import albert_tf
from albert_tf.experiments.claims import ERRORS
from albert_tf.experiments.command_lines import RECORDS
from albert_tf.experiments.estimate import duration
from albert_tf.experiments.experiment import Experiment
from albert_tf.experiments.grid import Unit, distinct
from albert_tf.experiments.steps import Step, Written
from albert_tf.experiments.table import Table
from albert_tf.runtime.json_text import to_json

_WIDTH = 116


@dataclasses.dataclass(frozen=True)
class RowRun:
    """A row with a seed.

    Attributes:
        row: its name.
        seed: of pre-training.
        folder: of that run, as seen from the folder of the pages.
        held_out: records that it was evaluated on, seen from there.
        commands: of the steps that no row before it needed, a shell's lines; "" if there are none.
    """

    row: str
    seed: int
    folder: str
    held_out: str
    commands: str


@dataclasses.dataclass(frozen=True)
class Findings:
    """The table of an experiment, and what its pages tell beside it.

    Attributes:
        name, question, source: of the experiment.
        table: of the rows that are finished.
        summary: how large the runs are, and where they were.
        note_on_errors: what the errors of the table are of.
        note: of the experiment's file on the paper's figures.
        is_trial: whether the rows had fewer steps than the file says.
        asked_alike: the rows that were evaluated on the same records, a group each.
        failures: why rows failed, by their names.
        left_out: rows that did not fail and are not finished.
        changes: what each row of the file changes.
        runs: of the rows of the table, by seed.
    """

    name: str
    question: str
    source: str
    table: Table
    summary: str
    note_on_errors: str
    note: str
    is_trial: bool
    asked_alike: Sequence[Sequence[str]]
    failures: Mapping[str, str]
    left_out: Sequence[str]
    changes: Mapping[str, Mapping[str, Any]]
    runs: Sequence[RowRun]

    def remarks(self) -> list[tuple[str, str]]:
        """Remarks that a reader must know before the figures: (what it is, more of it)."""
        found = []
        if self.is_trial:
            found.append(
                ("A trial:", "all rows had as many steps as --num_train_steps says, not those of their budgets.")
            )
        if len(self.asked_alike) > 1:
            told = " | ".join(", ".join(names) for names in self.asked_alike)
            found.append(
                (
                    "Not all rows are asked the same:",
                    f"their held-out records differ by vocabulary, length or reading of text ({told}). Masked words "
                    "and pairs compare between rows of one part; tasks compare between all.",
                )
            )
        found += [(warning, "") for row in self.table.rows for warning in row.warnings]
        found += [(f"row {name} failed:", reason) for name, reason in self.failures.items()]
        return found + [(f"row {name} is left out:", "with these flags it is not finished") for name in self.left_out]

    def note_on_verdicts(self) -> str:
        """A line on the differences that stand beside the paper's."""
        known = any(verdict.standard_error is not None for verdict in self.table.verdicts)
        error = f"less than {ERRORS:g} standard errors is within the error" if known else "one seed: no error is known"
        return f"Differences in points of a hundred, first row less second, seed by seed; {error}."


def find(
    experiment: Experiment,
    table: Table,
    units: Sequence[Unit],
    failures: Mapping[str, str],
    output_dir: str,
    folder: str,
    left_out: Sequence[str] = (),
    is_trial: bool = False,
) -> Findings:
    """The findings of an experiment.

    Args:
        experiment: the file.
        table: of what is finished.
        units: those of its rows.
        failures: what went wrong, by the name of the row.
        output_dir: of the run.
        folder: where the pages go.
        left_out: rows that did not fail and are not finished.
        is_trial: whether the rows had fewer steps than the file says.
    """
    runs, seen = [], set[str]()
    for unit in units:
        steps = [step for step in distinct(unit.steps()) if step.key not in seen]
        seen |= {step.key for step in steps}
        paths = (os.path.relpath(path, folder) for path in (unit.model_folder(output_dir), unit.held_out(output_dir)))
        runs.append(RowRun(unit.row.name, unit.seed, *paths, _commands(steps, output_dir) if steps else ""))
    return Findings(
        name=experiment.name,
        question=experiment.question,
        source=experiment.source,
        table=table,
        summary=_summary(experiment, table),
        note_on_errors=_note_on_errors(experiment),
        note=experiment.paper.note,
        is_trial=is_trial,
        asked_alike=_asked_alike(units),
        failures=failures,
        left_out=left_out,
        changes={row.name: row.changes for row in experiment.rows},
        runs=runs,
    )


def _summary(experiment: Experiment, table: Table) -> str:
    steps = sorted({row.num_train_steps for row in table.rows})
    budget = f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"
    seeds = "one seed" if len(experiment.seeds) == 1 else f"{len(experiment.seeds)} seeds"
    before = ", after those of the row that it starts from" if any(row.start_from for row in experiment.rows) else ""
    return (
        f"{budget} steps of pre-training a row{before}, {seeds}; {os.cpu_count()} processors ({platform.machine()}), "
        f"albert_tf {albert_tf.__version__}. Figures are of documents that were not trained on."
    )


def _note_on_errors(experiment: Experiment) -> str:
    if len(experiment.seeds) > 1:
        return f"After ±: the standard error of the mean over {len(experiment.seeds)} seeds of pre-training."
    if any(len(task.seeds) > 1 for task in experiment.tasks):
        return (
            "After ±: the standard error of the mean over seeds of fine-tuning, of one pre-trained model; how much "
            "another seed of pre-training would change is not in it."
        )
    return "One seed: how much another one would change is not known."


def _asked_alike(units: Sequence[Unit]) -> list[list[str]]:
    """The rows by the records that they are evaluated on: of one vocabulary, length and reading of text."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for unit in units:
        records = (step.key for evaluation in unit.evaluations.values() for step in evaluation.inputs())
        names = rows.setdefault(tuple(key for key in records if key.startswith(RECORDS)), [])
        names += [] if unit.row.name in names else [unit.row.name]
    return list(rows.values())


def _commands(steps: Sequence[Step], output_dir: str) -> str:
    lines = []
    for step in steps:
        note: Mapping[str, Any] = step.done(output_dir) or {}
        seconds = note.get("seconds")
        lines.append(f"# {step.kind}" + ("" if seconds is None else f", {duration(seconds)}"))
        for value in step.flags.values():
            if isinstance(value, Written):
                path = os.path.join(step.folder(output_dir), value.name)
                lines.append(f"# {path} holds {to_json(value.values)}")
        lines += _wrap(["python", *step.words(output_dir)])
    return "\n".join(lines)


def _wrap(words: Sequence[str]) -> list[str]:
    """A command line over several lines of a shell."""
    lines = [""]
    for word in map(shlex.quote, words):
        if lines[-1] and len(lines[-1]) + len(word) > _WIDTH:
            lines[-1] += " \\"
            lines.append(" ")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines
