"""Loading an export: is it there, is it one of ours and of the kind that is wanted, is it whole."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the operations of the tokenizer)

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.exports.export_file import (
    SAVED_MODEL_NAME,
    check_files,
    holds_saved_model,
    read_export,
)
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError, reason_of
from albert_tf.runtime.literal_paths import literal_path


def load_export(saved_model: str, needed: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Loads an exported SavedModel.

    Args:
        saved_model: its folder.
        needed: names of signatures, one of which it must have.

    Returns:
        what tf.saved_model.load returns, its `signatures` live as long as it does; and what its export.json says.

    Raises:
        InputError: no such folder, no export in it, a damaged one, or one of a model of a different kind.
    """
    files.recover(saved_model)
    if not files.exists(saved_model):
        raise InputError(f"no folder {saved_model}; give the --output_dir of export_saved_model")
    if not holds_saved_model(saved_model):
        raise InputError(f"{saved_model} is no SavedModel ({SAVED_MODEL_NAME} is missing)")
    about = read_export(saved_model)
    if not set(needed) & set(about["signatures"]):
        raise InputError(f"{saved_model} {_other_kind(about)}")
    check_files(saved_model, about)
    try:
        with literal_path(saved_model) as found:
            return tf.saved_model.load(found), about
    except (tf.errors.OpError, OSError, ValueError) as error:
        raise InputError(f"{saved_model} cannot be loaded: {reason_of(error)}") from None


def _other_kind(about: dict[str, Any]) -> str:
    if "task" in about:
        task = FinetunedTask.from_dict(about["task"], "its export.json")
        return f"holds a model fine-tuned for {task.name or task.head}: it fills in no masks; predict asks it"
    if "fill_mask" not in about["signatures"]:
        return "holds an encoder without heads; embed_texts asks it"
    return "holds a model that was only pre-trained; fill_mask asks it, run_finetuning makes one of it that predicts"
