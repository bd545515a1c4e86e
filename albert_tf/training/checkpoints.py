"""Checkpoints of a run: a folder for each, complete once its checkpoint.json is there.

    OUTPUT_DIR/checkpoint-00005000/
        model.index, model.data-…       the weights, by the names of models.named_weights
        optimizer.index, …              adam_m/NAME and adam_v/NAME
        albert_config.json              the model's shape
        checkpoint.json                 step, position in the input, vocabulary; written last
        evaluation.json                 what an evaluation of it found, if there was one

A folder without checkpoint.json was cut off while being written; it is never read, and removed by the next save.
"""

import dataclasses
import math
import os
import re
import shutil
from collections.abc import Mapping
from typing import Any

from absl import logging

from albert_tf import files
from albert_tf.config import AlbertConfig
from albert_tf.errors import InputError
from albert_tf.models.named_weights import assign_weights, named_weights
from albert_tf.training.finetuned_task import FinetunedTask
from albert_tf.training.tensor_files import load_tensors, save_tensors

CONFIG_NAME = "albert_config.json"
_STATE_NAME, _EVALUATION_NAME = "checkpoint.json", "evaluation.json"
_FOLDER = re.compile(r"checkpoint-(\d{8,})")
_FORMAT = "albert_tf checkpoint"
# In place of an optimizer's name, where there is no optimizer state.
_NO_OPTIMIZER = "none"
# The best checkpoint is the one with the highest of the metric that its evaluation names; of pre-training's this.
BEST_METRIC, _PRETRAINING_METRIC = "best_metric", "masked_lm_accuracy"


@dataclasses.dataclass(frozen=True)
class TrainingState:
    """What a checkpoint holds beside weights and moments.

    Attributes:
        step: optimizer steps taken.
        examples_seen: records read so far, the position in the input.
        random_seed: of the input's order and of dropout.
        input_files: {"name", "bytes"} of each record file, in order.
        optimizer: name of the optimizer whose moments these are.
        vocabulary: {"file", "sha256", "size"} from the records' manifest, or None for records without one.
        sentence_task: "sop", "nsp" or "none".
        nonfinite_steps: steps that were left out because their loss or gradient was not finite.
        loss_scale: of float16, the fields of loss_scale.LossScale; None without.
        task: what the model is fine-tuned for, the fields of FinetunedTask; None in pre-training.
    """

    step: int
    examples_seen: int
    random_seed: int
    input_files: list[dict[str, Any]]
    optimizer: str
    vocabulary: dict[str, Any] | None = None
    sentence_task: str = "sop"
    nonfinite_steps: int = 0
    loss_scale: dict[str, Any] | None = None
    task: dict[str, Any] | None = None

    def finetuned_task(self, where: str) -> FinetunedTask | None:
        """What the model is fine-tuned for; None in pre-training. `where` names the checkpoint in an error."""
        return None if self.task is None else FinetunedTask.from_dict(self.task, where)


class CheckpointFolder:
    """The checkpoints of one run.

    Args:
        output_dir: of the run.
        keep_max: how many of the newest to keep, besides the best; 0 keeps all.
    """

    def __init__(self, output_dir: str, keep_max: int = 5):
        self.output_dir = output_dir
        self.keep_max = keep_max

    def path(self, step: int) -> str:
        """The folder of the checkpoint of a step, whether there is one or not."""
        return os.path.join(self.output_dir, f"checkpoint-{step:08d}")

    def all(self) -> list[str]:
        """The complete checkpoints' folders, oldest first."""
        found = []
        for name in files.list_folder(self.output_dir):
            path = os.path.join(self.output_dir, name)
            if _FOLDER.fullmatch(name) and files.exists(os.path.join(path, _STATE_NAME)):
                found.append((step_of(name), path))
        return [path for _, path in sorted(found)]

    def best(self) -> str | None:
        """The folder of the evaluated checkpoint with the highest score; the earlier one of equals."""
        evaluated = [(path, metrics) for path in self.all() if (metrics := read_evaluation(path)) is not None]
        return max(evaluated, key=lambda pair: score_of(pair[1]))[0] if evaluated else None

    def save(self, model, optimizer, state: TrainingState) -> str:
        """Writes a checkpoint, then removes those that are no longer to be kept.

        Returns:
            the new checkpoint's folder.
        """
        folder = self.path(state.step)
        # A leftover of the same step, complete or not, gives way as a whole: no file of it may mix with the new.
        _remove_folder(folder)
        files.make_folder(folder)
        try:
            names = list(named_weights(model))
            save_tensors(os.path.join(folder, "model"), named_weights(model))
            means, squares = optimizer.moments()
            moments = {f"adam_m/{name}": value for name, value in zip(names, means, strict=True)}
            moments |= {f"adam_v/{name}": value for name, value in zip(names, squares, strict=True)}
            save_tensors(os.path.join(folder, "optimizer"), moments)
            model.config.to_json_file(os.path.join(folder, CONFIG_NAME))
            files.write_json(os.path.join(folder, _STATE_NAME), {"format": _FORMAT, **dataclasses.asdict(state)})
        except BaseException:
            _remove_folder(folder)
            raise
        # Their names too, before an older checkpoint goes.
        files.flush_folder(folder)
        files.flush_folder(self.output_dir)
        self._prune()
        return folder

    def restore_latest(self, model, optimizer) -> TrainingState | None:
        """Puts the newest sound checkpoint into the model and the optimizer; None if there is none at all.

        Raises:
            InputError: there are checkpoints, but none fits or is sound; the newest one's fault is told.
        """
        first_fault = None
        for folder in reversed(self.all()):
            try:
                return restore(folder, model, optimizer)
            except InputError as error:
                logging.warning("%s is passed over: %s", folder, error)
                first_fault = first_fault or error
        if first_fault is not None:
            raise first_fault
        return None

    def _prune(self) -> None:
        complete = self.all()
        kept = set(complete[-self.keep_max :] if self.keep_max > 0 else complete) | {self.best()}
        for name in files.list_folder(self.output_dir):
            path = os.path.join(self.output_dir, name)
            if _FOLDER.fullmatch(name) and path not in kept:
                _remove_folder(path)


def write_weights(
    folder: str,
    config: AlbertConfig,
    weights: Mapping[str, Any],
    vocabulary: dict | None,
    task: FinetunedTask | None = None,
) -> None:
    """Writes a checkpoint of weights alone, for a run to start from.

    Args:
        folder: exists.
        config: of the model.
        weights: by the names of models.named_weights.
        vocabulary: {"file", "sha256", "size"}, or None if unknown.
        task: what the model was fine-tuned for; None for a pre-trained one.
    """
    save_tensors(os.path.join(folder, "model"), weights)
    config.to_json_file(os.path.join(folder, CONFIG_NAME))
    state = TrainingState(
        step=0,
        examples_seen=0,
        random_seed=0,
        input_files=[],
        optimizer=_NO_OPTIMIZER,
        vocabulary=vocabulary,
        task=task.to_dict() if task is not None else None,
    )
    files.write_json(os.path.join(folder, _STATE_NAME), {"format": _FORMAT, **dataclasses.asdict(state)})


def restore(folder: str, model, optimizer) -> TrainingState:
    """Puts one checkpoint into the model and the optimizer.

    Raises:
        InputError: it is damaged, or belongs to another model or optimizer.
    """
    state = read_state(folder)
    if state.optimizer == _NO_OPTIMIZER:
        raise InputError(f"{folder} holds weights alone; start a new --output_dir with --init_checkpoint={folder}")
    if state.optimizer != optimizer.name:
        raise InputError(
            f"{folder} was trained with --optimizer={state.optimizer}, this run has {optimizer.name}; go on with the "
            "former, or start a new --output_dir with --init_checkpoint"
        )
    weights = load_tensors(os.path.join(folder, "model"))
    moments = load_tensors(os.path.join(folder, "optimizer"))
    assign_weights(model, weights, source=folder)
    for kind, variables in zip(("adam_m", "adam_v"), optimizer.moments(), strict=True):
        for name, variable in zip(named_weights(model), variables, strict=True):
            key = f"{kind}/{name}"
            if key not in moments or moments[key].shape != tuple(variable.shape):
                raise InputError(f"{folder}: the optimizer's {key} is missing or of another shape")
            variable.assign(moments[key])
    optimizer.iterations.assign(state.step)
    return state


def find_checkpoint(path: str) -> str | None:
    """The checkpoint that a path means: a checkpoint's folder, or a run's output_dir with its best, else newest.

    Returns:
        the checkpoint's folder; None if the path holds no checkpoint of ours.
    """
    if files.exists(os.path.join(path, _STATE_NAME)):
        return path
    run = CheckpointFolder(path)
    return run.best() or next(reversed(run.all()), None)


def load_model_weights(folder: str, model) -> None:
    """Puts a checkpoint's weights into a model of the same config, and leaves its optimizer state where it is.

    Raises:
        InputError: it is damaged, or belongs to another model.
    """
    assign_weights(model, load_tensors(os.path.join(folder, "model")), source=folder)


def read_state(folder: str) -> TrainingState:
    """What checkpoint.json says."""
    values = files.read_json(os.path.join(folder, _STATE_NAME))
    if values.pop("format", None) != _FORMAT:
        raise InputError(f"{folder}: not a checkpoint of albert_tf")
    try:
        return TrainingState(**values)
    except TypeError as error:
        raise InputError(f"{folder}: {_STATE_NAME} is of another version of albert_tf: {error}") from None


def read_config(folder: str) -> AlbertConfig:
    """The config of a checkpoint's model."""
    return AlbertConfig.from_json_file(os.path.join(folder, CONFIG_NAME))


def write_evaluation(folder: str, metrics: dict[str, Any]) -> None:
    """Notes beside a checkpoint what an evaluation of it found; BEST_METRIC in it names what checkpoints go by."""
    files.write_json(os.path.join(folder, _EVALUATION_NAME), metrics)


def read_evaluation(folder: str) -> dict[str, Any] | None:
    """What write_evaluation noted; None if it noted nothing, or the file is damaged."""
    path = os.path.join(folder, _EVALUATION_NAME)
    if not files.exists(path):
        return None
    try:
        metrics = files.read_json(path)
        return metrics if math.isfinite(score_of(metrics)) else None
    except (InputError, KeyError, TypeError):
        logging.warning("%s is damaged, and passed over", path)
        return None


def score_of(metrics: Mapping[str, Any]) -> float:
    """The number by which checkpoints are compared, of an evaluation's metrics; higher is better."""
    return metrics[metrics.get(BEST_METRIC, _PRETRAINING_METRIC)]


def step_of(folder: str) -> int:
    """The step of a checkpoint, by its folder's name."""
    return int(folder.rstrip("/").rpartition("-")[2])


def _remove_folder(path: str) -> None:
    if files.is_remote(path):
        import tensorflow as tf

        if tf.io.gfile.exists(path):
            tf.io.gfile.rmtree(path)
    else:
        # checkpoint.json first: a removal that is cut off leaves an incomplete checkpoint, not a gutted one.
        state = os.path.join(path, _STATE_NAME)
        if os.path.exists(state):
            os.remove(state)
        shutil.rmtree(path, ignore_errors=True)
