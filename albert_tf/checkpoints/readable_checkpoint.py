"""The checkpoint that a path means where its weights are read: of a run, none of which the tensors are damaged."""

from collections.abc import Callable
from typing import Any

from albert_tf.checkpoints.checkpoint_state import is_complete
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder, read_weights


def use_checkpoint(path: str, use: Callable[[str], Any]) -> Any:
    """Uses the checkpoint of the folder that is named, else of that run as CheckpointFolder.choose does."""
    return use(path) if is_complete(path) else CheckpointFolder(path).choose(use)


def find_readable_checkpoint(path: str) -> str | None:
    """The folder that `use_checkpoint` comes to with whoever reads the weights; that of a run is found by reading."""
    return path if is_complete(path) else CheckpointFolder(path).choose(_read)


def _read(folder: str) -> str:
    read_weights(folder)
    return folder
