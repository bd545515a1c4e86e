"""The folder of a run as it is found: finished, going on, just begun, damaged. What cannot be read is a note."""

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from albert_tf.analysis.training_log import LOG_NAME, Curves, read_log
from albert_tf.checkpoints.checkpoint_evaluation import is_evaluation_damaged, read_evaluation, score_of
from albert_tf.checkpoints.checkpoint_state import FOLDER_NAME, TrainingState, is_complete, read_stored_state
from albert_tf.config import AlbertConfig
from albert_tf.reports.run_settings import RunSettings, read_settings
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.run_names import name_runs

PRETRAINING, FINETUNING = "run_pretraining", "run_finetuning"
EMBEDDING, DISTILLATION = OF_VECTORS = "train_embeddings", "distil_vectors"
_COMMANDS = (PRETRAINING, FINETUNING, *OF_VECTORS)
_WANTED = (
    "--output_dir of run_pretraining, run_finetuning, train_embeddings or distil_vectors is wanted, or the folder of "
    "an experiment in that of run_experiments"
)
_CONFIG_NAME, _RESULTS_NAME, _LOCK_NAME = "albert_config.json", "results.json", "run.lock"
_REPORT_ENDING, _STOP_PREFIX = "_report.json", "nonfinite-"
# The folder of one run of several: "seed-1", "rate-1e-05-seed-1", "seed-1-fold-2-of-5".
MEMBER_NAME = re.compile(r"(?:rate-(?P<rate>.+)-)?seed-(?P<seed>\d+)(?:-fold-(?P<fold>\d+)(?:-of-(?P<of>\d+))?)?")
# What the results of a fine-tuning have, and those of vectors that were judged.
_RESULTS = frozenset(("task_name", "metric"))
_Value = TypeVar("_Value")


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint of a run.

    Attributes:
        path: its folder.
        step: by the folder's name.
        evaluation: what was found of it on held-out data; None if nothing, or nothing that can be read.
        state: checkpoint.json; None if it is damaged.
    """

    path: str
    step: int
    evaluation: Mapping[str, Any] | None
    state: TrainingState | None


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """All that there is of a run.

    Attributes:
        path: the folder.
        name: its name, short.
        command: PRETRAINING, FINETUNING or one OF_VECTORS; "" if nothing tells.
        settings: the flags; None without a flag file.
        config: of the model, or None.
        curves: the log; of a run that has not logged anything, empty ones.
        checkpoints: oldest first.
        results: results.json of a fine-tuning or a training of vectors, or {}.
        reports: {split: its report} of a fine-tuning.
        stops: nonfinite-*.json, {name: contents}.
        members: the runs of a fine-tuning with several seeds, rates or folds.
        is_locked: whether run.lock is there.
        notes: what is missing or cannot be read, a sentence each.
    """

    path: str
    name: str
    command: str
    settings: RunSettings | None
    config: AlbertConfig | None
    curves: Curves
    checkpoints: tuple[Checkpoint, ...]
    results: Mapping[str, Any]
    reports: Mapping[str, Mapping[str, Any]]
    stops: Mapping[str, Mapping[str, Any]]
    members: tuple["RunFolder", ...]
    is_locked: bool
    notes: tuple[str, ...]

    @property
    def best(self) -> Checkpoint | None:
        """The checkpoint with the highest score; the earlier one of equals."""
        evaluated = [one for one in self.checkpoints if one.evaluation is not None]
        return max(evaluated, key=lambda one: score_of(one.evaluation or {}), default=None)

    @property
    def planned_steps(self) -> int | None:
        """The steps that the run was to take, where they are known."""
        planned = [one.state.planned_steps for one in self.checkpoints if one.state and one.state.planned_steps]
        if planned:
            return planned[-1]
        given = self.settings.value("num_train_steps") if self.settings else None
        budget = self.settings.value("train_minutes") if self.settings else None
        return given if budget is None else None

    @property
    def features_folder(self) -> str:
        """The folder that keeps the features of its splits, if any; one of several runs shares those of all."""
        given = self.settings.value("cache_dir") if self.settings else None
        member = MEMBER_NAME.fullmatch(os.path.basename(self.path))
        return given or os.path.join(os.path.dirname(self.path) if member else self.path, "features")

    @property
    def last_step(self) -> int:
        """The last step that the log or a checkpoint tells of."""
        logged = [steps[-1] for steps, _ in self.curves.train.values() if steps]
        return max([*logged, *(one.step for one in self.checkpoints)], default=0)


def read_run(path: str, name: str = "") -> RunFolder:
    """Reads the folder of a run.

    Args:
        path: --output_dir of a command that trains.
        name: what to call it; the folder's own name if left out.

    Raises:
        InputError: no such folder, or nothing in it that a run leaves.
    """
    names = _names_in(path)
    notes: list[str] = []
    command = next((one for one in _COMMANDS if f"{one}.flags" in names), "")
    checkpoints = tuple(_read_checkpoints(path, names, notes))
    curves = _read_curves(path, names, name or _name_of(path), notes)
    members = tuple(read_run(os.path.join(path, one), one) for one in names if _is_member(path, one))
    results = _read_object(path, _RESULTS_NAME, names, notes)
    if not (command or checkpoints or members or LOG_NAME in names or _RESULTS.intersection(results)):
        raise InputError(f"{path}: no run in it; {_WANTED}")
    command = command or _guess_command(checkpoints, curves, results, bool(members))
    settings = None
    if f"{command}.flags" in names:
        settings = _tried(lambda: read_settings(os.path.join(path, f"{command}.flags"), command), notes)
        if settings and not any(one.is_given for one in settings.settings):
            settings = None
            notes.append(f"{command}.flags is empty: the settings are not known.")
    elif not members:
        notes.append(f"{command or 'run'}.flags is not there: the settings are not known.")
    stops = {one: _read_object(path, one, names, notes) for one in names if one.startswith(_STOP_PREFIX)}
    endings = [one for one in names if one.endswith(_REPORT_ENDING)]
    return RunFolder(
        path=path,
        name=curves.name,
        command=command,
        settings=settings if settings or not members else members[0].settings,
        config=_read_config(path, names, members, notes),
        curves=curves,
        checkpoints=checkpoints,
        results=results,
        reports={one.removesuffix(_REPORT_ENDING): _read_object(path, one, names, notes) for one in endings},
        stops=stops,
        members=members,
        is_locked=_LOCK_NAME in names,
        notes=tuple(_sentences(notes)),
    )


def _guess_command(checkpoints: tuple[Checkpoint, ...], curves: Curves, results: Mapping[str, Any], has_members: bool):
    """The command of a run without a flag file; "" if nothing tells."""
    states = [one.state for one in checkpoints if one.state]
    if has_members or "task_name" in results or any(state.task for state in states):
        return FINETUNING
    if any(state.pooling for state in states) or "metric" in results:
        return DISTILLATION if "relation" in curves.train else EMBEDDING
    return FINETUNING if results else PRETRAINING if "masked_lm_loss" in curves.train else ""


def _name_of(path: str) -> str:
    return name_runs([path])[0] if path.strip("/.") else path


def _names_in(path: str) -> list[str]:
    if not files.exists(path):
        raise InputError(f"{path}: no such folder; {_WANTED}")
    if not files.is_remote(path) and not os.path.isdir(path):
        raise InputError(f"{path} is no folder; {_WANTED}")
    return files.list_folder(path)


def _is_member(path: str, name: str) -> bool:
    return MEMBER_NAME.fullmatch(name) is not None and files.exists(os.path.join(path, name, f"{FINETUNING}.flags"))


def _read_checkpoints(path: str, names: list[str], notes: list[str]):
    found = []
    for name in names:
        folder, matched = os.path.join(path, name), FOLDER_NAME.fullmatch(name)
        if not matched:
            continue
        if not is_complete(folder):
            notes.append(f"{name} is not complete: it was cut off while it was written.")
            continue
        stored = _tried(lambda where=folder: read_stored_state(where), notes)
        if is_evaluation_damaged(folder):
            notes.append(f"{name}/evaluation.json is damaged, and left out of account.")
            evaluation = None
        else:
            evaluation = read_evaluation(folder)
        found.append(Checkpoint(folder, int(matched[1]), evaluation, stored.state if stored else None))
    return sorted(found, key=lambda one: one.step)


def _read_curves(path: str, names: list[str], name: str, notes: list[str]) -> Curves:
    if LOG_NAME not in names:
        if not any(_is_member(path, one) for one in names):
            notes.append(f"{LOG_NAME} is not there: no step was reported yet, or the log is lost.")
        return Curves(name, {}, {})
    return read_log(path, name, notes)


def _read_config(path: str, names: list[str], members, notes: list[str]) -> AlbertConfig | None:
    if _CONFIG_NAME in names:
        return _tried(lambda: AlbertConfig.from_json_file(os.path.join(path, _CONFIG_NAME)), notes)
    return next((member.config for member in members if member.config), None)


def _read_object(path: str, name: str, names: list[str], notes: list[str]) -> Mapping[str, Any]:
    if name not in names:
        return {}
    return _tried(lambda: files.read_json(os.path.join(path, name)), notes) or {}


def _tried(read: Callable[[], _Value], notes: list[str]) -> _Value | None:
    """Reads something; where it cannot be read, gives None and a note."""
    try:
        return read()
    except (InputError, OSError) as error:
        notes.append(reason_of(error))
    return None


def reason_of(error: InputError | OSError) -> str:
    """The reason of an error, for a note."""
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)


def _sentences(notes: list[str]) -> list[str]:
    return [note if note.endswith(".") else f"{note}." for note in dict.fromkeys(notes)]
