"""An experiment from its settings to its page."""

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence

from absl import logging

from albert_tf.experiments.command_lines import RECORDS, VOCABULARY
from albert_tf.experiments.corpus import Corpus
from albert_tf.experiments.estimate import duration, estimate_seconds
from albert_tf.experiments.experiment import read_experiment
from albert_tf.experiments.findings import find
from albert_tf.experiments.findings_file import write_findings
from albert_tf.experiments.given_text import check_held_out, read_text
from albert_tf.experiments.grid import Unit, distinct, make_units, named_paths
from albert_tf.experiments.named_files import digest_of_named
from albert_tf.experiments.page import make_page
from albert_tf.experiments.picture import draw_table
from albert_tf.experiments.runner import Runner
from albert_tf.experiments.settings import ExperimentSettings
from albert_tf.experiments.steps import STEPS_FOLDER, Given, Step, finished_notes
from albert_tf.experiments.table import make_table
from albert_tf.experiments.task_columns import check_splits
from albert_tf.experiments.text_split import HELD_OUT, TRAIN, check_documents, split_documents
from albert_tf.runtime import files
from albert_tf.runtime.digests import digest_of_files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.settings import warn_of_idle
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.training.stop_signals import StopSignals

TABLE_NAME, PICTURE_NAME, PAGE_NAME = "table.md", "table.png", "page.md"
_KEY_DIGITS = 12
# Steps that need no model.
_OF_TEXT = (VOCABULARY, RECORDS)
_TRIAL = "-trial"
# Flags of records with which a blank line ends no document.
_OTHER_DOCUMENTS = {"blank_line": ("paragraph",), "input_format": ("jsonl", "parquet")}


class ExperimentRun:
    """The rows of an experiment that a run is to do, and what they come to.

    Args:
        settings: the flags.

    Raises:
        InputError: whatever is wrong with the experiment, the rows or the files.
    """

    def __init__(self, settings: ExperimentSettings):
        self._settings = settings
        warn_of_idle(settings)
        self.output_dir = str(settings.output_dir)
        tasks_file = None if settings.tasks_file is None else str(settings.tasks_file)
        self.experiment = read_experiment(
            str(settings.experiment),
            num_train_steps=settings.num_train_steps,
            num_seeds=settings.num_seeds,
            tasks_file=tasks_file,
        )
        if self.experiment.name == STEPS_FOLDER:
            raise InputError(
                f"--experiment={settings.experiment}: {STEPS_FOLDER}/ is the folder of the steps; rename it"
            )
        if self.experiment.name.endswith(_TRIAL) or "," in self.experiment.name:
            raise InputError(
                f"--experiment={settings.experiment}: {_TRIAL} at the end of a name is for what trials come to, and a "
                "comma separates names; rename it"
            )
        names = [row.name for row in self.experiment.rows]
        unknown = [name for name in settings.rows if name not in names]
        if unknown:
            raise InputError(f"--rows: {self.experiment.name} has no row {unknown[0]!r}; it has {', '.join(names)}")
        digests = {path: digest_of_named(path, where) for path, where in named_paths(self.experiment).items()}
        data = {path: Given(path, digest) for path, digest in digests.items() if digest is not None}
        for task in self.experiment.tasks:
            check_splits(task, self.experiment.name)
        self.units = make_units(self.experiment, self._corpus(), data)

    @property
    def chosen(self) -> list[Unit]:
        """The units of --rows."""
        return [unit for unit in self.units if not self._settings.rows or unit.row.name in self._settings.rows]

    @property
    def share(self) -> list[Unit]:
        """The units that this task does: every --num_tasks'th of those of --rows."""
        return self.chosen[self._settings.task_index :: self._settings.num_tasks]

    def describe(self) -> str:
        """The grid, the steps that are left, and how long they will take."""
        experiment = self.experiment
        lines = [f"{experiment.name}: {experiment.question}", ""]
        for unit in self.share:
            left = self._left([unit])
            state = "done" if not left else f"{len(left)} steps left: {_count(left)}"
            lines.append(f"{unit.row.name}, seed {unit.seed}, {unit.row.num_train_steps:,} training steps: {state}")
        left = self._left(self.share)
        seconds, unknown = estimate_seconds(left, finished_notes(self.output_dir))
        lines += ["", f"{len(left)} steps left in all: {_count(left)}" if left else "nothing is left to do"]
        if left:
            known = f"about {duration(seconds)} by the steps that are finished" if seconds else "not known yet"
            rest = f"; without {', '.join(sorted(unknown))}, of which none is finished" if unknown and seconds else ""
            lines.append(f"time, one step after the other: {known}{rest}")
        return "\n".join(lines)

    def run(self) -> str:
        """Does the steps of its share, and, when all rows are there, makes table, picture and page.

        Returns:
            the table as Markdown, or, where rows of other tasks are not there yet, a line about that.

        Raises:
            InputError: a row of its share failed; the others are done, and the table has them.
            RunStopped: a signal came.
        """
        names: dict[str, str] = {}
        for unit in self.share:
            names = {**unit.names(), **names}
        with StopSignals("after the step under way") as signals:
            runner = Runner(self.output_dir, signals, names)
            # All records first: of text that cannot be used one hears before hours of training.
            failed = runner.run(distinct(step for unit in self.share for step in unit.steps() if step.kind in _OF_TEXT))
            units = [unit for unit in self.share if not any(step.key in failed for step in unit.steps())]
            runner.run(distinct(step for unit in units for step in unit.steps()))
        failures = self._failures(self.chosen)
        left = [unit.row.name for unit in self.chosen if self._left([unit]) and unit.row.name not in failures]
        if left:
            text = f"rows of other tasks are not finished ({', '.join(dict.fromkeys(left))}); the last makes the table"
        else:
            text = self._write(failures)
        failures = {unit.row.name: failures[unit.row.name] for unit in self.share if unit.row.name in failures}
        if failures:
            told = "; ".join(f"row {name}: {reason}" for name, reason in failures.items())
            raise InputError(f"{self.experiment.name}: {told}")
        return text

    def _write(self, failures: Mapping[str, str]) -> str:
        """Writes table, picture and page of the rows whose seeds are all finished; returns the table."""
        unfinished = {unit.row.name for unit in self.units if self._left([unit])}
        finished = [unit for unit in self.units if unit.row.name not in unfinished]
        # What a trial comes to takes nothing's place.
        trial = "" if self._settings.num_train_steps is None else _TRIAL
        folder = os.path.join(self.output_dir, self.experiment.name + trial)
        if not finished:
            earlier = os.path.join(folder, PAGE_NAME)
            return "no row is finished" + (f"; {earlier} is of an earlier run" if os.path.exists(earlier) else "")
        table = make_table(self.experiment, finished, self.output_dir)
        for warning in (warning for row in table.rows for warning in row.warnings):
            logging.warning("%s", warning)
        picture: str | None = None
        try:
            # A row may have no figure: without a sentence task it has no score of one.
            if any(row.cells for row in table.rows):
                draw_table(table, os.path.join(folder, PICTURE_NAME), self.experiment.question)
                picture = PICTURE_NAME
        except InputError as error:
            logging.warning("no picture: %s", error)
        left_out = [row.name for row in self.experiment.rows if row.name in unfinished and row.name not in failures]
        findings = find(
            self.experiment, table, finished, failures, self.output_dir, folder, left_out, is_trial=bool(trial)
        )
        write_findings(findings, folder)
        page = make_page(findings, picture)
        for name, text in ((TABLE_NAME, table.to_markdown()), (PAGE_NAME, page)):
            with files.replace_file(os.path.join(folder, name)) as file:
                file.write(text.encode())
        logging.info("%s", os.path.join(folder, PAGE_NAME))
        return table.to_markdown()

    def _left(self, units: Sequence[Unit]) -> list[Step]:
        steps = distinct(step for unit in units for step in unit.steps())
        return [step for step in steps if step.done(self.output_dir) is None]

    def _failures(self, units: Sequence[Unit]) -> dict[str, str]:
        """Why rows failed when they were last tried, by this task or another; the first reason of each."""
        found: dict[str, str] = {}
        for unit in units:
            for step in self._left([unit]):
                reason = step.failure(self.output_dir)
                if reason is not None:
                    found.setdefault(unit.row.name, reason)
        return found

    def _corpus(self) -> Corpus:
        """The text, split if need be, and the vocabulary."""
        settings = self._settings
        text = read_text(str(settings.input_file))
        vocabulary = str(settings.spm_model_file)
        vocab_size = make_tokenizer(vocabulary).vocab_size
        train: Given = text
        if settings.held_out_file is not None:
            held_out: Given = (evaluated := read_text(str(settings.held_out_file), "held_out_file"))
            check_held_out(text, evaluated.files, "--input_file")
        else:
            evaluated, paths = text, files.list_files(text.path)
            self._check_split(paths)
            key = hashlib.sha256(f"{text.digest} {settings.held_out_every}".encode()).hexdigest()[:_KEY_DIGITS]
            folder = os.path.join(self.output_dir, STEPS_FOLDER, f"text-{key}")
            parts = {name: os.path.join(folder, name) for name in (TRAIN, HELD_OUT)}
            if not all(map(os.path.exists, parts.values())) and not settings.dry_run:
                split_documents(paths, settings.held_out_every, folder)
            train, held_out = (Given(path, f"{key} {name}") for name, path in parts.items())
        return Corpus(train, held_out, Given(vocabulary, digest_of_files([vocabulary])), vocab_size, evaluated.files)

    def _check_split(self, text: list[str]) -> None:
        """Sees that the text can be split at its blank lines, which is how every row reads it."""
        for row in self.experiment.rows:
            other = [name for name, values in _OTHER_DOCUMENTS.items() if row.records.get(name) in values]
            if other:
                raise InputError(
                    f"{self.experiment.name}: row {row.name}: {RECORDS}: {other[0]}={row.records[other[0]]}: "
                    "--held_out_every splits the text at blank lines, which end no document there; give "
                    "--held_out_file"
                )
        check_documents(text, self._settings.held_out_every)


def _count(steps: Sequence[Step]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in Counter(step.kind for step in steps).items())
