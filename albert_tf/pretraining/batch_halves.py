"""The choice to compute the two halves of a batch side by side, with one thread for an operation."""

import dataclasses
import os
from typing import Any

from absl import logging

from albert_tf.checkpoints.checkpoint_state import FOLDER_NAME, is_complete, read_stored_state
from albert_tf.config import AlbertConfig
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.operation_threads import MOST_CORES, usual_threads
from albert_tf.runtime.settings import StrPath
from albert_tf.runtime.worker_pool import count_cores
from albert_tf.training.settings import AUTO

# Positions of a batch; of fewer it was not measured that halves are faster.
SMALLEST_BATCH = 1024


def threads_of_steps(settings: PretrainingSettings) -> int | None:
    """The threads that an operation of a run is to have, for a process whose TensorFlow has not begun.

    Returns:
        1 where halves are computed side by side on two cores; None leaves it to TensorFlow, as for what lies on other
        machines, which is read by it.

    Raises:
        InputError: there is no such config.
    """
    asked, output_dir, config_file = settings.batch_halves, settings.output_dir, settings.albert_config_file
    if count_cores() != MOST_CORES or "TF_CONFIG" in os.environ or settings.tpu is not None:
        return None
    if asked == "true":
        return usual_threads([0])
    if asked == "false" or any(files.is_remote(os.fspath(path)) for path in (output_dir, config_file)):
        return None
    before = _had_halves(output_dir)
    if not _can_be_computed(settings, 1) or not (_is_large(settings) if before is None else before):
        return None
    return usual_threads([AlbertConfig.from_json_file(config_file).hidden_size])


def choose_batch_halves(settings: PretrainingSettings, strategy: Any) -> PretrainingSettings:
    """The settings with "true" or "false" in the place of --batch_halves=auto.

    A run that is resumed does as it began, so that it ends with the same weights.

    Args:
        settings: of the run.
        strategy: its devices.

    Raises:
        InputError: halves are asked for, and a replica's share of a batch has none, or they are computed by JAX.
    """
    from albert_tf.training.strategy import runs_on_jax

    replicas = strategy.num_replicas_in_sync
    if settings.batch_halves == "true":
        if runs_on_jax():
            raise FlagError("--batch_halves=true is for --backend=tensorflow; Keras runs on JAX here")
        if not _can_be_computed(settings, replicas):
            raise InputError(
                f"--batch_halves: the {replicas} replicas that share a batch have no halves of it; give a "
                f"--train_batch_size whose batches are multiples of {2 * replicas}"
            )
    if settings.batch_halves != AUTO:
        return settings
    before = _had_halves(settings.output_dir)
    wanted = _are_faster(settings, strategy) if before is None else before
    chosen = wanted and _can_be_computed(settings, replicas) and not runs_on_jax()
    if chosen:
        logging.info("--batch_halves=auto: the two halves of a batch are computed side by side")
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


def _can_be_computed(settings: PretrainingSettings, replicas: int) -> bool:
    one_pass = settings.gradient_accumulation_steps == 1 and settings.jit_compile != "true"
    even = all(stage.batch_size % (2 * replicas) == 0 for stage in settings.stages)
    return one_pass and settings.backend != "jax" and even


def _is_large(settings: PretrainingSettings) -> bool:
    lengths = [stage.reading.seq_length or settings.max_seq_length for stage in settings.stages]
    sizes = [stage.batch_size * length for stage, length in zip(settings.stages, lengths, strict=True)]
    return min(sizes) >= SMALLEST_BATCH


def _are_faster(settings: PretrainingSettings, strategy: Any) -> bool:
    from albert_tf.training.machine import leaves_a_core_free

    return _is_large(settings) and leaves_a_core_free(strategy)
