"""All that the pages of an experiment tell: its table, and what is to be known of it; as JSON, and read again."""

import dataclasses
import os
import platform
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import albert_tf
from albert_tf.experiments.claims import ERRORS, Claim, Verdict
from albert_tf.experiments.command_lines import RECORDS
from albert_tf.experiments.estimate import duration
from albert_tf.experiments.experiment import Experiment
from albert_tf.experiments.grid import Unit, distinct
from albert_tf.experiments.steps import Step, Written
from albert_tf.experiments.table import Cell, Column, Table, TableRow
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json

TABLE_JSON, PAGE_JSON = "table.json", "page.json"
_WIDTH = 116
_Read = TypeVar("_Read")


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

    def write(self, folder: str) -> None:
        """Writes the two JSON files: the table, which is the same wherever it is made, and the rest."""
        head = {"experiment": self.name, "question": self.question, "source": self.source}
        files.write_json(os.path.join(folder, TABLE_JSON), {**head, **self.table.to_json()})
        rest = {key: value for key, value in vars(self).items() if key not in ("name", "question", "source", "table")}
        runs = [dataclasses.asdict(run) for run in self.runs]
        files.write_json(os.path.join(folder, PAGE_JSON), {**rest, "runs": runs})

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


def read_findings(folder: str) -> Findings:
    """Reads what `Findings.write` wrote.

    Raises:
        InputError: a file of the two is missing, or is not what was written.
    """
    paths = [os.path.join(folder, name) for name in (TABLE_JSON, PAGE_JSON)]
    of_table, rest = map(files.read_json, paths)
    table = _made(paths[0], lambda: _table_of(of_table))

    def make() -> Findings:
        if not rest["runs"]:
            raise ValueError("no row has a run")
        return Findings(
            name=str(of_table["experiment"]),
            question=str(of_table["question"]),
            source=str(of_table["source"]),
            table=table,
            summary=str(rest["summary"]),
            note_on_errors=str(rest["note_on_errors"]),
            note=str(rest["note"]),
            is_trial=bool(rest["is_trial"]),
            asked_alike=[list(map(str, names)) for names in rest["asked_alike"]],
            failures={str(name): str(reason) for name, reason in rest["failures"].items()},
            left_out=list(map(str, rest["left_out"])),
            changes={name: dict(changes) for name, changes in rest["changes"].items()},
            runs=[
                RowRun(
                    str(run["row"]), int(run["seed"]), *(str(run[key]) for key in ("folder", "held_out", "commands"))
                )
                for run in rest["runs"]
            ],
        )

    return _made(paths[1], make)


def _made(path: str, make: Callable[[], _Read]) -> _Read:
    """The value made of a file's contents; InputError where those are not what is written."""
    try:
        return make()
    except (AttributeError, LookupError, TypeError, ValueError):
        raise InputError(
            f"{path} is not what run_experiments writes; run it again: what is finished is not done twice"
        ) from None


def _table_of(values: Mapping[str, Any]) -> Table:
    """The table as `Table.to_json` gave it."""
    columns = [Column(str(one["key"]), str(one["title"]), str(one["kind"])) for one in values["columns"]]
    rows = []
    for row in values["rows"]:
        cells = {key: _cell_of(cell) for key, cell in row["cells"].items()}
        count = None if row["parameters"] is None else int(row["parameters"])
        paper, warnings = [_number_of(value) for value in row["paper"].values()], list(map(str, row["warnings"]))
        rows.append(TableRow(str(row["name"]), count, int(row["num_train_steps"]), cells, paper, warnings))
    paper_columns = list(values["rows"][0]["paper"])
    verdicts = [
        Verdict(
            Claim(*(str(one[key]) for key in ("text", "row", "than", "measure")), float(one["paper"])),
            _number_of(one["difference"]),
            _number_of(one["standard_error"]),
            str(one["verdict"]),
        )
        for one in values["claims"]
    ]
    return Table(columns, rows, paper_columns, verdicts)


def _cell_of(cell: Mapping[str, Any]) -> Cell:
    groups = tuple(tuple(map(float, group)) for group in cell["groups"])
    return Cell(tuple(map(float, cell["values"])), float(cell["mean"]), _number_of(cell["standard_error"]), groups)


def _number_of(value: Any) -> float | None:
    """A number, whole if it was written so, or None."""
    return None if value is None else value if isinstance(value, int) else float(value)


def _summary(experiment: Experiment, table: Table) -> str:
    steps = sorted({row.num_train_steps for row in table.rows})
    budget = f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"
    seeds = "one seed" if len(experiment.seeds) == 1 else f"{len(experiment.seeds)} seeds"
    return (
        f"{budget} steps of pre-training a row, {seeds}; {os.cpu_count()} processors ({platform.machine()}), "
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
