"""The kind of model that lies at a path, by what is in the folder; nothing of it is loaded."""

import os

from albert_tf.exports.export_file import EXPORT_NAME, holds_saved_model, portable_format
from albert_tf.published.names import hub_advice, is_published
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

# A checkpoint is a run too, and another format's, and published weights by their name.
SAVED_MODEL, PORTABLE, CHECKPOINT = "saved_model", "portable", "checkpoint"
_PORTABLE_ENDINGS = (".onnx", ".tflite")
# Beginnings of what lies in the folder of a checkpoint, whatever its format; a portable file may lie beside it.
_OF_CHECKPOINTS = ("config.json", "albert_config.json", "checkpoint", "model.ckpt")


def kind_of(path: str) -> str:
    """SAVED_MODEL; PORTABLE, an export as ONNX or LiteRT; or CHECKPOINT, which all else is taken for.

    Raises:
        InputError: there is nothing, or a portable model alone, without its export.json.
    """
    if is_published(path):
        return CHECKPOINT
    files.recover(path)
    if holds_saved_model(path):
        return SAVED_MODEL
    if portable_format(path) is not None:
        return PORTABLE
    if path.endswith(_PORTABLE_ENDINGS) and files.exists(path):
        folder = os.path.dirname(path) or "."
        if files.exists(os.path.join(folder, EXPORT_NAME)):
            raise InputError(f"{path} is a part of an export; give its folder, {folder}")
        raise _alone(path)
    names = files.list_folder(path)
    if not names:
        _check_there(path)
    portable = [name for name in names if name.endswith(_PORTABLE_ENDINGS)]
    if not portable or any(name.startswith(_OF_CHECKPOINTS) for name in names):
        return CHECKPOINT
    if EXPORT_NAME not in names:
        raise _alone(os.path.join(path, portable[0]))
    # Whoever reads the damaged export.json says what is wrong with it.
    return PORTABLE


def models_of(path: str) -> list[str]:
    """The places of the models that a text names: one, or several with commas between."""
    if "," not in path:
        return [path]
    if is_published(path):
        # No name or revision there has a comma.
        return path.split(",")
    if files.exists(path):
        return [path]
    try:
        # The beginning of the names of a checkpoint's files may have a comma too.
        kind_of(path)
    except InputError:
        return path.split(",")
    return [path]


def _check_there(path: str) -> None:
    """Raises InputError if a path is neither a folder with something in it, nor a file, nor the prefix of some."""
    folder, name = os.path.split(path.rstrip("/"))
    is_folder = not path or name in ("", ".", "..") or (not files.is_remote(path) and os.path.isdir(path))
    if not is_folder and any(other.startswith(name) for other in files.list_folder(folder)):
        return
    raise InputError(
        f"{path or '.'}: no model here: there is {'an empty folder' if is_folder else 'nothing'}; give an export "
        "(SavedModel, ONNX or LiteRT), a run's --output_dir, a checkpoint of any format, or hf://owner/name"
        f"{hub_advice(path)}"
    )


def _alone(file: str) -> InputError:
    return InputError(
        f"{file} has no {EXPORT_NAME} of export_model beside it, which says how texts become its input; copy the "
        "export as a whole, or export the model again"
    )
