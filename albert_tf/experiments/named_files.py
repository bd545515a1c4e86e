"""The files and folders that an experiment names, by what is in them: of a checkpoint, by what is read of it."""

import glob
import hashlib
import os
from collections.abc import Sequence

from albert_tf.checkpoints.checkpoint_evaluation import read_evaluation, score_of
from albert_tf.checkpoints.checkpoint_state import FOLDER_NAME, is_complete
from albert_tf.runtime import files
from albert_tf.runtime.digests import digest_of_files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.tokenization.vocabulary_file import may_be_vocabulary

_CONFIG_ENDING, _LOCK_ENDING = "config.json", ".lock"


def digest_of_named(path: str, where: str) -> str | None:
    """A digest of what a path names: a file, a folder of data, a run, or a TensorFlow checkpoint by its prefix.

    Args:
        path: local, or a name such as hf://albert/albert-base-v2.
        where: what names it, for the error.

    Returns:
        the digest; None for a name such as hf://albert/albert-base-v2, whose contents are not here.

    Raises:
        InputError: there is nothing of that name.
    """
    if files.is_remote(path):
        return None
    if os.path.isfile(path):
        return digest_of_files([path])
    if not os.path.exists(path):
        # albert_base/model.ckpt-best stands for model.ckpt-best.index and others.
        parts = sorted(glob.glob(glob.escape(path) + ".*"))
        if not parts:
            raise InputError(f"{where}: there is no {path}; a path starts from the current folder")
        folder = os.path.dirname(path)
        return _digest_of_files(folder, [*parts, *_config_and_vocabularies(folder)])
    checkpoint = _checkpoint_of_run(path)
    if checkpoint is None:
        return _digest_of_files(path, _files_below(path))
    # A run that is reported on, or goes on without a better checkpoint, is the same to those who start from it.
    return _digest_of_files(checkpoint, [*_files_below(checkpoint), *_config_and_vocabularies(path)])


def _digest_of_files(folder: str, paths: Sequence[str]) -> str:
    contents = [(os.path.relpath(one, folder or "."), digest_of_files([one])) for one in paths]
    return hashlib.sha256(to_json(contents).encode()).hexdigest()


def _checkpoint_of_run(path: str) -> str | None:
    """The checkpoint that stands for a run: the best of those that were evaluated, else the newest; None without one.

    As CheckpointFolder.choose has it, which loads Keras; of a damaged one the command tells.
    """
    folders = [os.path.join(path, name) for name in os.listdir(path) if FOLDER_NAME.fullmatch(name)]
    complete = sorted(folder for folder in folders if is_complete(folder))
    scores = {folder: score_of(found) for folder in complete if (found := read_evaluation(folder)) is not None}
    return max(scores, key=scores.__getitem__) if scores else next(reversed(complete), None)


def _config_and_vocabularies(folder: str) -> list[str]:
    """The files in a folder, not below it, that say how its weights are used."""
    names = sorted(
        name for name in os.listdir(folder or ".") if name.endswith(_CONFIG_ENDING) or may_be_vocabulary(name)
    )
    return [path for name in names if os.path.isfile(path := os.path.join(folder, name))]


def _files_below(folder: str) -> list[str]:
    """All files in a folder, in order, links followed; without hidden ones and locks, which are nobody's data."""
    found, seen = [], set()
    for root, folders, names in os.walk(folder, followlinks=True):
        place = os.path.realpath(root)
        if place in seen:
            # A link to a folder above it.
            folders.clear()
            continue
        seen.add(place)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        shown = [name for name in names if not name.startswith(".") and not name.endswith(_LOCK_ENDING)]
        found += [os.path.join(root, name) for name in shown]
    return sorted(found)
