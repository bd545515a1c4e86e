"""Carrying a checkpoint from one format to another, and reading it back to see that every number arrived."""

import numpy as np
from absl import logging

from albert_tf.checkpoints.checkpoint_evaluation import read_evaluation, write_evaluation
from albert_tf.checkpoints.depth_scores import read_depth_scores, write_depth_scores
from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import CheckpointFormat, check_output
from albert_tf.conversion.formats import (
    SENTENCE_HEAD,
    output_format,
    warn_of_pooling,
    warn_of_sentence_task,
    warn_of_task,
    with_cleaning,
    with_sentence_task,
)
from albert_tf.conversion.hugging_face_format import SavePretrainedFormat
from albert_tf.conversion.load_report import LoadReport, match
from albert_tf.conversion.loaded_model import pooling_of
from albert_tf.conversion.native import NativeFormat
from albert_tf.conversion.pretrained import Pretrained, load_pretrained
from albert_tf.conversion.sentence_transformers import SentenceTransformersFormat
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.conversion.stored_checkpoint import describe_vocabulary
from albert_tf.models.named_weights import named_weights
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.tokenization.text_cleaning import agreed_cleaning


def convert(settings: ConversionSettings) -> LoadReport:
    """Writes a checkpoint in a different format, whole or not at all.

    Returns:
        the report of reading the input.

    Raises:
        InputError: the input is missing, damaged or does not fit its config; the format cannot express the model; or
            the output is there already.
        OSError: no room, or no right to write.
    """
    check_output(settings.output)
    target = output_format(settings.to_format, settings.hugging_face_architecture, settings.cleaning)
    pretrained = load_pretrained(
        *(settings.input, settings.albert_config_file, settings.from_format),
        *(settings.allow_missing_heads, settings.allow_nonfinite),
    )
    if not isinstance(target, SentenceTransformersFormat):
        # Of a folder of sentence-transformers heads may be missing; elsewhere they would pass for trained ones.
        pretrained.model.load_report.check(settings.allow_missing_heads, (), settings.allow_nonfinite)
    cleaning = agreed_cleaning(
        settings.cleaning, pretrained.cleaning, pretrained.source, pretrained.is_cleaning_settled
    )
    target = with_sentence_task(with_cleaning(target, cleaning), pretrained.sentence_task)
    _choose_pooling(target, settings, pretrained)
    warn_of_task(target, pretrained.task)
    model, config = pretrained.model, pretrained.model.config
    vocabulary_file = _vocabulary_file(settings, pretrained)
    weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
    weights = _rounded(weights, settings, target)
    arrays = target.encode(config, weights)
    with files.replace_folder(settings.output) as folder:
        target.write(folder, config, arrays, vocabulary_file, pretrained.task)
        if isinstance(target, NativeFormat):
            _copy_scores(pretrained.source, folder)
        left_out = _compare(target, folder, config, weights)
        _compare_dense(target, folder)
    left_out = [name for name in left_out if name not in model.load_report.missing]
    if left_out:
        logging.warning("%s has no place for %s", target.title, ", ".join(left_out))
    if SENTENCE_HEAD in model.load_report.matched and SENTENCE_HEAD not in left_out:
        warn_of_sentence_task(target, pretrained.sentence_task)
    rounded = "" if settings.weight_type == "float32" else f", rounded to {settings.weight_type}"
    logging.info("wrote %s, %s%s; read back, every number is the same", settings.output, target.title, rounded)
    return model.load_report


def _rounded(weights: dict[str, np.ndarray], settings: ConversionSettings, target: CheckpointFormat):
    """The weights in the type that the files are to have; raises InputError if they cannot have it."""
    if settings.weight_type == "float32":
        return weights
    if not isinstance(target, SavePretrainedFormat | SentenceTransformersFormat):
        raise FlagError(
            f"--weight_type={settings.weight_type} is for the formats of Hugging Face and sentence-transformers; "
            f"{target.title} has float32"
        )
    most = np.finfo(settings.weight_type).max
    for name, array in weights.items():
        if (np.abs(array[np.isfinite(array)]) > most).any():
            raise InputError(f"--weight_type={settings.weight_type} ends at {most:g}, and {name} has larger numbers")
    return {name: array.astype(settings.weight_type) for name, array in weights.items()}


def _choose_pooling(target: CheckpointFormat, settings: ConversionSettings, pretrained: Pretrained) -> None:
    """Tells the format how a text becomes one vector, or the user that it cannot say so."""
    known = pretrained.pooling
    if not isinstance(target, SentenceTransformersFormat):
        if settings.pooling is not None or settings.normalize is not None:
            name = "normalize" if settings.pooling is None else "pooling"
            raise InputError(f"--{name} goes with --to={SentenceTransformersFormat.name}, not with --to={target.name}")
        if isinstance(target, NativeFormat):
            target.pooling = known
        warn_of_pooling(target, known)
        return
    known = pooling_of(known, pretrained.task)
    target.pooling = known.with_choices(settings.pooling, settings.normalize)


def _vocabulary_file(settings: ConversionSettings, pretrained: Pretrained) -> str | None:
    """The sentencepiece model that goes along, checked against the model's."""
    path = settings.spm_model_file or pretrained.vocabulary_file
    if path is None:
        logging.warning("no vocabulary goes along: none lies with the checkpoint, and --spm_model_file names none")
        return None
    vocabulary = describe_vocabulary(path)
    size = pretrained.model.config.vocab_size
    if vocabulary["size"] != size:
        raise InputError(f"{path} has {vocabulary['size']} pieces, the model's vocab_size is {size}")
    known = pretrained.vocabulary
    if known is not None and known["sha256"] != vocabulary["sha256"]:
        raise InputError(f"{path} is not the vocabulary the model was trained with ({known['file']}); name that one")
    return path


def _copy_scores(source: str, folder: str) -> None:
    """Takes along what evaluations found of these weights, thresholds and the rule of early exit among it."""
    if evaluation := read_evaluation(source):
        write_evaluation(folder, evaluation)
    if scores := read_depth_scores(source):
        write_depth_scores(folder, scores)


def _compare(target: CheckpointFormat, folder: str, config: AlbertConfig, weights) -> list[str]:
    """Reads a new checkpoint back; returns the weights that it does not hold.

    Raises:
        RuntimeError: a weight it does hold is not what was written.
    """
    stored = target.open(folder)
    shapes = {name: value.shape for name, value in weights.items()}
    values, report = match(target.rows(config, weights), stored.arrays, shapes, folder, target.title)
    changed = [name for name, value in values.items() if not np.array_equal(value, weights[name], equal_nan=True)]
    if changed or report.unexpected or report.mismatched:
        raise RuntimeError(f"the new checkpoint does not hold what was written: {changed} {report}")
    return list(report.missing)


def _compare_dense(target: CheckpointFormat, folder: str) -> None:
    """Raises RuntimeError if the dense layer after pooling is not read back as it was written."""
    wanted = getattr(getattr(target, "pooling", None), "dense", None)
    if wanted is None:
        return
    pooling = target.open(folder).pooling
    found = {} if pooling is None or pooling.dense is None else pooling.dense.to_weights()
    if not all(name in found and np.array_equal(found[name], array) for name, array in wanted.to_weights().items()):
        raise RuntimeError("the new checkpoint does not hold the dense layer that was written")
