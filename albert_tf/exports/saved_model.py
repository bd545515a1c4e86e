"""Writing a trained model and its vocabulary as a SavedModel, checked before it appears.

OUTPUT_DIR/saved_model.pb, variables/    graph and weights
OUTPUT_DIR/assets/                       the vocabulary (.model)
OUTPUT_DIR/assets.extra/                 albert_config.json, and export.json: what was exported, with checksums
"""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from absl import logging

import albert_tf
from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.task_fields import answer_kind
from albert_tf.conversion.pretrained import Pretrained, load_pretrained
from albert_tf.exports.chosen_depth import exit_rule, with_first_layers
from albert_tf.exports.classification_module import (
    ClassificationModule,
    MultiLabelModule,
    RegressionModule,
)
from albert_tf.exports.depth import DepthSettings
from albert_tf.exports.encoder_module import EncoderModule
from albert_tf.exports.entity_module import EntityModule
from albert_tf.exports.export_file import EXTRA_FOLDER, write_export
from albert_tf.exports.export_source import (
    POOLER,
    chosen_pooling,
    load_for_use,
    open_source,
    refuse_pooling,
    text_length,
    tokenizer_for,
    with_thresholds,
)
from albert_tf.exports.finetuned_module import FinetunedModule
from albert_tf.exports.multiple_choice_module import MultipleChoiceModule
from albert_tf.exports.served_copy import serving_copy
from albert_tf.exports.settings import TOLERANCES, ExportSettings
from albert_tf.exports.signatures import ServingModule
from albert_tf.exports.span_categories_module import SpanCategoriesModule
from albert_tf.exports.span_module import SpanModule
from albert_tf.exports.tagging_module import TaggingModule
from albert_tf.exports.verification import explain_exits, largest_error, largest_finetuned_error
from albert_tf.heads.exits import ExitRule
from albert_tf.heads.pooling import USUAL_POOLING, Pooling
from albert_tf.inputs.finetuning_features import SPAN_CATEGORIES
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError, reason_of
from albert_tf.runtime.literal_paths import literal_path
from albert_tf.runtime.tensorflow_import import quiet_stderr
from albert_tf.tasks.entity_recognition import ENTITIES
from albert_tf.tokenization.base import Tokenizer

_WORDS = "masked_lm/"
_MODULES = {
    "classification": ClassificationModule,
    "multi_label": MultiLabelModule,
    "regression": RegressionModule,
    "multiple_choice": MultipleChoiceModule,
    "token_classification": TaggingModule,
    ENTITIES: EntityModule,
    SPAN_CATEGORIES: SpanCategoriesModule,
    "span": SpanModule,
    "span_beam": SpanModule,
}


def make_module(
    model: Any, tokenizer: Tokenizer, task: FinetunedTask, max_seq_length: int, rule: ExitRule | None = None
) -> FinetunedModule:
    """The module for a fine-tuned model; arguments as FinetunedModule's.

    Raises:
        InputError: max_seq_length leaves no room for text.
    """
    return _MODULES[answer_kind(task)](model, tokenizer, task, max_seq_length, *([] if rule is None else [rule]))


def export_saved_model(settings: ExportSettings) -> float:
    """Writes the SavedModel, as a whole or not at all, after comparing what it computes with the model itself.

    Returns:
        the largest absolute difference between the outputs of both.

    Raises:
        InputError: checkpoint, config, vocabulary and max_seq_length do not fit, or output_dir holds something.
        OSError: no room, or no right to write.
    """
    output_dir, pretrained, tokenizer = open_source(settings)
    if pretrained.task is not None and settings.layer_outputs:
        raise InputError(
            f"--output_{settings.layer_outputs[0]} is for a model that was only pre-trained; "
            f"{settings.init_checkpoint} was fine-tuned for {pretrained.task}: leave it out"
        )
    rule = exit_rule(settings, pretrained)
    if pretrained.task is not None:
        refuse_pooling(settings, pretrained.task.head)
        module: Any = _finetuned_module(settings, pretrained, tokenizer, pretrained.task)
        signatures = module.signatures()
        more: dict[str, Any] = {"task": pretrained.task.to_dict() | {"input_fields": module.fields}}
        more |= {} if rule is None else {"early_exit": rule.to_dict()}
        compare: Callable[..., float] = functools.partial(largest_finetuned_error, rule=rule)
    else:
        pooling = chosen_pooling(settings, pretrained)
        module, signatures = _pretrained_module(settings, pretrained, tokenizer, pooling)
        more = {"sentence_task": pretrained.sentence_task, "pooling": pooling.to_dict()}
        compare = functools.partial(largest_error, tokenizer=tokenizer, pooling=pooling)
    logging.info("saving %s, then loading it again to compare", ", ".join(sorted(signatures)))
    with files.replace_folder(output_dir) as folder:
        with quiet_stderr(), warnings_only():
            try:
                tf.saved_model.save(module, folder, signatures=signatures)
            except tf.errors.OpError as error:
                raise OSError(f"{output_dir}: cannot be written: {reason_of(error)}") from None
            with literal_path(folder) as found:
                serving = tf.saved_model.load(found).signatures
            with explain_exits(rule, settings.precision):
                difference = compare(
                    serving,
                    pretrained.model,
                    max_seq_length=module.max_seq_length,
                    tolerance=TOLERANCES[settings.precision],
                )
        about = {
            "albert_tf": albert_tf.__version__,
            "tensorflow": tf.__version__,
            "vocabulary": tokenizer.describe(),
            "cleaning": dataclasses.asdict(tokenizer.cleaning),
            "max_seq_length": module.max_seq_length,
            "precision": settings.precision,
            **more,
            "signatures": sorted(signatures),
            "largest_error": difference,
        }
        pretrained.model.config.to_json_file(os.path.join(folder, EXTRA_FOLDER, run_checkpoints.CONFIG_NAME))
        write_export(folder, about)
    logging.info("wrote %s; largest absolute error against the model: %.2g", output_dir, difference)
    return difference


def open_pretrained(checkpoint: str) -> tuple[EncoderModule, dict[str, Callable[..., Any]]]:
    """Loads a pre-trained checkpoint: its module, as it would be exported, and its functions by their names.

    Args:
        checkpoint: as ExportSettings.init_checkpoint.

    Raises:
        InputError: no checkpoint there, one without its vocabulary, or one that was fine-tuned.
    """
    pretrained = load_for_use(checkpoint)
    if pretrained.task is not None:
        raise InputError(f"{checkpoint} was fine-tuned for {pretrained.task}: it fills in no masks; Predictor asks it")
    if pretrained.lacks(_WORDS):
        raise InputError(f"{checkpoint} has no head for masked words: it fills in no masks; embed_texts asks it")
    settings = ExportSettings(init_checkpoint=checkpoint, output_dir="")
    return _pretrained_module(settings, pretrained, tokenizer_for(settings, pretrained), USUAL_POOLING)


def open_encoder(
    checkpoint: str, mode: str | None = None, normalize: bool | None = None, max_seq_length: int | None = None
) -> tuple[EncoderModule, Pooling]:
    """Loads the encoder of a checkpoint, pre-trained or fine-tuned, as it would be exported; and its pooling.

    Args:
        checkpoint: as ExportSettings.init_checkpoint; weights above the encoder may be missing.
        mode, normalize, max_seq_length: as those of ExportSettings.

    Raises:
        InputError: no checkpoint there, one without its vocabulary, or with less than is asked for.
    """
    pretrained = load_pretrained(checkpoint, allow_missing_heads=True)
    settings = ExportSettings(
        init_checkpoint=checkpoint, output_dir="", pooling=mode, normalize=normalize, max_seq_length=max_seq_length
    )
    tokenizer, length = tokenizer_for(settings, pretrained), text_length(settings, pretrained)
    pooling = dataclasses.replace(chosen_pooling(settings, pretrained), max_seq_length=length)
    has_pooler = not pretrained.lacks(POOLER)
    return EncoderModule(serving_copy(pretrained.model), tokenizer, length, pooling, has_pooler), pooling


def _pretrained_module(
    settings: ExportSettings, pretrained: Pretrained, tokenizer: Tokenizer, pooling: Pooling
) -> tuple[EncoderModule, dict[str, Callable[..., Any]]]:
    """The module of a model that was only pre-trained, and its signatures; where heads are missing, of its encoder."""
    has_pooler = not pretrained.lacks(POOLER)
    if pretrained.lacks(_WORDS):
        if pretrained.pooling is None:
            logging.warning("%s has no head for masked words: there is its encoder alone", pretrained.source)
        copy, length = serving_copy(pretrained.model, settings.precision), text_length(settings, pretrained)
        encoder = EncoderModule(copy, tokenizer, length, pooling, has_pooler)
        return encoder, encoder.signatures(settings.layer_outputs)
    sentence_task = _checked_task(pretrained.sentence_task)
    max_seq_length = text_length(settings, pretrained)
    copy = serving_copy(pretrained.model, settings.precision)
    module = ServingModule(copy, tokenizer, max_seq_length, pooling, has_pooler)
    has_order = sentence_task != "none" and pretrained.model.config.type_vocab_size > 1
    has_order = has_order and has_pooler and not pretrained.lacks("sentence_order/")
    return module, module.signatures(sentence_order=has_order, layer_outputs=settings.layer_outputs)


def open_finetuned(checkpoint: str, depth: DepthSettings | None = None) -> tuple[FinetunedModule, FinetunedTask]:
    """Loads a fine-tuned checkpoint: its module, as it would be exported, and what it was fine-tuned for.

    Args:
        checkpoint: as ExportSettings.init_checkpoint.
        depth: which layers are computed; None: all.

    Raises:
        InputError: no checkpoint there, one that was only pre-trained, or without what `depth` asks for.
    """
    pretrained = with_thresholds(load_pretrained(checkpoint))
    if pretrained.task is None:
        raise InputError(f"{checkpoint} was only pre-trained; run_finetuning makes a model of it that predicts")
    chosen = {} if depth is None else depth.given
    settings = ExportSettings(init_checkpoint=checkpoint, output_dir="", **chosen)
    task, tokenizer = pretrained.task, tokenizer_for(settings, pretrained)
    return _finetuned_module(settings, with_first_layers(pretrained, settings.num_layers), tokenizer, task), task


def open_module(checkpoint: str) -> tuple[Any, dict[str, Callable[..., Any]]]:
    """Loads a checkpoint, pre-trained or fine-tuned: its module, as it would be exported, and its functions by name.

    Args:
        checkpoint: as ExportSettings.init_checkpoint.

    Raises:
        InputError: no checkpoint there, or one without its vocabulary.
    """
    pretrained = with_thresholds(load_for_use(checkpoint))
    settings = ExportSettings(init_checkpoint=checkpoint, output_dir="")
    tokenizer = tokenizer_for(settings, pretrained)
    if pretrained.task is None:
        return _pretrained_module(settings, pretrained, tokenizer, chosen_pooling(settings, pretrained))
    module = _finetuned_module(settings, pretrained, tokenizer, pretrained.task)
    return module, module.signatures()


def _finetuned_module(
    settings: ExportSettings, pretrained: Pretrained, tokenizer: Tokenizer, task: FinetunedTask
) -> FinetunedModule:
    model = serving_copy(pretrained.model, settings.precision)
    return make_module(model, tokenizer, task, text_length(settings, pretrained), exit_rule(settings, pretrained))


def _checked_task(task: str) -> str:
    """The sentence task, after a word about one that leaves something out or means something else."""
    if task == "none":
        logging.warning(
            "the model was trained without a sentence task: the signatures sop and sop_from_text are left out"
        )
    if task == "nsp":
        logging.warning('the model was trained with --sentence_task=nsp: "swapped" means of another document')
    return task


@contextlib.contextmanager
def warnings_only() -> Iterator[None]:
    """Leaves out TensorFlow's account of how it saves."""
    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
