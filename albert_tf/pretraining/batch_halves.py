"""The choice to compute the two halves of a batch side by side, each operation by one thread."""

import dataclasses
import os
from typing import Any

from absl import logging

from albert_tf.checkpoints.checkpoint_state import FOLDER_NAME, is_complete, read_stored_state
from albert_tf.config import AlbertConfig
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.operation_threads import MOST_CORES, usual_threads
from albert_tf.runtime.settings import StrPath
from albert_tf.runtime.worker_pool import count_cores
from albert_tf.training.settings import AUTO

# Positions of a batch; of fewer it was not measured that halves are faster.
SMALLEST_BATCH = 1024


def threads_of_steps(asked: str, config_file: StrPath, output_dir: StrPath) -> int | None:
    """The threads that an operation of a run is to have, for a process whose TensorFlow has not begun.

    Args:
        asked: the value of --batch_halves.
        config_file: the model's shape.
        output_dir: of the run, which may have begun without halves.

    Returns:
        1 for halves side by side; None leaves it to TensorFlow.

    Raises:
        InputError: there is no such config.
    """
    if count_cores() != MOST_CORES or asked == "false":
        return None
    if asked == AUTO and _had_halves(output_dir) is False:
        return None
    return usual_threads([AlbertConfig.from_json_file(config_file).hidden_size if asked == AUTO else 0])


def choose_batch_halves(settings: PretrainingSettings, strategy: Any) -> PretrainingSettings:
    """The settings with "true" or "false" in the place of --batch_halves=auto.

    A run that is resumed does as it began, so that it ends with the same weights.

    Args:
        settings: of the run.
        strategy: its devices.
    """
    if settings.batch_halves != AUTO:
        return settings
    before = _had_halves(settings.output_dir)
    chosen = _can_be_computed(settings) and (_are_faster(settings, strategy) if before is None else before)
    if chosen:
        logging.info("--batch_halves=auto: the halves of a batch side by side, each operation by one thread")
    return dataclasses.replace(settings, batch_halves="true" if chosen else "false")


def _had_halves(output_dir: StrPath) -> bool | None:
    """Reads it from the newest checkpoint of a run, without TensorFlow; None of a new run."""
    for name in sorted(files.list_folder(os.fspath(output_dir)), reverse=True):
        folder = os.path.join(output_dir, name)
        try:
            if FOLDER_NAME.fullmatch(name) and is_complete(folder):
                return read_stored_state(folder).state.batch_halves
        except InputError:
            # Damaged; whoever restores the run passes it over too.
            continue
    return None


def _can_be_computed(settings: PretrainingSettings) -> bool:
    one_pass = settings.gradient_accumulation_steps == 1 and settings.jit_compile != "true"
    return one_pass and settings.backend != "jax" and all(stage.batch_size % 2 == 0 for stage in settings.stages)


def _are_faster(settings: PretrainingSettings, strategy: Any) -> bool:
    from albert_tf.training.machine import leaves_a_core_free

    lengths = [stage.reading.seq_length or settings.max_seq_length for stage in settings.stages]
    sizes = [stage.batch_size * length for stage, length in zip(settings.stages, lengths, strict=True)]
    return min(sizes) >= SMALLEST_BATCH and leaves_a_core_free(strategy)
