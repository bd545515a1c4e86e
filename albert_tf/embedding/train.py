"""A training of vectors from its settings to its results."""

import dataclasses
import os
from typing import Any

from absl import logging

from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import open_checkpoint
from albert_tf.embedding.dev_set import DevSet
from albert_tf.embedding.features import EmbeddingData
from albert_tf.embedding.objectives import Contrastive, CosineRegression, Objective, SimCSE
from albert_tf.embedding.run import EmbeddingRun
from albert_tf.embedding.settings import AUTO, CONTRASTIVE, COSINE, SIMCSE, EmbeddingSettings
from albert_tf.embedding.text_tables import TextTable, columns_in, read_table, warn_of_unread
from albert_tf.finetuning.evaluation import format_scores
from albert_tf.finetuning.model_source import check_sizes, model_and_vocabulary
from albert_tf.heads.pooling import USUAL_POOLING, Pooling
from albert_tf.runtime import allocator
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.settings import StrPath, fields_of
from albert_tf.tasks.scores import check_packages
from albert_tf.tokenization.packing import room_for_text
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.training.machine import choose_precision
from albert_tf.training.session import open_session
from albert_tf.training.stop_signals import StopSignals

# Where neither the flags nor the checkpoint say where texts are cut.
_USUAL_LENGTH = 128
# Of texts that go through the model twice; the published configs of version 2 have none, and then both are the same.
_SIMCSE_DROPOUT = 0.1
_ROWS = {SIMCSE: "single texts", CONTRASTIVE: "two texts or more", COSINE: "two texts with a score"}
_DROPOUT = ("hidden_dropout_prob", "attention_probs_dropout_prob")


def run(settings: EmbeddingSettings) -> dict[str, Any]:
    """Trains and evaluates, as the settings say; goes on where it was cut off.

    Returns:
        what results.json in output_dir holds.

    Raises:
        InputError: whatever is wrong with the settings, the texts or the checkpoints.
        RunStopped: a signal came, or another worker was lost.
    """
    settings = settings.with_flags()
    table, dev = read_tables(settings)
    if dev is not None and dev.scores is not None:
        check_packages()
    objective = make_objective(settings, table)
    if objective.compares_rows and table is not None:
        check_variety(table)
    config, vocabulary_file, cleaning = model_and_vocabulary(settings)
    config = _with_dropout(objective, config, settings)
    pooling = choose_pooling(settings, config)
    length = pooling.max_seq_length or config.max_position_embeddings
    tokenizer = make_tokenizer(vocabulary_file, cleaning)
    check_sizes(settings, length, config, tokenizer)
    data = EmbeddingData(settings, length, tokenizer, table, dev)
    with open_session(settings, [settings.train_batch_size]) as session, StopSignals() as signals:
        settings = choose_precision(settings, session.strategy, session.agreement)
        devices = (session.strategy, session.cluster, signals)
        return EmbeddingRun(settings, config, pooling, objective, data, *devices).run()


def train_embedder(settings: EmbeddingSettings) -> dict[str, Any]:
    """Does what train_embeddings does: trains a model to make vectors of texts, evaluates, resumes.

    Args:
        settings: EmbeddingSettings, whose fields are the flags of the command.

    Returns:
        what the results.json of the run holds: "checkpoint", which albert_tf.Embedder opens, and "scores".
    """
    if not isinstance(settings, EmbeddingSettings):
        raise InputError(f"`settings` must be EmbeddingSettings. Received {type(settings).__name__}.")
    allocator.release_if_asked(settings.release_memory)
    return run(settings)


def read_tables(settings: EmbeddingSettings) -> tuple[TextTable | None, DevSet | None]:
    """The rows to train on, and those to evaluate by."""
    train_file = settings.train_file if settings.do_train else None
    dev_file = settings.dev_file if settings.do_eval else None
    present = {os.fspath(path): columns_in(os.fspath(path)) for path in (train_file, dev_file) if path is not None}
    scored = settings.score_column
    if scored is not None and not any(scored in names for names in present.values()):
        raise InputError(f"--score_column: neither of {', '.join(present)} has a column {scored!r}")

    def read(path: StrPath, columns: tuple[str, ...], needs_scores: bool = True) -> TextTable:
        found = read_table(os.fspath(path), columns, scored, settings.max_score, needs_scores)
        with_scores = "" if found.scores is None else ", with scores"
        logging.info("%s: %s rows of %s%s", path, f"{len(found.texts):,}", ", ".join(found.columns), with_scores)
        return found

    columns = settings.columns("text_columns")
    table = None if train_file is None else read(train_file, columns, settings.objective in (AUTO, COSINE))
    of_dev = settings.columns("dev_text_columns")
    if dev_file is not None and not of_dev and set(columns) <= set(present[os.fspath(dev_file)]):
        of_dev = columns
    dev = None if dev_file is None else DevSet.from_table(read(dev_file, of_dev))
    if all(found is None or found.scores is None for found in (table, dev)):
        _warn_of_idle(settings, "max_score", f"without scores, which {' and '.join(present)} lack")
    return table, dev


def _warn_of_idle(settings: EmbeddingSettings, name: str, where: str) -> None:
    """Says that a setting, if it is not as usual, has no effect."""
    value = getattr(settings, name)
    if value != fields_of(EmbeddingSettings)[name].default:
        logging.warning("--%s=%g has no effect %s", name, value, where)


def make_objective(settings: EmbeddingSettings, table: TextTable | None) -> Objective:
    """The objective of a table's rows, as --objective says or as they ask for.

    Raises:
        InputError: the rows are not of the objective that is asked for.
        FlagError: flags that mean nothing to it.
    """
    if table is None:
        return SimCSE(settings.temperature)
    count, name = len(table.columns), settings.objective
    if name == AUTO:
        name = SIMCSE if count == 1 else CONTRASTIVE if table.scores is None or count > 2 else COSINE
    wanted = {SIMCSE: count == 1, CONTRASTIVE: count > 1, COSINE: count == 2 and table.scores is not None}
    if not wanted[name]:
        raise InputError(
            f"--objective={name} learns from {_ROWS[name]}; {table.path} has {', '.join(table.columns)}"
            f"{'' if table.scores is None else ', with scores'}; name columns by --text_columns and --score_column"
        )
    if settings.symmetric and name != CONTRASTIVE:
        raise FlagError(f"--symmetric goes with --objective={CONTRASTIVE}, which {table.path} has no pairs for")
    logging.info("objective: %s", name)
    if name == COSINE:
        _warn_of_idle(settings, "temperature", f"with --objective={COSINE}")
    if name != COSINE and table.scores is not None:
        warn_of_unread(table.path)
    made = {
        SIMCSE: lambda: SimCSE(settings.temperature),
        CONTRASTIVE: lambda: Contrastive(settings.temperature, settings.symmetric),
        COSINE: CosineRegression,
    }[name]()
    if made.compares_rows and settings.gradient_accumulation_steps > 1:
        raise FlagError(
            f"--gradient_accumulation_steps: of {name} every part of a batch would be compared with itself alone; "
            "give a smaller --train_batch_size, or --remat"
        )
    return made


def check_variety(table: TextTable) -> None:
    """Refuses rows of which none has another to be told from: the loss would be 0, and nothing learned.

    Raises:
        InputError: all have the same text in a column, and no text that is wrong for them.
    """
    for place, column in enumerate(table.columns if len(table.columns) < 3 else ()):
        if len({texts[place] for texts in table.texts}) < 2:
            raise InputError(
                f"{table.path}: all rows have the same {column}, so no text of it can be told from another; give more "
                "of them, or a third column of texts that are wrong"
            )


def _with_dropout(objective: Objective, config: AlbertConfig, settings: EmbeddingSettings) -> AlbertConfig:
    """The config with dropout, where two passes of a text would be the same without, and no flag asks for that."""
    asked = any(getattr(settings, name) is not None for name in _DROPOUT)
    if not settings.do_train or objective.passes == 1 or any(getattr(config, name) for name in _DROPOUT):
        return config
    if asked:
        raise InputError(
            f"--objective={SIMCSE} compares a text with itself under dropout; give --hidden_dropout_prob above 0"
        )
    logging.info("the config has no dropout, which %s needs: it is %s in this run", SIMCSE, _SIMCSE_DROPOUT)
    return dataclasses.replace(
        config, hidden_dropout_prob=_SIMCSE_DROPOUT, attention_probs_dropout_prob=_SIMCSE_DROPOUT
    )


def choose_pooling(settings: EmbeddingSettings, config: AlbertConfig) -> Pooling:
    """The pooling of a run, with its length: as the flags say, else the checkpoint, else as usual."""
    known = None
    if settings.init_checkpoint is not None:
        known = open_checkpoint(os.fspath(settings.init_checkpoint))[1].pooling
    pooling = (known or USUAL_POOLING).with_choices(settings.pooling, settings.normalize)
    length = settings.max_seq_length or pooling.max_seq_length or min(_USUAL_LENGTH, config.max_position_embeddings)
    # Exports and embed_texts take no less.
    room_for_text(length, pair=True)
    return dataclasses.replace(pooling, max_seq_length=length)


def format_results(results: dict[str, Any]) -> str:
    """The scores as a table for a person; one line where nothing was scored."""
    if "scores" not in results:
        return f"{results['checkpoint']}: not evaluated by this command"
    return format_scores(list(results["scores"].items()))
