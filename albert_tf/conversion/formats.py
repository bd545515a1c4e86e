"""The formats by name, and recognising one by what lies at a path."""

import copy
import os
from typing import Any

from absl import logging

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.task_fields import TEXT_PAIR
from albert_tf.conversion.checkpoint_format import CheckpointFormat
from albert_tf.conversion.hugging_face import HUGGING_FACE, HuggingFaceFormat
from albert_tf.conversion.hugging_face_bert import HUGGING_FACE_BERT, HuggingFaceBertFormat
from albert_tf.conversion.hugging_face_format import SavePretrainedFormat
from albert_tf.conversion.keras_hub import KERAS_HUB
from albert_tf.conversion.native import NATIVE, NativeFormat
from albert_tf.conversion.official import OFFICIAL
from albert_tf.conversion.official_bert import OFFICIAL_BERT
from albert_tf.conversion.sentence_transformers import SENTENCE_TRANSFORMERS, SentenceTransformersFormat
from albert_tf.conversion.settings import FORMAT_NAMES
from albert_tf.heads.pooling import USUAL_POOLING, Pooling
from albert_tf.models.named_weights import named_weights
from albert_tf.published.names import hub_advice
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.tasks.text_windows import CUT
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning

# In the order of recognition: a checkpoint of ours consists of the same kind of files as an official one, and a BERT of
# the same as an ALBERT, a sentence-transformers model of those of either and some more; what is neither's is an
# ALBERT's, which says what is wrong with it.
FORMATS: dict[str, CheckpointFormat] = {
    format.name: format
    for format in (
        *(NATIVE, OFFICIAL_BERT, OFFICIAL, SENTENCE_TRANSFORMERS, HUGGING_FACE_BERT, HUGGING_FACE, KERAS_HUB),
    )
}
assert set(FORMATS) == set(FORMAT_NAMES)
SENTENCE_HEAD = "sentence_order/classifier/kernel"
# The file that tells of an export, in one of ONNX or LiteRT, and in a SavedModel.
_OF_EXPORTS = ("export.json", os.path.join("assets.extra", "export.json"))
# Of what lies in a folder that is none of them.
_NAMES_SHOWN = 5


def recognise(path: str, name: str | None = None) -> CheckpointFormat:
    """The format of the checkpoint at a path.

    Args:
        path: a file, a prefix or a folder.
        name: one of FORMAT_NAMES to insist on; None goes by what is there.

    Raises:
        InputError: nothing there that is understood.
    """
    if any(files.exists(os.path.join(path, name)) for name in _OF_EXPORTS):
        raise InputError(f"{path} is an export; name the run or the checkpoint that it was made of")
    candidates = list(FORMATS.values()) if name is None else [FORMATS[name]]
    for format in candidates:
        if format.recognise(path):
            return format
    if name is not None:
        raise InputError(f"{path}: no checkpoint here: {FORMATS[name].title} was expected")
    names = files.list_folder(path)
    shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    there = f" (there is {shown})" if names else ""
    raise InputError(
        f"{path}: no checkpoint here{there}; give a run's --output_dir, a checkpoint-NNNNNNNN folder in it, the prefix "
        "of an official checkpoint (model.ckpt-best, bert_model.ckpt), or a folder that Hugging Face's save_pretrained "
        f"or KerasHub's save_to_preset wrote{hub_advice(path)}"
    )


def output_format(
    name: str,
    hugging_face_architecture: str | None = None,
    cleaning: TextCleaning = OFFICIAL_CLEANING,
    pooling: Pooling | None = None,
) -> CheckpointFormat:
    """The format to write in.

    Args:
        name: one of FORMAT_NAMES.
        hugging_face_architecture: one of HUGGING_FACE_ARCHITECTURES or BERT_ARCHITECTURES; None takes the first.
        cleaning: of texts, for a format that holds a tokenizer.
        pooling: how a text becomes one vector, for the format that says it; None: as usual.

    Raises:
        InputError: an architecture, or a cleaning that is not the usual one, with a format that cannot say so.
    """
    if name == HUGGING_FACE.name:
        return HuggingFaceFormat(hugging_face_architecture, cleaning)
    if name == HUGGING_FACE_BERT.name:
        return HuggingFaceBertFormat(hugging_face_architecture, cleaning)
    if name == NATIVE.name and hugging_face_architecture is None:
        return NativeFormat(pooling)
    if name == SENTENCE_TRANSFORMERS.name and hugging_face_architecture is None:
        return SentenceTransformersFormat(cleaning, pooling or USUAL_POOLING)
    if cleaning != OFFICIAL_CLEANING:
        raise InputError(
            f"how text is cleaned (do_lower_case, keep_accents, ...) goes with --to={HUGGING_FACE.name}, "
            f"{HUGGING_FACE_BERT.name}, {SENTENCE_TRANSFORMERS.name} and {NATIVE.name}, not with --to={name}, which "
            "does not say it; leave those flags out"
        )
    if hugging_face_architecture is not None:
        raise FlagError(
            f"--hugging_face_architecture goes with --to={HUGGING_FACE.name} and --to={HUGGING_FACE_BERT.name}, not "
            f"with --to={name}"
        )
    return FORMATS[name]


def with_cleaning(target: CheckpointFormat, cleaning: TextCleaning) -> CheckpointFormat:
    """A copy of a format that says how texts are cleaned; warns where the format has no place for it."""
    if cleaning != OFFICIAL_CLEANING and not isinstance(
        target, SavePretrainedFormat | SentenceTransformersFormat | NativeFormat
    ):
        logging.warning("%s does not say how texts are cleaned: %s", target.title, cleaning)
    # A format is one object for all.
    target = copy.copy(target)
    target.cleaning = cleaning
    return target


def with_sentence_task(target: CheckpointFormat, sentence_task: str | None) -> CheckpointFormat:
    """A copy of a format that says what the head for pairs of sentences was trained on, where the format can."""
    target = copy.copy(target)
    if isinstance(target, NativeFormat) and sentence_task is not None:
        target.sentence_task = sentence_task
    return target


def warn_of_losses(target: CheckpointFormat, model: Any, task: FinetunedTask | None = None) -> None:
    """Warns of what a model has, or its task, and a format has no place for."""
    warn_of_pooling(target, getattr(model, "pooling", None))
    warn_of_task(target, task)
    left_out = target.left_out(model.config, named_weights(model))
    if left_out:
        logging.warning("%s has no place for %s", target.title, ", ".join(left_out))
    if SENTENCE_HEAD in named_weights(model) and SENTENCE_HEAD not in left_out:
        warn_of_sentence_task(target, getattr(model, "sentence_task", None))


def warn_of_sentence_task(target: CheckpointFormat, sentence_task: str | None) -> None:
    """Warns where a format does not say what the head for pairs of sentences was trained on; None: it is not known."""
    if sentence_task not in (None, target.sentence_task):
        logging.warning(
            "the model was trained with --sentence_task=%s; %s does not say so", sentence_task, target.title
        )


def warn_of_pooling(target: CheckpointFormat, pooling: Pooling | None) -> None:
    """Warns where a format has no place for how a model makes one vector of a text; None: it is not known."""
    if pooling is not None and not isinstance(target, SentenceTransformersFormat | NativeFormat):
        logging.warning("%s does not say how a text becomes one vector: %s", target.title, pooling)


def warn_of_task(target: CheckpointFormat, task: FinetunedTask | None) -> None:
    """Warns where a format does not say what decides the answers of a fine-tuned model; None: it is pre-trained."""
    if task is None or isinstance(target, NativeFormat | SentenceTransformersFormat):
        return
    windows = task.options.get("long_texts", CUT)
    lengths = ", ".join(f"{name}={value}" for name, value in task.settings.items())
    lost = {
        f"to how many pieces texts are cut ({lengths})": bool(lengths),
        "that a second text belongs to the first": TEXT_PAIR in {field.rstrip("?") for field in task.input_fields},
        f"that texts are read in windows (--long_texts={windows})": windows != CUT,
        "from which probability a label is given (--label_threshold)": task.options.get("label_threshold") is not None,
        "that there may be no answer": task.name == "squad_v2",
    }
    named = [what for what, is_lost in lost.items() if is_lost]
    if named:
        logging.warning("%s does not say %s; predict needs the run or an export", target.title, ", nor ".join(named))
