"""Loading what export_saved_model wrote: is it there, is it ours, is it whole."""

import os
from collections.abc import Sequence

import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the operations of the tokenizer)
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from albert_tf import files
from albert_tf.errors import InputError


def load_export(saved_model: str, needed: Sequence[str]):
    """Loads an exported SavedModel.

    Args:
        saved_model: its folder.
        needed: names of signatures, one of which it must have.

    Returns:
        what tf.saved_model.load returns; its `signatures` live as long as it does.

    Raises:
        InputError: no such folder, no SavedModel in it, a damaged one, or one of another make.
    """
    names = _signature_names(saved_model)
    if not set(needed) & set(names):
        raise InputError(
            f"--saved_model: {saved_model} is no export of albert_tf: it has no signature {' or '.join(needed)}, "
            f"only {', '.join(sorted(names)) or 'none'}; make one with export_saved_model"
        )
    try:
        return tf.saved_model.load(saved_model)
    except (tf.errors.OpError, OSError, ValueError) as error:
        raise InputError(f"--saved_model: {saved_model} is damaged: {_first_line(error)}") from None


def to_tensor(texts: Sequence[str]) -> tf.Tensor:
    """string [B]. Raises InputError for a text that is not UTF-8."""
    try:
        return tf.constant([text.encode() for text in texts], tf.string)
    except UnicodeEncodeError:
        raise InputError("a text is not UTF-8; convert it first") from None


def _signature_names(saved_model: str) -> list[str]:
    """The names of a SavedModel's signatures, read without loading it: a foreign one may not load here."""
    path = os.path.join(saved_model, "saved_model.pb")
    files.recover(saved_model)
    if not files.exists(saved_model):
        raise InputError(f"--saved_model: no folder {saved_model}; give the --output_dir of export_saved_model")
    if not files.exists(path):
        raise InputError(f"--saved_model: {saved_model} is no SavedModel (saved_model.pb is missing)")
    message = saved_model_pb2.SavedModel()
    try:
        with files.open_binary(path) as file:
            message.ParseFromString(file.read())
    except DecodeError:
        raise InputError(f"--saved_model: {path} is damaged; export the model again") from None
    return [name for graph in message.meta_graphs for name in graph.signature_def if not name.startswith("__")]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
