"""The page of an experiment: its table and figures, what the paper says, and its runs beside one another."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.experiments.claims import SAME, verdict_lines
from albert_tf.experiments.findings import Findings
from albert_tf.experiments.findings_file import PAGE_JSON, TABLE_JSON, read_findings
from albert_tf.experiments.table import PERCENT, Cell
from albert_tf.reports.blocks import Block, Code, Figure, Group, Notes, Page, Section, Table
from albert_tf.reports.charts import COLORS, short_number
from albert_tf.reports.comparison import figures_of_runs
from albert_tf.reports.curves import compare_charts
from albert_tf.reports.dot_panels import Measured, Panel, dot_panel
from albert_tf.reports.layer_figure import layer_charts, measure, sequences_of_records
from albert_tf.reports.run_folder import RunFolder, read_run, reason_of
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json

# Rows whose curves are told apart: each colour as a line, and dashed.
_MOST_CURVES = 2 * COLORS


def experiments_in(path: str) -> list[str]:
    """The folder itself, if it is an experiment's, or those of the experiments in it; [] if there are none."""
    if not os.path.isdir(path):
        return []
    folders = [path, *(os.path.join(path, name) for name in files.list_folder(path))]
    names = (TABLE_JSON, PAGE_JSON)
    found = [folder for folder in folders if any(files.exists(os.path.join(folder, name)) for name in names)]
    return [path] if path in found else found


def experiment_page(folder: str, with_layers: bool = False) -> Page:
    """The page of an experiment.

    Args:
        folder: where run_experiments left table and page.
        with_layers: whether the rows' models are loaded for a figure of their layers; imports TensorFlow.

    Raises:
        InputError: a file there is not what run_experiments writes.
    """
    findings = read_findings(folder)
    runs, notes = _first_runs(findings, folder)
    sections = [
        Section("", _head(findings)),
        Section("Table", _tables(findings)),
        *([Section("Beside the paper", _claims(findings))] if findings.table.verdicts else []),
        Section("Rows", [_changes(findings.changes)]),
        Section("Curves", _curves(findings, runs, notes)),
        *([Section("Layers", _layers(findings, folder, runs))] if with_layers and runs else []),
        *([Section("Runs", [figures_of_runs(runs, runs)])] if runs else []),
        Section("Commands", _commands(findings)),
    ]
    return Page(findings.question, f"Experiment {findings.name} in {folder}", sections)


def _head(findings: Findings) -> list[Block]:
    rows, of = findings.table.rows, len(findings.changes)
    steps = sorted({row.num_train_steps for row in rows})
    figures = [
        Figure("rows", f"{len(rows)}", "" if len(rows) == of else f"of {of}"),
        Figure("seeds of pre-training", f"{len({run.seed for run in findings.runs})}"),
        Figure("steps a row", " to ".join(short_number(end) for end in dict.fromkeys((steps[0], steps[-1])))),
    ]
    words = [verdict.word for verdict in findings.table.verdicts]
    if words:
        figures.append(Figure("claims with the paper's sign", f"{words.count(SAME)}", f"of {len(words)}"))
    remarks = [f"{what} {more}".rstrip() for what, more in findings.remarks()]
    source = [f"Source: {findings.source}."] if findings.source else []
    return [
        Group("figures", figures),
        *([Notes(remarks, is_warning=True)] if remarks else []),
        Notes([*source, findings.summary]),
    ]


def _tables(findings: Findings) -> list[Block]:
    titles, *rows = findings.table.lines()
    notes = [findings.note_on_errors, *([findings.note] if findings.note else [])]
    panels = _panels(findings)
    if any(row.marks for panel in panels for row in panel.rows):
        notes.append("Below: a dot for the mean, a bar of a standard error to both sides, a tick for each value.")
    blocks: list[Block] = [Table(titles, rows), Notes(notes), *([Group("panels", panels)] if panels else [])]
    used = findings.table.used_columns()
    values = [
        [row.name, *(_values_of(row.cells.get(column.key), column.kind) for column in used)]
        for row in findings.table.rows
    ]
    if any(len(cell.values) > 1 for row in findings.table.rows for cell in row.cells.values()):
        blocks.append(
            Table(["", *(column.title for column in used)], values, title="The values of each seed", is_folded=True)
        )
    return blocks


def _values_of(cell: Cell | None, kind: str) -> str:
    """The values of a cell, in the order of the seeds of pre-training; those of fine-tuning in brackets."""
    if cell is None:
        return ""
    groups = cell.groups or tuple((value,) for value in cell.values)
    told = [", ".join(_number(value, kind) for value in group) for group in groups]
    return ", ".join(f"({one})" if len(group) > 1 and len(groups) > 1 else one for one, group in zip(told, groups))


def _number(value: float, kind: str) -> str:
    return f"{100 * value:.1f}" if kind == PERCENT else f"{value:.3f}"


def _panels(findings: Findings) -> list[Panel]:
    """A panel for each column of the table."""
    panels = []
    for column in findings.table.used_columns():
        scale, unit = (100, ", %") if column.kind == PERCENT else (1, "")
        rows = [(row.name, cell) for row in findings.table.rows if (cell := row.cells.get(column.key))]
        measured = [
            Measured(
                name,
                scale * cell.mean,
                None if cell.standard_error is None else scale * cell.standard_error,
                [scale * value for value in cell.values],
            )
            for name, cell in rows
        ]
        digits = 1 if column.kind == PERCENT else 3
        panels.append(dot_panel(column.title + unit, measured, digits))
    return panels


def _claims(findings: Findings) -> list[Block]:
    titles, *lines = verdict_lines(findings.table.verdicts)
    # Words before numbers, as a table of the page has them.
    order = (0, 1, 4, 2, 3)
    rows = [[line[place] for place in order] for line in lines]
    return [Table([titles[place] for place in order], rows, words=3), Notes([findings.note_on_verdicts()])]


def _changes(changes: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = [[name, "; ".join(_told(key, value) for key, value in of.items()) or "none"] for name, of in changes.items()]
    return Table(["", "changes to the base"], rows, words=2)


def _told(key: str, value: Any) -> str:
    """A change: a key, or a section with its flags; null takes a flag, or what a section does, out."""
    if value is None:
        return f"no {key}"
    if not isinstance(value, dict):
        return f"{key} {value}"
    parts = [f"no {name}" if one is None else f"{name}={_as_text(one)}" for name, one in value.items()]
    return f"{key}: {', '.join(parts)}" if parts else key


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value, ensure_ascii=False)


def _first_runs(findings: Findings, folder: str) -> tuple[list[RunFolder], list[str]]:
    """The run of each row with the first seed, and what is to be said of those that cannot be shown."""
    of_seed = [run for run in findings.runs if run.seed == findings.runs[0].seed]
    if not any(os.path.isdir(_beside(folder, run.folder)) for run in of_seed):
        gone = os.path.dirname(_beside(folder, of_seed[0].folder))
        return [], [f"The runs of the rows are not there ({gone} and the others): nothing more is known of them."]
    runs, notes = [], []
    for run in of_seed[:_MOST_CURVES]:
        try:
            found = read_run(_beside(folder, run.folder), run.row)
            runs.append(found)
            notes += [f"Row {run.row}: {note}" for note in found.notes]
        except (InputError, OSError) as error:
            notes.append(f"Row {run.row} has no curve: {reason_of(error)}")
    if len(of_seed) > _MOST_CURVES:
        notes.append(f"Of the first {_MOST_CURVES} rows: a page has no more colours.")
    return runs, notes


def _beside(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, path))


def _curves(findings: Findings, runs: Sequence[RunFolder], notes: Sequence[str]) -> list[Block]:
    charts = compare_charts([run.curves for run in runs])
    told = [
        f"Of pre-training with seed {findings.runs[0].seed}, on what each row is trained on: masks, pairs and pieces "
        "may differ from row to row. The table has figures of held-out records."
    ]
    return [Notes([*(told if charts else []), *notes]), *([Group("charts", charts)] if charts else [])]


def _layers(findings: Findings, folder: str, runs: Sequence[RunFolder]) -> list[Block]:
    """The layers of the newest checkpoint of each row, and what is to be said of rows without one."""
    held_out = {run.row: _beside(folder, run.held_out) for run in reversed(findings.runs)}
    models, notes = [], []
    for run in runs:
        try:
            if not run.checkpoints:
                raise InputError("it has no checkpoint")
            models.append(measure(run.checkpoints[-1].path, run.name, sequences_of_records(held_out[run.name])))
        except (InputError, OSError) as error:
            notes.append(f"Of row {run.name} nothing is said: {reason_of(error)}.")
    if not models:
        return [Notes(notes)]
    counts = sorted({model["num_tokens"] for model in models})
    tokens = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    told = [f"Of the same seed, over {tokens} tokens of held-out records; heads by their mean."]
    if len(findings.asked_alike) > 1:
        told.append("Rows whose records differ, as is said above, are measured on their own.")
    return [Notes([*told, *notes]), Group("charts", layer_charts(models))]


def _commands(findings: Findings) -> list[Block]:
    blocks: list[Block] = [Notes(["Each row by hand, after the steps that it needs."])]
    for run in findings.runs:
        title = f"{run.row}, seed {run.seed}"
        blocks.append(
            Code(title, run.commands) if run.commands else Notes([f"{title}: the same steps as a row above."])
        )
    return blocks
