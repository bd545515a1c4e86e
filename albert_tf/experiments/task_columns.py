"""The tasks that the rows of an experiment are fine-tuned on, each a column of its table."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from albert_tf.experiments.command_lines import FINETUNING, check_flags
from albert_tf.experiments.fields import as_entries, as_object, as_path, as_seeds, as_text, read_values
from albert_tf.experiments.row import flags_of
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.settings import fields_of
from albert_tf.tasks.registry import TASK_NAMES, TaskOptions, make_task

_KEYS = ("task_name", "name", "data_dir", "flags", "seeds")
_DEFAULT_SEED = FinetuningSettings.random_seed


@dataclasses.dataclass(frozen=True)
class TaskColumn:
    """A task that every row is fine-tuned on: run_finetuning's --task_name and --data_dir, more flags, the seeds."""

    name: str
    task_name: str
    data_dir: str | None
    flags: Mapping[str, Any]
    seeds: tuple[int, ...]


def read_tasks(values: Any, where: str, more_file: str | None = None) -> tuple[TaskColumn, ...]:
    """Reads and checks the tasks of an experiment.

    Args:
        values: the list of them in its file.
        where: they stand, for errors.
        more_file: a JSON file with a list of more.

    Raises:
        InputError: one line that names the file, the task and the key.
    """
    tasks = _as_columns(values, where)
    if more_file is not None:
        try:
            tasks += _as_columns(read_values(more_file), more_file)
        except FileNotFoundError:
            raise InputError(f"{more_file}: no such file") from None
        where = more_file
    names = [task.name for task in tasks]
    if len(set(names)) < len(names):
        raise InputError(f"{where}: two tasks have one name; give each a name of its own")
    return tuple(tasks)


def check_splits(task: TaskColumn, where: str) -> None:
    """Sees that a task has what it is trained on and scored by.

    Raises:
        InputError: one line that names the place, the task and the file.
    """
    flags = check_flags(FINETUNING, task.flags, where)
    given = {name: flags[name] for name in fields_of(TaskOptions) if name in flags}
    try:
        made = make_task(task.task_name, task.data_dir, TaskOptions(**given))
        for kind in ("train", "dev"):
            if not any(name.split("_")[0] == kind for name in made.splits()):
                made.input_files(kind)
                raise InputError(f"there is no {kind} split")
    except InputError as error:
        raise InputError(f"{where}: task {task.name}: {error}") from None


def _as_columns(values: Any, where: str) -> list[TaskColumn]:
    tasks = []
    for here, entry in as_entries(values, "tasks", _KEYS, ("task_name",), where):
        if entry["task_name"] not in TASK_NAMES:
            raise InputError(f"{here}: task_name must be one of {', '.join(TASK_NAMES)}")
        flags = _flags_of_task(entry.get("flags", {}), here)
        folder = entry.get("data_dir")
        seeds = as_seeds(entry.get("seeds", [_DEFAULT_SEED]), f"{here}: seeds")
        name = as_text(entry.get("name", entry["task_name"]), f"{here}: name")
        folder = None if folder is None else as_path(folder, f"{here}: data_dir")
        tasks.append(TaskColumn(name, entry["task_name"], folder, flags, seeds))
    return tasks


def _flags_of_task(values: Any, where: str) -> Mapping[str, Any]:
    """The flags of a task, which is fine-tuned once for each of its seeds."""
    values = flags_of(FINETUNING, as_object(values, f"{where}: flags"), where)
    # The flag's parser makes a number of one rate, and a text of several.
    if isinstance(check_flags(FINETUNING, values, where).get("learning_rate"), str):
        raise InputError(
            f"{where}: {FINETUNING}: 'learning_rate' must be one rate, for one run of each seed; "
            f"make a task of each rate. Received {values['learning_rate']!r}."
        )
    return values
