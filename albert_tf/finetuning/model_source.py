"""The config, vocabulary and cleaning of a model that is trained further: of the flags, else of its checkpoint."""

import os
from typing import Any

from absl import logging

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.model_agreement import with_dropout
from albert_tf.config import AlbertConfig
from albert_tf.conversion.native import describe_checkpoint
from albert_tf.conversion.pretrained import open_checkpoint
from albert_tf.conversion.stored_checkpoint import StoredCheckpoint
from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.text_cleaning import TextCleaning, agreed_cleaning


def model_and_vocabulary(settings: Any) -> tuple[AlbertConfig, str, TextCleaning]:
    """The config, with the dropout the flags ask for, the vocabulary's path, and how texts are cleaned.

    All may lie with the checkpoint; of a run that is there already, vocabulary and cleaning are those of the run.

    Args:
        settings: training.epoch_settings.EpochSettings with `cleaning`.

    Raises:
        InputError: config or vocabulary are nowhere, or the checkpoint cannot be opened.
    """
    config_file, vocabulary_file = settings.albert_config_file, settings.spm_model_file
    config = AlbertConfig.from_json_file(config_file) if config_file else None
    source, cleaning = settings.init_checkpoint, settings.cleaning
    run_folder = folder_with_checkpoints(settings)
    known = _checkpoint_of_run(run_folder)
    if source is not None:
        known.append(open_checkpoint(source)[1])
        config = config or known[-1].config
    for stored in known:
        vocabulary_file = vocabulary_file or stored.vocabulary_file
    cleaned = next((stored for stored in known if stored.cleaning is not None), None)
    if cleaned is not None:
        cleaning = agreed_cleaning(cleaning, cleaned.cleaning, cleaned.source)
    run_config = os.path.join(run_folder, run_checkpoints.CONFIG_NAME)
    if config is None and files.exists(run_config):
        config = AlbertConfig.from_json_file(run_config)
    if config is None:
        raise InputError("the model's shape is not known; give --albert_config_file, or an --init_checkpoint with one")
    if vocabulary_file is None:
        raise InputError("no vocabulary lies with --init_checkpoint; name its .model or vocab.txt by --spm_model_file")
    return with_dropout(config, settings), vocabulary_file, cleaning


def folder_with_checkpoints(settings: Any) -> str:
    """The folder with the checkpoints of a run; of several runs, which have all but rate and seed alike, the first's.

    Args:
        settings: see model_and_vocabulary.
    """
    folders: tuple[str, ...] = settings.run_folders
    return next((folder for folder in folders if run_checkpoints.CheckpointFolder(folder).all()), folders[0])


def _checkpoint_of_run(output_dir: str) -> list[StoredCheckpoint]:
    """The best or newest checkpoint of a run, without its weights; none where there is none that can be read."""
    try:
        folder = run_checkpoints.find_checkpoint(output_dir)
        return [] if folder is None else [describe_checkpoint(folder)]
    except InputError:
        # Whoever loads the weights says what is wrong with them.
        return []


def describe_origins(settings: Any) -> dict[str, Any]:
    """The weights that a fine-tuning starts from, and its teacher, as checkpoints note them: fields of TrainingState.

    Args:
        settings: finetuning.recipe.RecipeSettings.

    Raises:
        InputError: there is no such checkpoint, or no such teacher.
    """
    source, teacher = settings.init_checkpoint, settings.teacher
    digest = None if source is None else open_checkpoint(os.fspath(source))[1].digest
    return {"init_sha256": digest, "teacher_files": [] if teacher is None else [_describe_teacher(os.fspath(teacher))]}


def _describe_teacher(teacher: str) -> dict[str, Any]:
    """The file of what a teacher said; or a model by its weights, whatever else lies in its folder."""
    name = os.path.basename(os.path.normpath(teacher))
    if os.path.isfile(teacher) or teacher.endswith(".jsonl"):
        return {"name": name, **describe_file(teacher)}
    stored = open_checkpoint(teacher)[1]
    return {"name": name, "bytes": sum(array.nbytes for array in stored.arrays.values()), "sha256": stored.digest}


def check_sizes(settings: Any, max_seq_length: int, config: AlbertConfig, tokenizer: Tokenizer) -> None:
    """Refuses a vocabulary that is not the model's, and texts that are longer than it can read.

    Args:
        settings: see model_and_vocabulary.
        max_seq_length: the most pieces of a text.
        config: of the model.
        tokenizer: of the vocabulary.

    Raises:
        InputError: they do not fit.
    """
    if tokenizer.vocab_size != config.vocab_size:
        raise InputError(
            f"--spm_model_file: {tokenizer.model_file} has {tokenizer.vocab_size} pieces, the config says "
            f"vocab_size={config.vocab_size}; give the vocabulary that the model was trained with"
        )
    if max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"--max_seq_length={max_seq_length} exceeds the model's max_position_embeddings="
            f"{config.max_position_embeddings}"
        )
    is_begun = any(run_checkpoints.CheckpointFolder(folder).all() for folder in settings.run_folders)
    starts_at_random = settings.init_checkpoint is None and not getattr(settings, "init_words", False)
    if settings.do_train and starts_at_random and not is_begun:
        logging.warning("no --init_checkpoint: all weights start at random")


def warn_of_own_checkpoint(settings, found: str) -> None:
    """Says that --init_checkpoint is not asked, where nothing is trained and output_dir has checkpoints of its own."""
    if not settings.do_train and settings.init_checkpoint is not None:
        logging.warning(
            "--init_checkpoint=%s is not read: --output_dir has %s, which is asked", settings.init_checkpoint, found
        )
