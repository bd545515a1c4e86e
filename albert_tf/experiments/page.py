"""The page of an experiment: question, table, picture, and the commands by which each row can be run by hand."""

import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import albert_tf
from albert_tf.experiments.claims import ERRORS, verdicts_to_markdown
from albert_tf.experiments.command_lines import RECORDS
from albert_tf.experiments.estimate import duration
from albert_tf.experiments.experiment import Experiment
from albert_tf.experiments.grid import Unit
from albert_tf.experiments.steps import Step, Written
from albert_tf.experiments.table import Table
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.markdown_table import markdown_table

_WIDTH = 116


def make_page(
    experiment: Experiment,
    table: Table,
    units: Sequence[Unit],
    failures: Mapping[str, str],
    output_dir: str,
    picture: str | None,
    left_out: Sequence[str] = (),
    is_trial: bool = False,
) -> str:
    """The page as Markdown.

    Args:
        experiment: the file.
        table: of what is finished.
        units: all of the experiment's.
        failures: what went wrong, by the name of the row.
        output_dir: of the run.
        picture: its file's name beside the page; None for none.
        left_out: rows that did not fail and are not finished.
        is_trial: whether the rows had fewer steps than the file says.
    """
    parts = [f"# {experiment.name}", f"**Question.** {experiment.question}"]
    if experiment.source:
        parts.append(f"**Source.** {experiment.source}")
    if is_trial:
        parts.append("**A trial:** all rows had as many steps as `--num_train_steps` says, not those of their budgets.")
    parts += [_describe_run(experiment, table), table.to_markdown().rstrip("\n"), _note_on_errors(experiment)]
    parts += _note_on_records(units)
    if experiment.paper.note:
        parts.append(experiment.paper.note)
    if table.verdicts:
        parts += ["## Beside the paper", verdicts_to_markdown(table.verdicts).rstrip("\n"), _note_on_verdicts(table)]
    parts += [f"- **{warning}**" for row in table.rows for warning in row.warnings]
    parts += [f"- **row {name} failed:** {reason}" for name, reason in failures.items()]
    parts += [f"- row {name} is left out: with these flags it is not finished" for name in left_out]
    if picture is not None:
        parts.append(f"![the table as a picture]({picture})")
    parts.append("## Rows")
    parts += [_describe_changes(experiment)]
    parts += ["## Commands", "Each row by hand, after the steps that it needs; a step that is there is not done again."]
    seen: set[str] = set()
    for unit in units:
        parts.append(f"### {unit.row.name}, seed {unit.seed}")
        steps = [step for step in _distinct(unit) if step.key not in seen]
        seen |= {step.key for step in steps}
        parts.append(_commands(steps, output_dir) if steps else "The same steps as a row above.")
    return "\n\n".join(parts) + "\n"


def _describe_run(experiment: Experiment, table: Table) -> str:
    steps = sorted({row.num_train_steps for row in table.rows})
    budget = f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"
    seeds = "one seed" if len(experiment.seeds) == 1 else f"{len(experiment.seeds)} seeds"
    return (
        f"**Run.** {budget} steps of pre-training a row, {seeds}; {os.cpu_count()} processors ({platform.machine()}), "
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


def _note_on_records(units: Sequence[Unit]) -> list[str]:
    """A line where rows are evaluated on different records, of another vocabulary or length: [] where all have one."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for unit in units:
        records = (step.key for evaluation in unit.evaluations.values() for step in evaluation.inputs())
        names = rows.setdefault(tuple(key for key in records if key.startswith(RECORDS)), [])
        names += [] if unit.row.name in names else [unit.row.name]
    if len(rows) < 2:
        return []
    told = " | ".join(", ".join(names) for names in rows.values())
    return [
        f"**Not all rows are asked the same:** their held-out records differ by vocabulary, length or reading of text "
        f"({told}). Masked words and pairs compare between rows of one part; tasks compare between all."
    ]


def _note_on_verdicts(table: Table) -> str:
    known = any(verdict.standard_error is not None for verdict in table.verdicts)
    error = f"less than {ERRORS:g} standard errors is within the error" if known else "one seed: no error is known"
    return f"Differences in points of a hundred, first row less second, seed by seed; {error}."


def _describe_changes(experiment: Experiment) -> str:
    lines = [["", "changes to the base"], ["---", "---"]]
    for row in experiment.rows:
        lines.append([row.name, f"`{to_json(row.changes, ensure_ascii=False)}`" if row.changes else "none"])
    return markdown_table(lines).rstrip("\n")


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
    return "```\n" + "\n".join(lines) + "\n```"


def _wrap(words: Sequence[str]) -> list[str]:
    """A command line over several lines of a shell."""
    lines = [""]
    for word in map(shlex.quote, words):
        if lines[-1] and len(lines[-1]) + len(word) > _WIDTH:
            lines[-1] += " \\"
            lines.append(" ")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _distinct(unit: Unit) -> list[Step]:
    return list({step.key: step for step in unit.steps()}.values())
