"""Settings of run_experiments."""

import dataclasses
import os
from typing import Annotated

from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.settings import Bounds, Count, CountOrNone, OnlyWith, StrPath, check, described


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class ExperimentSettings:
    """Settings of an experiment's run; their names are those of the flags of run_experiments."""

    experiment: Annotated[StrPath, "The experiment: a JSON file, or the name of a shipped one."]
    input_file: Annotated[
        StrPath, "Text, a sentence a line, a blank line between documents: comma-separated paths and globs."
    ]
    spm_model_file: Annotated[StrPath, "The vocabulary (.model of sentencepiece, or vocab.txt of WordPiece)."]
    output_dir: Annotated[
        StrPath, "Where steps, logs, table, picture and page go; experiments that share a folder share steps."
    ]
    held_out_file: Annotated[StrPath | None, "Text to evaluate on, of the same form; left out: see the next."] = None
    held_out_every: Annotated[
        int,
        Bounds(2),
        OnlyWith("held_out_file", None),
        "Without --held_out_file: every how manyth document of --input_file is held out.",
    ] = 20
    rows: Annotated[tuple[str, ...], "Rows to do, comma-separated; left out: all."] = ()
    tasks_file: Annotated[
        StrPath | None, "Tasks to fine-tune every row on, beside the experiment's: a JSON list, as its key tasks has."
    ] = None
    num_seeds: Annotated[
        int | None, Bounds(1, 1000), "Seeds of pre-training: so many, the experiment's own first, then those above."
    ] = None
    num_train_steps: Annotated[Count | None, "Steps of every row in place of the budget, for a trial."] = None
    task_index: Annotated[CountOrNone, "Which of --num_tasks runs this is, from 0: they share the rows."] = 0
    num_tasks: Annotated[Count, "How many runs of the same command share the rows, here or on several machines."] = 1
    dry_run: Annotated[bool, "Print the grid, the steps that are left and how long they will take, and stop."] = False

    def __post_init__(self) -> None:
        check(self)
        if self.task_index >= self.num_tasks:
            raise FlagError(
                f"--task_index must be from 0 to --num_tasks - 1; received {self.task_index} and {self.num_tasks}"
            )
        if self.tasks_file is not None and not str(self.tasks_file):
            raise FlagError("--tasks_file names no file; leave it out if there are no more tasks")
        if "," in str(self.output_dir):
            raise FlagError(f"--output_dir={self.output_dir}: a comma separates paths; give a folder without one")
        if os.path.exists(self.output_dir) and not os.path.isdir(self.output_dir):
            raise InputError(f"--output_dir={self.output_dir} is no folder")
        if files.is_remote(str(self.output_dir)):
            raise FlagError(f"--output_dir={self.output_dir}: steps need a folder of this machine or of a network disk")
