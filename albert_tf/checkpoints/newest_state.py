"""The state in a run's newest readable checkpoint: choices that the run made once, and keeps when it is resumed."""

from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder, read_state
from albert_tf.runtime.errors import InputError


def newest_state(output_dir: str) -> TrainingState | None:
    """The state in the newest checkpoint of a run; None if there is none that can be read.

    A damaged one is passed over, as it is when the run is restored.
    """
    for folder in reversed(CheckpointFolder(output_dir).all()):
        try:
            return read_state(folder)
        except InputError:
            continue
    return None
