"""The page of a run that trained vectors of texts: by train_embeddings, or by distil_vectors from a teacher's."""

import os

from albert_tf.inputs.finetuning_cache import MANIFEST
from albert_tf.reports import run_sections
from albert_tf.reports.blocks import Block, Figure, Group, Notes, Section, Table
from albert_tf.reports.finetuning_report import score_tables, task_figures
from albert_tf.reports.run_folder import DISTILLATION, RunFolder
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

# What the rows of a split's features are.
_ROWS = {"train": "rows to learn from", "dev": "texts to be judged by, each once"}


def vectors_sections(run: RunFolder, layers: Section | None = None) -> list[Section]:
    """The sections of a run's page.

    Args:
        run: of one of the commands that train vectors.
        layers: a look into the model's.
    """
    notes = [*run.notes, *run_sections.stop_notes(run)]
    if not run.results and not run.is_locked:
        notes.append("results.json is not there: the run did not come to its end.")
    figures = [*_teacher_figures(run), *task_figures(run), *run_sections.progress_figures(run)]
    blocks: list[Block] = [Group("figures", figures), *([Notes(notes, is_warning=True)] if notes else [])]
    sections = [
        Section("", blocks),
        Section("Scores", [*score_tables(run), *run_sections.evaluation_blocks(run)]),
        Section("Curves", run_sections.curve_blocks(run)),
        Section("Data", _data_blocks(run)),
        layers,
        run_sections.model_section(run),
        run_sections.speed_section(run),
        run_sections.settings_section(run),
    ]
    return [section for section in sections if section is not None and section.blocks]


def _teacher_figures(run: RunFolder) -> list[Figure]:
    if run.command != DISTILLATION or run.settings is None:
        return []
    return [Figure("teacher", run.settings.text("teacher"))]


def _data_blocks(run: RunFolder) -> list[Block]:
    """Counts the rows that were learned from and the texts of the dev set, by the features that the run keeps."""
    rows = []
    for split, what in _ROWS.items():
        try:
            count = files.read_json(os.path.join(run.features_folder, split, MANIFEST)).get("examples")
        except (InputError, OSError):
            continue
        if type(count) is int:
            rows.append([what, f"{count:,}"])
    return [Table(["", ""], rows)] if rows else []
