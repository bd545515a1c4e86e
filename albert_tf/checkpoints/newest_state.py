"""State and config in a run's newest readable checkpoint: choices a run made once, and keeps when it is resumed."""

from collections.abc import Callable
from typing import TypeVar

from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder, read_config, read_state
from albert_tf.config import AlbertConfig
from albert_tf.runtime.errors import InputError

_Part = TypeVar("_Part")


def newest_state(output_dir: str) -> TrainingState | None:
    """The state in the newest checkpoint of a run; None if there is none that can be read.

    A damaged one is passed over, as it is when the run is restored.
    """
    return _newest(output_dir, read_state)


def newest_config(output_dir: str) -> AlbertConfig | None:
    """The config in the newest checkpoint of a run, likewise."""
    return _newest(output_dir, read_config)


def _newest(output_dir: str, read: Callable[[str], _Part]) -> _Part | None:
    for folder in reversed(CheckpointFolder(output_dir).all()):
        try:
            return read(folder)
        except InputError:
            continue
    return None
