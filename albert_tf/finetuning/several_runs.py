"""The runs of a command that asks for several: one for each learning rate, seed and fold, each in a folder of its own.

A run that is done, under the same flags and of the same data, is not done again: a command that was cut off goes on
where it was, and more seeds or rates join those that are there. Its results say by a digest of the flags and the data
what they are the results of, its checkpoints by one of the weights that it started from.
"""

import collections
import dataclasses
import hashlib
import itertools
import os
from collections.abc import Callable
from typing import Any

import keras
from absl import logging

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.newest_state import newest_state
from albert_tf.finetuning.data import FinetuningData
from albert_tf.finetuning.ensemble import has_outputs, score_ensemble
from albert_tf.finetuning.folds import FoldData
from albert_tf.finetuning.model_source import describe_origins
from albert_tf.finetuning.run import RESULTS_NAME
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.finetuning.summary import summarise
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.training.session import Session

# Runs one, of its settings and the data, and returns its results.
RunOne = Callable[[FinetuningSettings, FinetuningData], dict[str, Any]]
# Flags that say how many runs there are, which is nothing to any one of them.
_OF_ALL = ("learning_rate", "num_seeds", "num_folds", "random_seed", "restart_failed_seeds")
# Of the results of several: either of these keys holds those of each.
_SUMMARY_KEYS = frozenset(("seeds", "runs"))
# The flags of which fields of TrainingState say what lay there.
_ORIGINS = {"init_sha256": "init_checkpoint", "teacher_files": "teacher"}
# Of a run's results: the key of the member that they are of.
_RUN_KEY = "run_key"


@dataclasses.dataclass(frozen=True)
class Member:
    """One of several runs.

    Attributes:
        settings: its own: output_dir, seed, rate, flags.
        fold: the part of the training split that is its dev split, from 0; None without folds.
        told: entries of its results beside those of any run: what tells it from the others.
        key: a digest of the flags, or without any of the settings, that decide its results.
    """

    settings: FinetuningSettings
    fold: int | None
    told: dict[str, Any]
    key: str


def plan_members(settings: FinetuningSettings) -> list[Member]:
    """The runs that the settings ask for, in their order: rate by rate, seed by seed, fold by fold."""
    seeds = range(settings.random_seed, settings.random_seed + settings.num_seeds)
    return [
        _make_member(settings, rate, seed, fold)
        for rate in settings.rates
        for seed in seeds
        for fold in range(settings.num_folds)
    ]


def _make_member(settings: FinetuningSettings, rate: float, seed: int, fold: int) -> Member:
    several_rates, several_folds = len(settings.rates) > 1, settings.num_folds > 1
    told = {"learning_rate": rate} if several_rates else {}
    told |= {"fold": fold + 1} if several_folds else {}
    own = {"learning_rate": rate, "random_seed": seed}
    kept = [line for line in settings.with_flags().resolved_flags.splitlines() if _flag_of(line) not in _OF_ALL]
    given = {**own, "num_folds": settings.num_folds, "fold": fold + 1} if several_folds else own
    lines = [f"--{key}={value}" for key, value in given.items()]
    changes: dict[str, Any] = dict.fromkeys(("num_seeds", "num_folds"), 1) | own
    changes |= {"learning_rates": None, "restart_failed_seeds": 0}
    changes |= {"output_dir": settings.run_folder(rate, seed, fold)}
    changes |= {"resolved_flags": "".join(f"{line}\n" for line in (*kept, *lines))}
    own_settings = dataclasses.replace(settings, **changes)
    said = own_settings.resolved_flags
    if not settings.resolved_flags:
        # In Python no flags are given: the settings have to say it all, but for the folder, which may be moved.
        own_lines = "".join(f"{line}\n" for line in lines)
        said = own_lines + repr(dataclasses.replace(own_settings, output_dir="", resolved_flags=""))
    key = hashlib.sha256(said.encode()).hexdigest()
    return Member(own_settings, fold if several_folds else None, told, key)


def _flag_of(line: str) -> str:
    return line.lstrip("-").partition("=")[0]


def check_output_dir(settings: FinetuningSettings) -> None:
    """Refuses an output_dir with a single run where several are asked for, or the other way round.

    Whoever opens the folder would find the one and not the others.

    Raises:
        InputError: there is.
    """
    folder, results = os.fspath(settings.output_dir), os.path.join(settings.output_dir, RESULTS_NAME)
    if settings.run_folders != (folder,):
        if run_checkpoints.CheckpointFolder(folder).all():
            raise InputError(f"--output_dir: {folder} holds a single run; name another folder for several")
    elif files.exists(results) and not _SUMMARY_KEYS.isdisjoint(files.read_json(results)):
        raise InputError(f"--output_dir: {folder} holds several runs; name another folder, or that of one of them")


def run_members(
    settings: FinetuningSettings,
    data: FinetuningData,
    session: Session,
    run_one: RunOne,
) -> dict[str, Any]:
    """Runs all that are not done, and writes what they come to.

    Args:
        settings: of the command.
        data: that all runs share.
        session: the devices.
        run_one: runs one.

    Raises:
        FlagError: folds are asked for, and there is a dev split.
    """
    if settings.num_folds > 1 and data.names("dev"):
        raise FlagError(
            f"--num_folds makes dev splits of the training split; --task_name={settings.task_name} has one: "
            f"{', '.join(data.task.input_files(data.names('dev')[0]))}; leave the flag out"
        )
    found, folders = [], []
    # Seeds that no other run has, of each rate and fold: they take the place of those that failed, each only once.
    first_spare = settings.random_seed + settings.num_seeds
    spare: dict[Any, Any] = collections.defaultdict(lambda: itertools.count(first_spare))
    for member in plan_members(settings):
        failed, results = 0, _run_member(settings, data, session, run_one, member)
        while results.get("stuck") and failed < settings.restart_failed_seeds:
            rate, fold = member.settings.learning_rate, member.fold
            member = _make_member(settings, rate, next(spare[rate, fold]), fold or 0)
            failed += 1
            logging.warning("it is left out; the run goes on with --random_seed=%d", member.settings.random_seed)
            results = _run_member(settings, data, session, run_one, member)
        found.append(results | member.told | ({"restarts": failed} if failed else {}))
        folders.append(member.settings.output_dir)
    summary = summarise(found, data.task.metric)
    if settings.ensemble:
        summary["ensemble"] = score_ensemble(settings, data, session.cluster, folders)
    if session.cluster.is_chief:
        files.write_json(os.path.join(settings.output_dir, RESULTS_NAME), summary)
    return summary


def _run_member(
    settings: FinetuningSettings, data: FinetuningData, session: Session, run_one: RunOne, member: Member
) -> dict[str, Any]:
    """The results of a run, which may be there already."""
    if settings.do_train:
        _check_origins(member.settings)
    folder = member.settings.output_dir
    path = os.path.join(folder, RESULTS_NAME)
    results = files.read_json(path) if files.exists(path) else {}
    key, wanted = results.pop(_RUN_KEY, None), hashlib.sha256(f"{member.key} {data.digest}".encode()).hexdigest()
    if key == wanted and (not settings.ensemble or has_outputs(folder)):
        logging.info("%s is done already: %s", os.path.basename(folder), path)
        return results
    keras.backend.clear_session()
    of_member = data if member.fold is None else FoldData(data, member.fold)
    with session.hold(folder):
        if key is not None and session.cluster.is_chief:
            # From here on the folder changes: what lies in it are no longer the results of any one run.
            files.write_json(path, results)
        results = run_one(member.settings, of_member)
        if session.cluster.is_chief:
            files.write_json(path, results | {_RUN_KEY: wanted})
    return results


def _check_origins(settings: FinetuningSettings) -> None:
    """Sees that a run that is there was trained from the weights, and by the teacher, that are there now.

    It would go on with its own weights, and its scores would stand beside those of runs from others.

    Raises:
        InputError: it was trained from others.
    """
    folder = os.fspath(settings.output_dir)
    known = newest_state(folder)
    for field, now in describe_origins(settings).items() if known is not None else ():
        before, flag = getattr(known, field), _ORIGINS[field]
        path = getattr(settings, flag)
        if now and not before:
            logging.warning(
                "%s does not say what it was trained from, as runs of earlier versions do not: whether that lies at "
                "--%s=%s now is not known",
                *(folder, flag, path),
            )
        elif now and _contents(before) != _contents(now):
            raise InputError(
                f"{folder} was trained from other contents of --{flag} than lie at {path} now; name another "
                "--output_dir, or remove this folder to train it anew"
            )


def _contents(noted: Any) -> Any:
    """The contents that a note tells of; how files are called does not count."""
    return noted if isinstance(noted, str) else [file.get("sha256") for file in noted]
