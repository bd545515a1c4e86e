"""Parts that a model carries from `load` to `save` beside its weights, and a check that they go together."""

import dataclasses
import os
from typing import Any

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.checkpoint_format import CheckpointFormat
from albert_tf.conversion.dev_thresholds import dev_thresholds
from albert_tf.conversion.formats import output_format, with_cleaning, with_sentence_task
from albert_tf.conversion.pretrained import Pretrained
from albert_tf.conversion.sentence_transformers import SentenceTransformersFormat
from albert_tf.conversion.stored_checkpoint import describe_vocabulary
from albert_tf.conversion.task_of_model import task_of
from albert_tf.heads.pooling import USUAL_POOLING, Pooling
from albert_tf.models.named_weights import named_weights
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning


def remember(model: Any, pretrained: Pretrained) -> None:
    """Notes on a model what goes along with its weights when it is saved."""
    vocabulary, task = pretrained.vocabulary_file, pretrained.task
    if vocabulary is not None and not files.is_remote(vocabulary):
        vocabulary = os.path.abspath(vocabulary)
    if task is not None:
        task = dataclasses.replace(task, options={**task.options, **dev_thresholds(task, pretrained.source)})
    model.vocabulary_file, model.finetuned_task = vocabulary, task
    model.pooling, model.cleaning = pretrained.pooling, pretrained.cleaning
    model.sentence_task = pretrained.sentence_task
    weights = named_weights(model)
    # A format leaves out those that are still the same.
    model.random_weights = {name: weights[name].numpy().astype("float32") for name in model.load_report.missing}


def pooling_of(pooling: Pooling | None, task: FinetunedTask | None) -> Pooling:
    """The known way from a text to one vector, else the usual one; of a fine-tuned model by texts of its length."""
    if pooling is not None:
        return pooling
    length = None if task is None else task.settings.get("max_seq_length")
    return dataclasses.replace(USUAL_POOLING, max_seq_length=length)


def choose_format(model: Any, name: str, task: FinetunedTask | None, cleaning: TextCleaning | None) -> CheckpointFormat:
    """The format of a name, which says of the model all that it has a place for.

    Args:
        model: its `pooling`, `cleaning` and `sentence_task` are what `remember` noted, if it was loaded.
        name: one of FORMAT_NAMES.
        task: of a fine-tuned model.
        cleaning: of texts, in place of what was noted.

    Raises:
        InputError: a cleaning that is not the usual one was given, and the format cannot say so.
    """
    pooling = getattr(model, "pooling", None)
    pooling = pooling_of(pooling, task) if name == SentenceTransformersFormat.name else pooling
    target = output_format(name, cleaning=cleaning or OFFICIAL_CLEANING, pooling=pooling)
    target = with_cleaning(target, cleaning or getattr(model, "cleaning", None) or OFFICIAL_CLEANING)
    return with_sentence_task(target, getattr(model, "sentence_task", None))


def check_parts(model: Any, vocabulary: str | None, task: FinetunedTask | None, cleaning: TextCleaning | None) -> None:
    """Raises InputError for a vocabulary, a task or a cleaning with which the model would not be what it was."""
    own = task_of(model)
    if task is not None and (own is None or not task.fits_class_of(own)):
        head = "heads of pre-training" if own is None else f"a head for {own.head} with {own.num_labels} outputs"
        raise InputError(f"`task` is {task.head} with {task.num_labels} outputs; the model has {head}")
    if cleaning is not None and task is not None and task.cleaning and TextCleaning(**task.cleaning) != cleaning:
        raise InputError(
            f"`model` was fine-tuned on texts that were cleaned with {TextCleaning(**task.cleaning)}, and its texts "
            f"stay so. Received `cleaning` {cleaning}."
        )
    size = model.config.vocab_size if vocabulary is None else describe_vocabulary(vocabulary)["size"]
    if size != model.config.vocab_size:
        raise InputError(f"{vocabulary} has {size} pieces, the model's vocab_size is {model.config.vocab_size}")
