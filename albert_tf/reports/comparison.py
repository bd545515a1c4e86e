"""The page of several runs: their figures side by side, their curves over one another, their settings' differences."""

from collections.abc import Sequence

from albert_tf.reports.blocks import Block, Group, Notes, Section, Table
from albert_tf.reports.curves import compare_charts
from albert_tf.reports.finetuning_report import shown_alone, task_figures
from albert_tf.reports.run_folder import OF_VECTORS, RunFolder
from albert_tf.reports.run_sections import parts_of, progress_figures, score_text
from albert_tf.reports.run_settings import NOTHING, differences, show_value


def comparison_sections(runs: Sequence[RunFolder]) -> list[Section]:
    """The sections of a page of several runs.

    Args:
        runs: at least two, of any kind.
    """
    shown = [shown_alone(run) for run in runs]
    singles = [one for one, _ in shown]
    both = [(run.name, dict.fromkeys((*run.notes, *one.notes))) for run, one in zip(runs, singles)]
    notes = [f"{name}: {note}" for name, told in both for note in told]
    blocks: list[Block] = [figures_of_runs(runs, singles), *([Notes(notes, is_warning=True)] if notes else [])]
    several = [f"{one.name}: what is not of all its runs is of {told}." for one, told in shown if told]
    blocks += [Notes(several)] if several else []
    charts = compare_charts([one.curves for one in singles], all(run.command in OF_VECTORS for run in runs))
    names = [run.name for run in runs]
    rows = [[f"--{name}", *values] for name, values in differences([run.settings for run in runs])]
    rows += _of_configs(runs)
    differing = Table(["", *names], rows, words=1 + len(names))
    return [
        Section("", blocks),
        Section("Curves", [Group("charts", charts)] if charts else [Notes(["No run has reported a step yet."])]),
        Section("Different settings", [differing] if rows else [Notes(["There are none."])]),
    ]


def figures_of_runs(runs: Sequence[RunFolder], singles: Sequence[RunFolder]) -> Table:
    """A row for each figure, a column for each run: how far it came, and the best it reached on held-out data.

    Args:
        runs: of the page.
        singles: for each the same, or of several seeds, rates or folds the run that stands for them.
    """
    columns: list[dict[str, str]] = []
    for whole, run in zip(runs, singles):
        told = [*([] if whole is run else task_figures(whole)), *progress_figures(run)]
        found = {one.name: f"{one.value} ({one.remark})" if one.remark else one.value for one in told}
        if run.config is not None:
            encoder = sum(parts_of(run.config, "", None).values())
            found["parameters without heads"] = f"{encoder:,}"
        if run.best is not None and run.best.evaluation is not None:
            found["best checkpoint, step"] = f"{run.best.step:,}"
            found |= {
                f"{name.replace('_', ' ')}, held out": score_text(name, value)
                for name, value in run.best.evaluation.items()
                if type(value) in (int, float)
            }
        columns.append(found)
    names = dict.fromkeys(name for found in columns for name in found)
    rows = [[name, *(found.get(name, NOTHING) for found in columns)] for name in names]
    return Table(["", *(run.name for run in runs)], rows)


def _of_configs(runs: Sequence[RunFolder]) -> list[list[str]]:
    """The fields of the models' configs that are not the same in all runs."""
    configs = [vars(run.config) if run.config else {} for run in runs]
    names = dict.fromkeys(name for config in configs for name in config)
    rows = [[name, *(show_value(config.get(name)) for config in configs)] for name in names]
    return [row for row in rows if len(set(row[1:])) > 1]
