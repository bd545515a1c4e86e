"""The vocabulary's file for a run of pre-training: found by its hash, and kept with the run for what comes after."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from absl import logging

from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import copy_vocabulary
from albert_tf.conversion.stored_checkpoint import describe_vocabulary, find_vocabulary
from albert_tf.records.manifest import check_vocabulary
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.vocabulary_file import model_name


def locate_vocabulary(known: Mapping[str, Any] | None, record_paths: Sequence[str], near: Sequence[str]) -> str | None:
    """The file of the records' vocabulary: beside the records, in the folder above, or in one of the folders given.

    Args:
        known: {"file", "sha256", "size"} from the records' manifest; None without one, and then nothing is found.
        record_paths: the record files.
        near: folders to look in first.

    Returns:
        a path whose SHA-256 is the vocabulary's, or None.
    """
    if known is None:
        return None
    beside = [os.path.dirname(path) for path in record_paths]
    above = [os.path.join(folder, os.pardir) for folder in beside]
    for folder in dict.fromkeys((*near, *beside, *above)):
        found = find_vocabulary(folder, known["sha256"])
        if found is not None:
            return os.path.normpath(found) if not files.is_remote(found) else found
    logging.info(
        "the vocabulary %s is not beside the records; with --spm_model_file the run would keep a copy, and "
        "export_saved_model and run_finetuning would find it",
        known["file"],
    )
    return None


def check_given_vocabulary(path: str, known: Mapping[str, Any] | None, config: AlbertConfig) -> dict[str, Any]:
    """{"file", "sha256", "size"} of --spm_model_file.

    Args:
        path: the file.
        known: the same of the records' vocabulary, or None if they do not say.
        config: of the model.

    Raises:
        InputError: it is no vocabulary, or not that of the records or the model.
    """
    described = describe_vocabulary(path)
    check_vocabulary(described, known, f"--spm_model_file: {path}")
    if described["size"] != config.vocab_size:
        raise InputError(
            f"--spm_model_file: {path} has {described['size']} pieces, the config says vocab_size={config.vocab_size}; "
            "give the vocabulary that the records were made with"
        )
    return described


def keep_copy(path: str, output_dir: str) -> None:
    """Copies a vocabulary into a folder, unless it is there."""
    target = os.path.join(output_dir, model_name(path))
    if os.path.normpath(target) != os.path.normpath(path):
        copy_vocabulary(path, target)
