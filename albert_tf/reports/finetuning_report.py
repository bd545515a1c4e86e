"""The page of a fine-tuning run, of one seed or of several."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.reports import run_sections
from albert_tf.reports.blocks import Block, Figure, Group, Notes, Section, Table, numbers
from albert_tf.reports.curves import compare_charts
from albert_tf.reports.run_folder import RunFolder
from albert_tf.reports.split_report import split_blocks
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

_SUMMARY = {"median": "scores", "best": "best", "spread": "spread"}
_FEATURES = os.path.join("features", "{split}", "manifest.json")


def finetuning_sections(run: RunFolder) -> list[Section]:
    """The sections of a run's page; of several seeds the details are those of the best one.

    Args:
        run: of fine-tuning.
    """
    shown = _best_seed(run)
    by_checkpoint = f"By checkpoint, {shown.name}" if run.seeds else "By checkpoint"
    notes = [
        *run.notes,
        *(f"{seed.name}: {note}" for seed in run.seeds for note in seed.notes),
        *run_sections.stop_notes(shown),
    ]
    if not run.results and not run.is_locked:
        notes.append("results.json is not there: the run did not come to its end.")
    blocks: list[Block] = [Group("figures", [*_task_figures(run), *run_sections.progress_figures(shown)])]
    blocks += [Notes(notes, is_warning=True)] if notes else []
    if run.seeds:
        curves: list[Block] = [Group("charts", compare_charts([seed.curves for seed in run.seeds]))]
        blocks.append(Notes([f"{len(run.seeds)} seeds; what is not of all of them is of {shown.name}."]))
    else:
        curves = run_sections.curve_blocks(run)
    sections = [
        Section("", blocks),
        Section(
            "Scores", [*_seed_tables(run), *_score_tables(run), *run_sections.evaluation_blocks(shown, by_checkpoint)]
        ),
        Section("Curves", curves),
        *(
            Section(f"Split {split}", split_blocks(shown.path, split, report))
            for split, report in shown.reports.items()
        ),
        Section("Data", _data_blocks(shown)),
        run_sections.model_section(shown),
        run_sections.speed_section(shown),
        run_sections.settings_section(run),
    ]
    return [section for section in sections if section is not None and section.blocks]


def _best_seed(run: RunFolder) -> RunFolder:
    """The run whose details are shown: the best seed, else the first, else the run itself."""
    if not run.seeds:
        return run
    best = f"seed-{run.results.get('best_seed')}"
    found = next((seed for seed in run.seeds if seed.name == best), run.seeds[0])
    return dataclasses.replace(found, name=f"seed {found.name.partition('-')[2]}")


def _task_figures(run: RunFolder) -> list[Figure]:
    task = run.results.get("task_name") or (run.settings.value("task_name") if run.settings else None)
    figures = [Figure("task", str(task))] if task else []
    metric = run.results.get("metric")
    scores = run.results.get("scores")
    for split, of_split in scores.items() if isinstance(scores, dict) else ():
        value = numbers(of_split).get(str(metric))
        if value is not None:
            remark = "median of the seeds" if run.seeds else ""
            figures.append(Figure(f"{metric}, {split}", run_sections.score_text(str(metric), value), remark))
    return figures


def _score_tables(run: RunFolder) -> list[Block]:
    """The scores of the chosen checkpoint by split."""
    rows: list[tuple[str, dict[str, float]]] = []
    for key, ending in (("scores", ""), ("test_scores", " (its labels are published)")):
        found = run.results.get(key)
        if isinstance(found, dict) and not (run.seeds and key == "scores"):
            rows += [(f"{split}{ending}", numbers(scores)) for split, scores in found.items()]
    return [_scores_table("Scores of the chosen checkpoint", "split", rows)] if rows else []


def _seed_tables(run: RunFolder) -> list[Block]:
    """For each split, the scores of every seed, their median, the best seed's, and the spread."""
    seeds = run.results.get("seeds")
    if not isinstance(seeds, list):
        return []
    blocks: list[Block] = []
    medians = run.results.get("scores")
    for split in medians if isinstance(medians, dict) else ():
        rows = [
            (f"seed {one.get('random_seed')}", _of_split(one.get("scores"), split))
            for one in seeds
            if isinstance(one, dict)
        ]
        rows += [(name, _of_split(run.results.get(key), split)) for name, key in _SUMMARY.items()]
        blocks.append(_scores_table(f"Scores by seed, {split}", "seed", rows))
    return blocks


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
    folder = os.path.join(run.path, "features")
    for split in files.list_folder(folder):
        path = os.path.join(run.path, _FEATURES.format(split=split))
        try:
            manifest = files.read_json(path)
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
