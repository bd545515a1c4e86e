"""The facts that lie with a model: how it was trained, on what, and what was measured; nothing is guessed."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from absl import logging

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import read_evaluation
from albert_tf.checkpoints.checkpoint_state import FOLDER_NAME, NO_OPTIMIZER, TrainingState
from albert_tf.checkpoints.readable_checkpoint import find_readable_checkpoint
from albert_tf.conversion.formats import recognise
from albert_tf.conversion.native import NATIVE
from albert_tf.finetuning.recipe import FITTED
from albert_tf.finetuning.run import RESULTS_NAME
from albert_tf.published.local_copy import local_copy
from albert_tf.records.manifest import Manifest, read_manifest
from albert_tf.records.record_files import are_as_noted
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

# Flags that say how a run learned; others say where, how fast, or what was kept, and name paths.
_FLAGS = (
    *("task_name", "optimizer", "learning_rate", "learning_rate_schedule", "layerwise_learning_rate_decay"),
    *("train_batch_size", "num_train_steps", "num_train_epochs", "num_warmup_steps", "warmup_proportion"),
    *("max_seq_length", "max_predictions_per_seq", "length_schedule", "batch_schedule", "masked_lm_prob", "ngram"),
    *("class_weights", "pos_weight", "label_smoothing", "freeze", "lora_rank", "lora_alpha", "early_exit"),
    *("exit_training", "exit_pooling", "exit_rate_factor", "distillation_temperature", "distillation_weight"),
    *("objective", "pooling", "normalize", "temperature", "symmetric", "cosine_weight", "relation_weight"),
    *("weight_decay_rate", "max_gradient_norm", "precision", "random_seed"),
)
_NOTHING = ("", "None", "[]")
# Flags that have no part in a run without another one, and those that another one takes the place of.
_ONLY_WITH = {
    **dict.fromkeys(("distillation_temperature", "distillation_weight"), "teacher"),
    **dict.fromkeys(("exit_training", "exit_pooling", "exit_rate_factor"), "early_exit"),
    "lora_alpha": "lora_rank",
}
_NOT_WITH = {
    "num_train_epochs": "num_train_steps",
    "warmup_proportion": "num_warmup_steps",
    "train_batch_size": "batch_schedule",
}


@dataclasses.dataclass(frozen=True)
class Provenance:
    """The facts that are known of how a model came to be.

    Attributes:
        format: what its checkpoint is called, such as "a checkpoint of albert_tf"; None if there is none.
        state: of its checkpoint of ours, if it was trained here; else None.
        flags: of its run, those that say how it learned.
        manifest: of the records that it was trained on, where they still lie; else None.
        scores: {what was scored: {name: number}}.
    """

    format: str | None = None
    state: TrainingState | None = None
    flags: Mapping[str, str] = dataclasses.field(default_factory=dict)
    manifest: Manifest | None = None
    scores: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)


def find_provenance(path: str) -> Provenance:
    """Reads what lies with a checkpoint.

    Args:
        path: as for conversion.pretrained.load_pretrained.

    Raises:
        InputError: no checkpoint there, or a damaged file beside it.
    """
    place = local_copy(path)
    format = recognise(place)
    folder = find_readable_checkpoint(place) if format is NATIVE else None
    if folder is None:
        return Provenance(format.title)
    folder = folder.rstrip("/")
    state = run_checkpoints.read_state(folder)
    # One that a conversion wrote is of no run.
    is_trained = state.optimizer != NO_OPTIMIZER
    run_dir = os.path.dirname(folder) if FOLDER_NAME.fullmatch(os.path.basename(folder)) else folder
    flags = _read_flags(run_dir)
    return Provenance(
        format.title,
        state if is_trained else None,
        {name: flags[name] for name in _FLAGS if name in flags and _had_a_part(name, flags)},
        _find_manifest(flags.get("input_file", ""), state) if is_trained else None,
        _find_scores(folder, run_dir),
    )


def _read_flags(run_dir: str) -> dict[str, str]:
    """The flags that a run left in its folder, by name, but those without a value; "--name" alone is true."""
    found: dict[str, str] = {}
    for name in files.list_folder(run_dir):
        if name.endswith(".flags"):
            lines = files.read_small(os.path.join(run_dir, name)).decode(errors="replace").splitlines()
            pairs = [line.removeprefix("--").partition("=") for line in lines if line.startswith("--")]
            found |= {flag: value if equals else "true" for flag, equals, value in pairs if value not in _NOTHING[1:]}
    return {flag: value for flag, value in found.items() if value}


def _had_a_part(name: str, flags: Mapping[str, str]) -> bool:
    """Tells whether a flag says how a run learned, beside its others."""
    if name == "exit_rate_factor" and flags.get("exit_training") == FITTED:
        return False
    return _ONLY_WITH.get(name, name) in flags and _NOT_WITH.get(name) not in flags


def _find_manifest(patterns: str, state: TrainingState) -> Manifest | None:
    """The manifest of the records of a run, if they are where its flags say, and are those that it read."""
    if not patterns:
        return None
    try:
        paths = files.list_files(patterns)
        return read_manifest(paths) if are_as_noted(paths, state.input_files) else None
    except (InputError, OSError) as error:
        logging.info("the records of the run are not described: %s", error)
        return None


def _find_scores(folder: str, run_dir: str) -> dict[str, dict[str, float]]:
    """The scores of an evaluation of this checkpoint, or of the fine-tuning that chose it."""
    results_path = os.path.join(run_dir, RESULTS_NAME)
    if files.exists(results_path):
        results = files.read_json(results_path)
        chosen = os.path.basename(str(results.get("checkpoint", "")).rstrip("/"))
        scores = results.get("scores")
        if chosen == os.path.basename(folder) and isinstance(scores, dict):
            return {split: _numbers(of_split) for split, of_split in scores.items() if isinstance(of_split, dict)}
    evaluation = read_evaluation(folder)
    return {} if evaluation is None else {"evaluation": _numbers(evaluation)}


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: value for name, value in values.items() if isinstance(value, int | float) and not isinstance(value, bool)
    }
