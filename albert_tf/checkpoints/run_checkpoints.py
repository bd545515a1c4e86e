"""Checkpoints of a run: a folder for each, complete once its checkpoint.json is there.

    OUTPUT_DIR/checkpoint-00005000/
        model.index, model.data-…       the weights, by the names of models.named_weights
        optimizer.index, …              adam_m/NAME and adam_v/NAME of what is not frozen
        albert_config.json              the model's shape
        checkpoint.json                 step, position in the input, vocabulary, digests; written last
        evaluation.json                 what an evaluation of it found, if there was one

A folder without checkpoint.json was cut off while being written; it is never read, and removed by the next save. One in
which a bit has changed is damaged: it is never used, and where there is another one, that is.
"""

import errno
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from absl import logging

from albert_tf.checkpoints.checkpoint_evaluation import is_evaluation_damaged, read_evaluation, score_of
from albert_tf.checkpoints.checkpoint_files import check_files
from albert_tf.checkpoints.checkpoint_state import (
    FOLDER_NAME,
    NO_OPTIMIZER,
    TrainingState,
    is_complete,
    read_stored_state,
    remove_checkpoint,
    write_state,
)
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.model_agreement import check_same_model, tell_of_other_dropout
from albert_tf.checkpoints.optimizer_tensors import assign_optimizer_tensors, optimizer_tensors
from albert_tf.checkpoints.tensor_files import load_tensors, save_tensors
from albert_tf.config import AlbertConfig
from albert_tf.models.low_rank import LowRankUpdates
from albert_tf.models.named_weights import assign_weights, named_weights
from albert_tf.records.names import SOP
from albert_tf.runtime import files
from albert_tf.runtime.errors import DamagedError, InputError

CONFIG_NAME = "albert_config.json"


class CheckpointFolder:
    """The checkpoints of one run.

    Args:
        output_dir: of the run.
        keep_max: how many of the newest to keep, besides the best; 0 keeps all.
        metric: score by which the best is chosen, of the evaluations that have it; None, or if none has: the one named.

    Attributes:
        low_rank: of a run that trains such updates.
    """

    def __init__(self, output_dir: str, keep_max: int = 5, metric: str | None = None):
        self.output_dir = output_dir
        self.keep_max = keep_max
        self.metric = metric
        self.low_rank: LowRankUpdates | None = None

    def path(self, step: int) -> str:
        """The folder of the checkpoint of a step, whether there is one or not."""
        return os.path.join(self.output_dir, f"checkpoint-{step:08d}")

    def all(self) -> list[str]:
        """The complete checkpoints' folders, oldest first."""
        names = filter(FOLDER_NAME.fullmatch, files.list_folder(self.output_dir))
        paths = (os.path.join(self.output_dir, name) for name in names)
        return sorted(filter(is_complete, paths), key=lambda path: (step_of(path), path))

    def best(self) -> str | None:
        """The folder of the evaluated checkpoint with the highest score; the earlier one of equals."""
        return next(iter(self._by_score()), None)

    def choose(self, use: Callable[[str], Any]) -> Any:
        """Uses the best checkpoint, else the newest; one that is damaged, as `use` may find too, is passed over.

        Raises:
            DamagedError: there are checkpoints, and all are damaged; the first one's fault is reported.
        """
        by_score = self._by_score()
        candidates = by_score + [path for path in reversed(self.all()) if path not in by_score]
        if by_score and read_evaluation(newest := self.all()[-1]) is None:
            logging.warning("%s is not evaluated; %s is the best of those that are", newest, by_score[0])
        return _first_sound(candidates, lambda folder: check_soundness(folder) or use(folder))

    def _by_score(self) -> list[str]:
        evaluated = [(path, metrics) for path in self.all() if (metrics := read_evaluation(path)) is not None]
        evaluated = [pair for pair in evaluated if isinstance(pair[1].get(self.metric), int | float)] or evaluated
        return [path for path, _ in sorted(evaluated, key=lambda pair: -score_of(pair[1], self.metric))]

    def save(self, model, optimizer, state: TrainingState) -> str:
        """Writes a checkpoint, then removes those that are no longer to be kept.

        Returns:
            the new checkpoint's folder.
        """
        folder = self.path(state.step)
        # A leftover of the same step, complete or not, gives way as a whole: no file of it may mix with the new.
        remove_checkpoint(folder)
        files.make_folder(folder)
        try:
            save_tensors(os.path.join(folder, "model"), named_weights(model))
            save_tensors(os.path.join(folder, "optimizer"), optimizer_tensors(model, optimizer, self.low_rank))
            model.config.to_json_file(os.path.join(folder, CONFIG_NAME))
            write_state(folder, state)
        except BaseException:
            remove_checkpoint(folder)
            raise
        # Their names too, before an older checkpoint goes.
        files.flush_folder(folder)
        files.flush_folder(self.output_dir)
        self._prune(state.step)
        return folder

    def restore_latest(self, model, optimizer) -> TrainingState | None:
        """Puts the newest sound checkpoint into the model and the optimizer; None if there is none at all.

        Raises:
            DamagedError: there are checkpoints, and all are damaged; the newest one's fault is reported.
            InputError: the newest sound one belongs to a different model or optimizer.
        """
        return _first_sound(list(reversed(self.all())), lambda folder: restore(folder, model, optimizer, self.low_rank))

    def _prune(self, step: int) -> None:
        """Removes what is not to be kept, and all of later steps: the run went on from before them."""
        complete = [path for path in self.all() if step_of(path) <= step]
        kept = set(complete[-self.keep_max :] if self.keep_max > 0 else complete)
        kept |= set([path for path in self._by_score() if path in complete][:1])
        # Which one is the best nobody knows while one of the evaluations cannot be read.
        kept |= {path for path in complete if is_evaluation_damaged(path)}
        for name in files.list_folder(self.output_dir):
            path = os.path.join(self.output_dir, name)
            if FOLDER_NAME.fullmatch(name) and (path not in kept or step_of(path) > step):
                remove_checkpoint(path)


def _first_sound(candidates: list[str], use: Callable[[str], Any]) -> Any:
    """The result of `use` for the first undamaged checkpoint, with a warning for each before it; None if there is none.

    Raises:
        DamagedError: all are damaged; the first one's fault is reported.
    """
    faults: list[tuple[str, Exception]] = []
    for folder in candidates:
        try:
            found = use(folder)
        except (DamagedError, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EIO:
                raise
            faults.append((folder, error))
        else:
            for passed_over, fault in faults:
                logging.warning("%s is passed over: %s", passed_over, fault)
            return found
    if faults:
        raise faults[0][1]
    return None


def write_weights(
    folder: str,
    config: AlbertConfig,
    weights: Mapping[str, Any],
    vocabulary: dict | None,
    task: FinetunedTask | None = None,
    pooling: dict[str, Any] | None = None,
    sentence_task: str = SOP,
) -> None:
    """Writes a checkpoint of weights alone, for a run to start from.

    Args:
        folder: exists.
        config: of the model.
        weights: by the names of models.named_weights.
        vocabulary: {"file", "sha256", "size"}, or None if unknown.
        task: what the model was fine-tuned for; None for a pre-trained one.
        pooling: how a text becomes one vector, as heads.pooling has it; None where that is not known.
        sentence_task: what its head for pairs of sentences was trained on.
    """
    save_tensors(os.path.join(folder, "model"), weights)
    config.to_json_file(os.path.join(folder, CONFIG_NAME))
    state = TrainingState(
        **{"step": 0, "examples_seen": 0, "random_seed": 0, "input_files": [], "optimizer": NO_OPTIMIZER},
        vocabulary=vocabulary,
        task=task.to_dict() if task is not None else None,
        pooling=pooling,
        sentence_task=sentence_task,
    )
    write_state(folder, state)


def restore(folder: str, model, optimizer, low_rank: LowRankUpdates | None = None) -> TrainingState:
    """Puts one checkpoint into the model and the optimizer.

    Raises:
        DamagedError: it is damaged.
        InputError: it belongs to a different model or optimizer.
    """
    stored = read_stored_state(folder)
    state = stored.state
    if state.optimizer == NO_OPTIMIZER:
        raise InputError(f"{folder} holds weights alone; start a new --output_dir with --init_checkpoint={folder}")
    check_files(folder, stored.files)
    if not stored.files:
        logging.warning("%s is of an earlier version, without digests: only its tensors are checked", folder)
    config = read_config(folder)
    advice = "go on with the former, or start a new --output_dir, with --init_checkpoint if the weights are to be kept"
    check_same_model(model.config, config, folder, advice)
    if state.optimizer != optimizer.name:
        raise InputError(
            f"{folder} was trained with --optimizer={state.optimizer}, this run has {optimizer.name}; go on with the "
            "former, or start a new --output_dir with --init_checkpoint"
        )
    tell_of_other_dropout(model.config, config, folder)
    weights = load_tensors(os.path.join(folder, "model"))
    moments = load_tensors(os.path.join(folder, "optimizer"))
    assign_weights(model, weights, source=folder)
    assign_optimizer_tensors(moments, optimizer_tensors(model, optimizer, low_rank), folder)
    optimizer.iterations.assign(state.step)
    return state


def find_checkpoint(path: str) -> str | None:
    """The checkpoint's folder that a path means: itself, or of a run's output_dir the one that stands for the run."""
    return path if is_complete(path) else CheckpointFolder(path).choose(lambda folder: folder)


def load_model_weights(folder: str, model) -> None:
    """Puts a checkpoint's weights into a model of the same config, and leaves its optimizer state where it is.

    Raises:
        DamagedError: it is damaged.
        InputError: it belongs to a different model.
    """
    advice = "give the config of the checkpoint, which lies in it"
    check_same_model(model.config, read_config(folder), folder, advice)
    assign_weights(model, read_weights(folder), source=folder)


def check_soundness(folder: str) -> None:
    """Looks for damage in all but the tensors themselves, which are checked when they are read.

    Raises:
        DamagedError: there is some.
    """
    check_files(folder, read_stored_state(folder).files)


def read_state(folder: str) -> TrainingState:
    """Reads the state in checkpoint.json."""
    return read_stored_state(folder).state


def read_weights(folder: str) -> dict[str, np.ndarray]:
    """The weights of a checkpoint by their names.

    Raises:
        DamagedError: they are not what was written.
    """
    check_files(folder, read_stored_state(folder).files, "model.")
    return load_tensors(os.path.join(folder, "model"))


def read_config(folder: str) -> AlbertConfig:
    """The config of a checkpoint's model.

    Raises:
        DamagedError: it is not what was written.
    """
    check_files(folder, read_stored_state(folder).files, CONFIG_NAME)
    try:
        return AlbertConfig.from_json_file(os.path.join(folder, CONFIG_NAME))
    except InputError as error:
        raise DamagedError(str(error)) from None


def step_of(folder: str) -> int:
    """The step of a checkpoint, by its folder's name."""
    return int(folder.rstrip("/").rpartition("-")[2])
