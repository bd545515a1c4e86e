"""The functions that albert_tf offers at its top: models from wherever they lie, and the work that the commands do.

The commands call the same functions; docs/python.md walks through these.
"""

import dataclasses
import os
from typing import TYPE_CHECKING, Any, TypeAlias

from absl import logging

from albert_tf.conversion.settings import FORMAT_NAMES
from albert_tf.exports.export_file import holds_saved_model, portable_format, read_export
from albert_tf.published.local_copy import local_copy
from albert_tf.published.names import is_published, parse_hub_name
from albert_tf.published.needed_files import VOCABULARY_NAME, stands_for_itself
from albert_tf.runtime import allocator, files, shipped_files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.given_values import path_of
from albert_tf.runtime.settings import StrPath
from albert_tf.serving.model_kind import CHECKPOINT, PORTABLE, kind_of

if TYPE_CHECKING:
    from albert_tf.checkpoints.finetuned_task import FinetunedTask
    from albert_tf.exports.settings import ExportSettings
    from albert_tf.finetuning.settings import FinetuningSettings
    from albert_tf.models.finetuning import FinetuningModel
    from albert_tf.models.pretraining import AlbertForPretraining
    from albert_tf.pretraining.settings import EvaluationSettings, PretrainingSettings
    from albert_tf.serving.exported_model import ExportedModel
    from albert_tf.serving.portable_model import PortableModel
    from albert_tf.tasks.task import Task
    from albert_tf.tokenization.text_cleaning import TextCleaning
    from albert_tf.tokenization.tokenizer import AlbertTokenizer
    from albert_tf.tokenization.word_pieces import WordPieceTokenizer

# What `load` may find, and what `save` writes; isinstance tells which it is.
TrainableModel: TypeAlias = "AlbertForPretraining | FinetuningModel"
LoadedModel: TypeAlias = "AlbertForPretraining | FinetuningModel | ExportedModel | PortableModel"


def load(path: StrPath, config_file: StrPath | None = None, dtype: str | None = None) -> LoadedModel:
    """Loads a model with its weights; what lies at the path is recognised.

    Args:
        path: output_dir of a run (its best checkpoint, else its newest) or a checkpoint's folder; the prefix or folder
            of an official checkpoint; a folder of Hugging Face's save_pretrained or of KerasHub's save_to_preset; a
            SavedModel of `export`; an export as ONNX or LiteRT; or a name of published weights, hf://owner/name or
            official://albert_base_v2.
        config_file: albert_config.json, where none lies with an official checkpoint.
        dtype: one of models.albert.DTYPES, Keras's names for what a model computes in; None: Keras's own.

    Returns:
        AlbertForPretraining; for a fine-tuned checkpoint the model of models.finetuning that it is; for a SavedModel an
        ExportedModel, for an export as ONNX or LiteRT a PortableModel, both of which are called like them. The
        `load_report` of a checkpoint's says what was found of the weights.

    Raises:
        InputError: nothing there that is understood, or a damaged file.
    """
    path = path_of(path)
    kind = kind_of(path)
    if kind != CHECKPOINT:
        if config_file is not None or dtype is not None:
            raise InputError(
                f"{path} is an export, whose config and dtype are its own; leave config_file and dtype out"
            )
        return _load_export(path, kind)
    from albert_tf.models.albert import DTYPES

    if dtype is not None and dtype not in DTYPES:
        raise InputError(f"`dtype` must be one of {', '.join(DTYPES)}. Received {dtype!r}.")
    from albert_tf.conversion.loaded_model import remember
    from albert_tf.conversion.pretrained import load_pretrained

    config_file = None if config_file is None else shipped_files.find(os.fspath(config_file), shipped_files.MODELS)
    pretrained = load_pretrained(path, config_file, allow_missing_heads=True, dtype=dtype)
    model: TrainableModel = pretrained.model
    if model.load_report.missing:
        logging.warning("%s has no %s: random numbers stand there", path, ", ".join(model.load_report.missing))
    remember(model, pretrained)
    return model


def _load_export(path: str, kind: str) -> "ExportedModel | PortableModel":
    if kind == PORTABLE:
        from albert_tf.serving.portable_model import PortableModel

        return PortableModel(path)
    from albert_tf.serving.exported_model import ExportedModel

    return ExportedModel(path)


def load_tokenizer(path: StrPath, **cleaning: Any) -> "AlbertTokenizer | WordPieceTokenizer":
    """Loads the tokenizer of a model.

    Args:
        path: a sentencepiece .model file, a tokenizer.json of its pieces, or a vocab.txt of WordPiece; or what `load`
            takes, with the vocabulary beside it. Of a repository of the Hugging Face hub the weights are not fetched
            where a spiece.model lies beside them.
        **cleaning: do_lower_case, keep_accents, normalization, replace_quotes, see TextCleaning; those left out are
            what the model was fine-tuned or exported with, else the defaults.

    Returns:
        AlbertTokenizer, or WordPieceTokenizer of a vocab.txt.

    Raises:
        InputError: no vocabulary there.
    """
    from albert_tf.tokenization.text_cleaning import TextCleaning
    from albert_tf.tokenization.vocabularies import make_tokenizer
    from albert_tf.tokenization.vocabulary_file import is_vocabulary

    name = path_of(path)
    path = local_copy(name, weights=False)
    known: dict[str, Any] = {}
    vocabulary: str | None
    if holds_saved_model(path):
        about = read_export(path)
        vocabulary, known = os.path.join(path, "assets", about["vocabulary"]["file"]), about["cleaning"]
    elif portable_format(path) is not None:
        about = read_export(path, place="")
        vocabulary, known = os.path.join(path, about["vocabulary"]["file"]), about["cleaning"]
    elif os.path.isfile(path) or is_vocabulary(os.path.basename(path)):
        vocabulary = path
    elif is_published(name) and stands_for_itself(files.list_folder(path)):
        from albert_tf.conversion.hugging_face_tokenizer import folder_cleaning

        vocabulary = os.path.join(path, VOCABULARY_NAME)
        told = folder_cleaning(path)
        known = dataclasses.asdict(told) if told is not None else {}
    else:
        from albert_tf.conversion.pretrained import open_checkpoint

        stored = open_checkpoint(path)[1]
        vocabulary = stored.vocabulary_file
        known = dataclasses.asdict(stored.cleaning) if stored.cleaning is not None else {}
        if vocabulary is None:
            raise InputError(f"{path}: no vocabulary (.model, tokenizer.json, vocab.txt) lies there; give its own path")
    return make_tokenizer(vocabulary, TextCleaning(**{**known, **cleaning}))


def save(
    model: TrainableModel,
    folder: StrPath,
    format: str = "albert_tf",
    vocabulary_file: StrPath | None = None,
    task: "FinetunedTask | None" = None,
    cleaning: "TextCleaning | None" = None,
) -> None:
    """Writes a model's weights, config and vocabulary as a new folder, whole or not at all.

    Heads that `load` did not find, and that were not trained since, are left out.

    Args:
        model: AlbertForPretraining, or one of models.finetuning.
        folder: to make; absent or empty. With format="hugging_face" it may be hf://owner/name or
            hf://owner/name@branch, to which the folder is then uploaded, with a model card.
        format: "albert_tf", "official", "hugging_face", "keras_hub", "official_bert", "hugging_face_bert" or
            "sentence_transformers", where one vector of a text is made as `load` found, else of the mean.
        vocabulary_file: the sentencepiece model to go along; None takes the one that `load` found with the model.
        task: FinetunedTask of a model that was trained for a task: its classes by name, whether it takes pairs, several
            labels at once, how texts were cleaned; Predictor and exports go by it. None takes what `load` found, else
            what the model's class tells: one text, and LABEL_0, LABEL_1, ...
        cleaning: of texts, for the tokenizer of format "hugging_face"; None takes the task's, else what `load` found,
            else the defaults.

    Raises:
        InputError: no such model, no such format, one that cannot express the model, weights that are not finite, a
            vocabulary or a task of another model, a folder that holds something, or no right to upload.
    """
    path = path_of(folder)
    if is_published(path) and format != "hugging_face":
        raise InputError(f"{path}: only `format` 'hugging_face' can be uploaded. Received {format!r}.")
    if format not in FORMAT_NAMES:
        raise InputError(f"`format` must be one of {', '.join(FORMAT_NAMES)}. Received {format!r}.")
    from albert_tf.conversion.formats import warn_of_losses
    from albert_tf.conversion.loaded_model import check_parts, choose_format
    from albert_tf.conversion.task_of_model import task_of
    from albert_tf.models.pretraining import AlbertForPretraining

    if not isinstance(model, AlbertForPretraining) and task_of(model) is None:
        raise InputError(
            "`model` must be an AlbertForPretraining, whose `albert` is the encoder, or a model of fine-tuning. "
            f"Received {type(model).__name__}."
        )
    vocabulary = os.fspath(vocabulary_file or getattr(model, "vocabulary_file", None) or "") or None
    if vocabulary is None:
        logging.warning("no vocabulary goes along with %s; `vocabulary_file` names one", folder)
    elif not files.exists(vocabulary):
        raise InputError(f"the vocabulary {vocabulary} is not there; name one by `vocabulary_file`")
    task = task or getattr(model, "finetuned_task", None)
    check_parts(model, vocabulary, task, cleaning)
    target = choose_format(model, format, task, cleaning)
    if is_published(path):
        from albert_tf.uploading.publish import uploaded_folder

        with uploaded_folder(parse_hub_name(path), task or task_of(model), target.cleaning) as place:
            target.save(model, place, vocabulary, task)
    else:
        target.save(model, path, vocabulary, task)
    warn_of_losses(target, model, task)


def _check_kind(settings: Any, kind: type) -> None:
    """Raises InputError unless the settings are of a kind."""
    if not isinstance(settings, kind):
        raise InputError(f"`settings` must be {kind.__name__}. Received {type(settings).__name__}.")


def pretrain(settings: "PretrainingSettings") -> None:
    """Does what run_pretraining does: trains, evaluates, resumes.

    Args:
        settings: PretrainingSettings, whose fields are the flags of the command.
    """
    from albert_tf.pretraining.pretrain import run
    from albert_tf.pretraining.settings import PretrainingSettings

    _check_kind(settings, PretrainingSettings)
    allocator.release_if_asked(settings.release_memory)
    run(settings)


def finetune(settings: "FinetuningSettings", task: "Task | None" = None) -> dict[str, Any]:
    """Does what run_finetuning does: trains, evaluates, predicts.

    Args:
        settings: FinetuningSettings, whose fields are the flags of the command.
        task: a tasks.task.Task of your own in place of the one that the settings name.

    Returns:
        what the results.json of the run holds, "scores" among it.
    """
    from albert_tf.finetuning.finetune import run
    from albert_tf.finetuning.settings import FinetuningSettings

    _check_kind(settings, FinetuningSettings)
    allocator.release_if_asked(settings.release_memory)
    return run(settings, task)


def evaluate(settings: "EvaluationSettings") -> dict[str, Any]:
    """Does what run_evaluation does: measures a pre-trained model on records.

    Args:
        settings: EvaluationSettings, whose fields are the flags of the command.

    Returns:
        the figures by name, "masked_lm_accuracy" and "masked_lm_loss" (nats) among them.
    """
    from albert_tf.pretraining.evaluation import evaluate_checkpoint
    from albert_tf.pretraining.settings import EvaluationSettings

    _check_kind(settings, EvaluationSettings)
    return evaluate_checkpoint(settings)


def export(settings: "ExportSettings") -> float:
    """Does what export_saved_model does: writes a SavedModel that takes text and ids.

    Args:
        settings: ExportSettings, whose fields are the flags of the command.

    Returns:
        the largest absolute difference between what the SavedModel and the model compute.
    """
    from albert_tf.exports.saved_model import export_saved_model
    from albert_tf.exports.settings import ExportSettings

    _check_kind(settings, ExportSettings)
    return export_saved_model(settings)
