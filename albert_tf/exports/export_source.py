"""Source and place of an export: the checkpoint, its vocabulary, task and length, checked; the folder to make."""

import dataclasses
import hashlib
import os

import tensorflow as tf
from absl import logging

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.dev_thresholds import LABEL_THRESHOLD, NULL_THRESHOLD, dev_thresholds, open_threshold
from albert_tf.conversion.pretrained import Pretrained, load_pretrained
from albert_tf.exports.chosen_depth import with_first_layers
from albert_tf.exports.export_file import is_export
from albert_tf.exports.settings import SourceSettings
from albert_tf.heads.pooling import POOLED, USUAL_POOLING, Pooling
from albert_tf.inputs.finetuning_features import MAX_SPAN_LENGTH
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.output_paths import refuse_current_folder
from albert_tf.tasks.thresholds import USUAL_THRESHOLD
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.packing import room_for_text
from albert_tf.tokenization.text_cleaning import agreed_cleaning
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.tokenization.vocabulary_file import count_pieces, read_model

# Beginning of the names of the pooler's weights.
POOLER = "albert/pooler/"


def open_source(settings: SourceSettings) -> tuple[str, Pretrained, Tokenizer]:
    """The folder to make, the model to export and its tokenizer.

    Args:
        settings: what is exported, and where to.

    Raises:
        InputError: checkpoint, config and vocabulary do not fit, or output_dir holds something.
    """
    output_dir = os.fspath(settings.output_dir).rstrip("/")
    _check_output_dir(output_dir, settings.overwrite)
    config_file = None if settings.albert_config_file is None else os.fspath(settings.albert_config_file)
    checkpoint = os.fspath(settings.init_checkpoint)
    pretrained = with_thresholds(load_for_use(checkpoint, config_file))
    return output_dir, with_first_layers(pretrained, settings.num_layers), tokenizer_for(settings, pretrained)


def load_for_use(path: str, config_file: str | None = None) -> Pretrained:
    """A model that is asked or exported as it is: of a pre-trained one heads may be missing, as `lacks` tells.

    Args:
        path, config_file: see load_pretrained.

    Raises:
        InputError: as load_pretrained's; or weights of what the model was fine-tuned for are missing.
    """
    pretrained = load_pretrained(path, config_file, allow_missing_heads=True)
    missing = pretrained.model.load_report.missing
    if pretrained.task is not None and missing:
        raise InputError(
            f"{pretrained.source} was fine-tuned for {pretrained.task}, and lacks weights of it: {', '.join(missing)}"
        )
    return pretrained


def tokenizer_for(settings: SourceSettings, pretrained: Pretrained) -> Tokenizer:
    """The tokenizer of a checkpoint; it cleans as for fine-tuning, as the flags say, or as for the records.

    Raises:
        InputError: no vocabulary, or not that of the model.
    """
    cleaning = agreed_cleaning(
        settings.cleaning, pretrained.cleaning, pretrained.source, pretrained.is_cleaning_settled
    )
    path = _vocabulary_file(settings, pretrained)
    # Before sentencepiece sees it, which a damaged one can lead astray.
    _check_vocabulary(path, pretrained)
    return make_tokenizer(path, cleaning)


def text_length(settings: SourceSettings, pretrained: Pretrained) -> int:
    """The length that texts are cut to: the settings', else that of its training, else max_position_embeddings.

    Raises:
        InputError: more than the model has positions, or no room for text.
    """
    length, config = settings.max_seq_length, pretrained.model.config
    if pretrained.task is not None:
        length = length or pretrained.task.settings.get("max_seq_length")
    if pretrained.pooling is not None:
        length = length or pretrained.pooling.max_seq_length
    longest = config.max_position_embeddings
    if length is None:
        return longest
    if length > longest:
        raise InputError(f"--max_seq_length={length} is more than the model's max_position_embeddings={longest}")
    room_for_text(length, pair=True)
    if pretrained.task is not None and pretrained.task.head == "span_categories":
        widest = pretrained.task.settings.get("max_span_length", MAX_SPAN_LENGTH)
        if length < 2 * widest + 3:
            raise InputError(
                f"spans of up to max_span_length={widest} pieces need a max_seq_length of {2 * widest + 3} or more; "
                f"received {length}"
            )
    if settings.max_seq_length is not None and pretrained.task is not None:
        # A question of the most pieces, [CLS], two [SEP] and a piece of the text.
        needed = pretrained.task.settings.get("max_query_length", 0) + 4
        if pretrained.task.head in ("span", "span_beam") and length < needed:
            raise InputError(f"--max_seq_length={length} leaves no room beside long questions; give at least {needed}")
    return length


def chosen_pooling(settings: SourceSettings, pretrained: Pretrained) -> Pooling:
    """The pooling of the exported model: as the settings say, else the checkpoint, else the mean.

    Raises:
        InputError: a pooler is asked for that the checkpoint lacks.
    """
    pooling = (pretrained.pooling or USUAL_POOLING).with_choices(settings.pooling, settings.normalize)
    model = pretrained.model
    if pooling.mode == POOLED and (model.albert.pooler is None or pretrained.lacks(POOLER)):
        raise InputError(f"--pooling={POOLED}: {pretrained.source} has no pooler; choose mean or cls")
    return pooling


def refuse_pooling(settings: SourceSettings, head: str) -> None:
    """Raises InputError if one vector for each text is described, and what is exported gives none."""
    if settings.pooling is not None or settings.normalize is not None:
        name = "normalize" if settings.pooling is None else "pooling"
        raise InputError(f"--{name} is for one vector of a text, which the head {head} does not give; leave it out")


def with_thresholds(pretrained: Pretrained) -> Pretrained:
    """The same with the thresholds that lie beside its checkpoint in its task, where it has one."""
    if pretrained.task is None:
        return pretrained
    return dataclasses.replace(pretrained, task=_with_threshold(pretrained.task, pretrained.source))


# Without a dev split: what a task is asked with, and what that means.
_USUAL = {
    LABEL_THRESHOLD: (str(USUAL_THRESHOLD), f"a label is given from probability {USUAL_THRESHOLD} on"),
    NULL_THRESHOLD: (0.0, "null odds above 0 count as no answer"),
}


def _with_threshold(task: FinetunedTask, checkpoint: str) -> FinetunedTask:
    """The task with the odds of no answer above which none is given, or with the thresholds of its labels.

    Args:
        task: of a checkpoint.
        checkpoint: its folder; the evaluation beside it noted what was best on the dev split.
    """
    option = open_threshold(task)
    if option is None:
        return task
    found = dev_thresholds(task, checkpoint)
    if not found:
        value, meaning = _USUAL[option]
        logging.warning("%s was not evaluated on a dev split: %s", checkpoint, meaning)
        found = {option: value}
    return dataclasses.replace(task, options={**task.options, **found})


def _check_output_dir(output_dir: str, overwrite: bool) -> None:
    if not output_dir:
        raise FlagError("--output_dir must name a folder other than /")
    refuse_current_folder(output_dir, "--output_dir")
    files.recover(output_dir)
    if not tf.io.gfile.exists(output_dir):
        return
    if not tf.io.gfile.isdir(output_dir):
        raise InputError(f"--output_dir: {output_dir} is a file; name a folder")
    if not tf.io.gfile.listdir(output_dir):
        return
    if not is_export(output_dir):
        raise InputError(f"--output_dir: {output_dir} is not empty and holds no export; name another folder")
    if not overwrite:
        raise InputError(f"--output_dir: {output_dir} holds an export already; --overwrite replaces it")


def _check_vocabulary(path: str, pretrained: Pretrained) -> None:
    """Raises InputError if a file is not the vocabulary of the model."""
    contents = read_model(path)
    size = count_pieces(contents, path)
    source, vocab_size = pretrained.source, pretrained.model.config.vocab_size
    if size != vocab_size:
        raise InputError(
            f"--spm_model_file: {path} has {size} pieces, the model of {source} has vocab_size={vocab_size}; give the "
            "vocabulary that it was trained with"
        )
    sha256 = hashlib.sha256(contents).hexdigest()
    if pretrained.vocabulary is None:
        logging.warning("%s does not say which vocabulary it was trained with; only its size was checked", source)
        return
    trained_with = pretrained.vocabulary
    if trained_with["sha256"] != sha256:
        raise InputError(
            f"--spm_model_file: {path} is damaged, or is not the vocabulary that {source} was trained with "
            f"({trained_with['file']}, SHA-256 {trained_with['sha256'][:12]}...; this one's is {sha256[:12]}...)"
        )


def _vocabulary_file(settings: SourceSettings, pretrained: Pretrained) -> str:
    path = settings.spm_model_file or pretrained.vocabulary_file
    if path is None:
        raise InputError(
            f"{settings.init_checkpoint}: no vocabulary (.model, vocab.txt) lies with it; lay the one that the model "
            "was trained with there, or name it by --spm_model_file when it is exported"
        )
    return os.fspath(path)
