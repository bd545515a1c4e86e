"""The page of a fine-tuning: of one run, or of several that differ in seed, learning rate or fold."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.inputs.finetuning_cache import MANIFEST
from albert_tf.reports import run_sections
from albert_tf.reports.blocks import Block, Figure, Group, Notes, Section, Table, numbers
from albert_tf.reports.curves import compare_charts
from albert_tf.reports.run_folder import MEMBER_NAME, RunFolder
from albert_tf.reports.split_report import split_blocks
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.thresholds import EACH, ONE, THRESHOLD_SCORE, USUAL_THRESHOLD

# What tells runs apart: its name in their results, and on the page.
_VARYING = {"learning_rate": "rate", "random_seed": "seed", "fold": "fold"}
_LEARNED_NOTHING = (
    "The loss stayed at that of a constant answer: nothing was learned; try a lower rate or another seed."
)


def finetuning_sections(run: RunFolder, layers: Section | None = None) -> list[Section]:
    """The sections of a run's page; of several runs the details are those of the best one.

    Args:
        run: of fine-tuning.
        layers: a look into the model's.
    """
    members = _counted_members(run)
    shown = _best_member(run, members)
    by_checkpoint = f"By checkpoint, {shown.name}" if members else "By checkpoint"
    notes = [
        *run.notes,
        *(f"{member.name}: {note}" for member in members for note in member.notes),
        *run_sections.stop_notes(shown),
    ]
    notes += [
        f"{_LEARNED_NOTHING} ({one.name})" if members else _LEARNED_NOTHING
        for one in members or [run]
        if one.results.get("stuck")
    ]
    if not run.results and not run.is_locked:
        notes.append("results.json is not there: the run did not come to its end.")
    blocks: list[Block] = [Group("figures", [*task_figures(run), *run_sections.progress_figures(shown)])]
    blocks += [Notes(notes, is_warning=True)] if notes else []
    if members:
        curves: list[Block] = [Group("charts", compare_charts([member.curves for member in members]))]
        of_what = (
            "seeds" if all(one.name.startswith("seed-") and "-fold-" not in one.name for one in members) else "runs"
        )
        blocks.append(Notes([f"{len(members)} {of_what}; what is not of all of them is of {shown.name}."]))
    else:
        curves = run_sections.curve_blocks(run)
    sections = [
        Section("", blocks),
        Section(
            "Scores", [*_run_tables(run), *score_tables(run), *run_sections.evaluation_blocks(shown, by_checkpoint)]
        ),
        Section("Curves", curves),
        *(
            Section(f"Split {split}", split_blocks(shown.path, split, report, _thresholds(shown, split)))
            for split, report in shown.reports.items()
        ),
        Section("Data", _data_blocks(shown)),
        layers,
        run_sections.model_section(shown),
        run_sections.speed_section(shown),
        run_sections.settings_section(run),
    ]
    return [section for section in sections if section is not None and section.blocks]


def _counted_members(run: RunFolder) -> list[RunFolder]:
    """The runs that the results are of: without those in whose place others were put. Unfinished: all there are."""
    found = _results_of_runs(run)
    if not found:
        return list(run.members)
    listed = {_told(one) for one in found}
    # An earlier command may have left the same fold of more or fewer.
    folds = max((one["fold"] for one in found if type(one.get("fold")) is int), default=0)
    return [one for one in run.members if _told_by(one.name) in listed and _folds_of(one.name) in (None, folds)]


def _results_of_runs(run: RunFolder) -> list[Mapping[str, Any]]:
    """The results of each of several runs; [] of a single one."""
    found = run.results.get("runs", run.results.get("seeds"))
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _told(results: Mapping[str, Any]) -> str:
    """A run by what tells it from the others: "rate 1e-05, seed 1"."""
    told = {word: results[key] for key, word in _VARYING.items() if results.get(key) is not None}
    return _in_words({word: f"{value:g}" if isinstance(value, float) else str(value) for word, value in told.items()})


def _told_by(name: str) -> str:
    """A run by the name of its folder, as `_told` names it by its results."""
    matched = MEMBER_NAME.fullmatch(name)
    return _in_words({word: matched[word] for word in _VARYING.values()}) if matched else name


def _folds_of(name: str) -> int | None:
    """In how many parts the training split was cut, by the name of a run's folder; None where it does not say so."""
    matched = MEMBER_NAME.fullmatch(name)
    return int(matched["of"]) if matched and matched["of"] else None


def _in_words(told: Mapping[str, str | None]) -> str:
    return ", ".join(f"{word} {value}" for word, value in told.items() if value is not None)


def _best_member(run: RunFolder, members: Sequence[RunFolder]) -> RunFolder:
    """The run whose details are shown: the one of the best checkpoint, else the first, else the run itself."""
    if not members:
        return run
    best = os.path.basename(os.path.dirname(str(run.results.get("checkpoint", ""))))
    found = next((member for member in members if member.name == best), members[0])
    return dataclasses.replace(found, name=_told_by(found.name))


def shown_alone(run: RunFolder) -> tuple[RunFolder, str]:
    """(the run whose details stand for a run beside others, which it is itself unless it is several; which of them)."""
    members = _counted_members(run)
    if not members:
        return run, ""
    shown = _best_member(run, members)
    curves = dataclasses.replace(shown.curves, name=run.name)
    return dataclasses.replace(shown, name=run.name, curves=curves), shown.name


def _centre(run: RunFolder) -> str:
    """The statistic that the scores of several runs are."""
    return "mean" if any("fold" in one for one in _results_of_runs(run)) else "median"


def _thresholds(run: RunFolder, split: str) -> str:
    """The probabilities from which on the run gave a label, as words; "" if they are not known."""
    if run.settings is None:
        return ""
    given = run.settings.value("label_threshold")
    if given not in (ONE, EACH):
        return str(USUAL_THRESHOLD if given is None else given).replace(",", ", ")
    found = {
        name.removeprefix(THRESHOLD_SCORE).strip(): value
        for name, value in _of_split(run.results.get("scores"), split).items()
        if name.split(" ")[0] == THRESHOLD_SCORE
    }
    return ", ".join(f"{value:.4g} for {label}" if label else f"{value:.4g}" for label, value in found.items())


def task_figures(run: RunFolder) -> list[Figure]:
    """Figures of the task: its name, and the scores of the run, or what those of several come to."""
    task = run.results.get("task_name") or (run.settings.value("task_name") if run.settings else None)
    figures = [Figure("task", str(task))] if task else []
    metric = run.results.get("metric")
    scores = run.results.get("scores")
    several = "folds" if _centre(run) == "mean" else "seeds"
    remark = f"{_centre(run)} of the {several}" if _results_of_runs(run) else ""
    if (rate := run.results.get("best_learning_rate")) is not None:
        remark += f", rate {rate}"
    for split, of_split in scores.items() if isinstance(scores, dict) else ():
        value = numbers(of_split).get(str(metric))
        if value is not None:
            figures.append(Figure(f"{metric}, {split}", run_sections.score_text(str(metric), value), remark))
    return figures


def score_tables(run: RunFolder) -> list[Block]:
    """The scores of the chosen checkpoint by split."""
    rows: list[tuple[str, dict[str, float]]] = []
    for key, ending in (("scores", ""), ("test_scores", " (its labels are published)")):
        found = run.results.get(key)
        if isinstance(found, dict) and not (_results_of_runs(run) and key == "scores"):
            rows += [(f"{split}{ending}", numbers(scores)) for split, scores in found.items()]
    return [_scores_table("Scores of the chosen checkpoint", "split", rows)] if rows else []


def _run_tables(run: RunFolder) -> list[Block]:
    """For each split, the scores of every run, what they come to, the best one's, and those of the ensemble."""
    found = _results_of_runs(run)
    title = "run" if "runs" in run.results else "seed"
    blocks: list[Block] = []
    centres = run.results.get("scores") if found else None
    for split in centres if isinstance(centres, dict) else ():
        rows = [(_told(one), _of_split(one.get("scores"), split)) for one in found]
        rows += [(name, _of_split(scores, split)) for name, scores in _summaries(run)]
        blocks.append(_scores_table(f"Scores by {title}, {split}", title, rows))
    return blocks


def _summaries(run: RunFolder) -> list[tuple[str, Any]]:
    """(name, scores by split) of what several runs come to; of several learning rates, of each."""
    centre, results, rates = _centre(run), run.results, run.results.get("rates")
    if isinstance(rates, list):
        found = [
            (f"{name} of rate {rate.get('learning_rate')}", rate.get(key))
            for rate in rates
            if isinstance(rate, dict)
            for name, key in ((centre, "scores"), ("spread", "spread"))
        ]
        found.append(("best", results.get("best")))
    else:
        found = [(name, results.get(key)) for name, key in ((centre, "scores"), ("best", "best"), ("spread", "spread"))]
    ensemble = results.get("ensemble")
    if isinstance(ensemble, dict) and "scores" in ensemble:
        found.append((f"ensemble of {len(_results_of_runs(run))}", ensemble["scores"]))
    return found


def _of_split(scores: Any, split: str) -> dict[str, float]:
    return numbers(scores.get(split)) if isinstance(scores, dict) else {}


def _scores_table(title: str, first: str, rows: Sequence[tuple[str, Mapping[str, float]]]) -> Table:
    names = list(dict.fromkeys(name for _, scores in rows for name in scores))
    cells = [
        [name, *(run_sections.score_text(one, scores[one]) if one in scores else "–" for one in names)]
        for name, scores in rows
    ]
    return Table([first, *(name.replace("_", " ") for name in names)], cells, title)


def _data_blocks(run: RunFolder) -> list[Block]:
    """Counts the examples, and rows of the model's input, of each split, by the features that the run keeps."""
    rows = []
    for split in files.list_folder(run.features_folder):
        try:
            manifest = files.read_json(os.path.join(run.features_folder, split, MANIFEST))
        except (InputError, OSError):
            continue
        counts = [manifest.get(name) for name in ("examples", "features")]
        rows.append([split, *(f"{count:,}" if type(count) is int else "–" for count in counts)])
    if rows:
        return [Table(["split", "examples", "rows of the model's input"], rows)]
    per_epoch = run.curves.starts[-1].get("examples_per_epoch") if run.curves.starts else None
    if type(per_epoch) is int:
        return [Table(["split", "rows of the model's input"], [["train", f"{per_epoch:,}"]])]
    return []
