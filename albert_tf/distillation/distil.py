"""A distillation of vectors from its settings to its results."""

import dataclasses
import os
from typing import Any

from albert_tf.distillation.run import DistillationRun
from albert_tf.distillation.settings import DistillationSettings
from albert_tf.distillation.teacher import TaughtTexts, open_teacher
from albert_tf.distillation.word_vectors import check_scipy
from albert_tf.embedding.dev_set import DevSet
from albert_tf.embedding.features import EmbeddingData
from albert_tf.embedding.run import check_own_checkpoints, newest_pooling
from albert_tf.embedding.text_tables import TextTable, columns_in, text_columns
from albert_tf.embedding.train import choose_pooling, read_tables
from albert_tf.finetuning.model_source import check_sizes, model_and_vocabulary
from albert_tf.heads.pooling import Pooling
from albert_tf.heads.vector_dense import VectorDense
from albert_tf.rows.table_prediction import TablePrediction
from albert_tf.runtime import allocator
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.scores import check_packages
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.training.machine import choose_precision
from albert_tf.training.session import Session, open_session
from albert_tf.training.stop_signals import StopSignals


def run(settings: DistillationSettings) -> dict[str, Any]:
    """Asks the teacher, trains and evaluates, as the settings say; goes on where it was cut off.

    Returns:
        what results.json in output_dir holds.

    Raises:
        InputError: whatever is wrong with the settings, the texts, the teacher or the checkpoints.
        RunStopped: a signal came, or another worker was lost.
    """
    settings = settings.with_flags()
    dev = _read_dev(settings)
    config, vocabulary_file, cleaning = model_and_vocabulary(settings)
    pooling = choose_pooling(settings, config)
    length = pooling.max_seq_length or config.max_position_embeddings
    tokenizer = make_tokenizer(vocabulary_file, cleaning)
    check_sizes(settings, length, config, tokenizer)
    # What can be refused is refused before the teacher is asked, for hours perhaps.
    check_own_checkpoints(os.fspath(settings.output_dir), pooling, any_dense=settings.teacher_width)
    if settings.do_train and settings.init_words and settings.init_checkpoint is None:
        check_scipy()
    with open_session(settings, [settings.train_batch_size]) as session:
        taught = _ask_teacher(settings, session) if settings.do_train else None
        pooling = _with_dense(settings, pooling, taught)
        table = None if taught is None else TextTable(str(settings.train_file), ("text",), _rows(taught), None)
        data = EmbeddingData(settings, length, tokenizer, table, dev)
        settings = choose_precision(settings, session.strategy, session.agreement)
        with StopSignals() as signals:
            devices = (session.strategy, session.cluster, signals)
            return DistillationRun(settings, taught, config, pooling, data, *devices).run()


def distil_embedder(settings: DistillationSettings) -> dict[str, Any]:
    """Does what distil_vectors does: trains a small model to give the vectors of a larger one, evaluates, resumes.

    Args:
        settings: DistillationSettings, whose fields are the flags of the command.

    Returns:
        what the results.json of the run holds: "checkpoint", which albert_tf.Embedder opens, and "scores".

    Raises:
        InputError: whatever is wrong with the settings, the texts, the teacher or the checkpoints.
    """
    if not isinstance(settings, DistillationSettings):
        raise InputError(f"`settings` must be DistillationSettings. Received {type(settings).__name__}.")
    allocator.release_if_asked(settings.release_memory)
    return run(settings)


def _with_dense(settings: DistillationSettings, pooling: Pooling, taught: TaughtTexts | None) -> Pooling:
    """The pooling with a dense layer to the teacher's width, where one is asked for and --init_checkpoint has none."""
    if not settings.teacher_width:
        return pooling
    if pooling.dense is not None:
        if taught is not None and pooling.dense.size != taught.size:
            raise InputError(
                f"--teacher_width: --init_checkpoint={settings.init_checkpoint} has a dense layer to "
                f"{pooling.dense.size} numbers, and --teacher gives {taught.size}; leave the flag out to keep the layer"
            )
        return pooling
    if taught is not None:
        return dataclasses.replace(pooling, dense=VectorDense(taught.size))
    known = newest_pooling(os.fspath(settings.output_dir))
    return dataclasses.replace(pooling, dense=None if known is None else known.dense)


def _read_dev(settings: DistillationSettings) -> DevSet | None:
    if not settings.do_eval:
        return None
    _, dev = read_tables(dataclasses.replace(settings, do_train=False))
    if dev is not None and dev.scores is not None:
        check_packages()
    return dev


def _ask_teacher(settings: DistillationSettings, session: Session) -> TaughtTexts:
    """The texts with their vectors; the chief makes those that are not there, and the others wait for it."""
    source = os.fspath(settings.train_file or "")
    if not os.path.isfile(source):
        raise InputError(f"--train_file={source}: no such file on this machine")
    texts = _texts_in(source, settings)
    kept = None if settings.vectors_file is None else os.fspath(settings.vectors_file)
    teacher = os.fspath(settings.teacher or "")
    taught = open_teacher(teacher, texts, kept) if session.cluster.is_chief else None
    session.agreement.mean(0.0)
    return open_teacher(teacher, texts, kept) if taught is None else taught


def _texts_in(source: str, settings: DistillationSettings) -> TablePrediction:
    """The texts of a file: its one column of texts, or its lines, as embed_texts reads them."""
    present = columns_in(source)
    scored = settings.score_column
    # With --do_eval it may be that of the other file.
    if scored is not None and scored not in present and not settings.do_eval:
        raise InputError(f"--score_column: {source} has no column {scored!r}")
    if not present:
        if settings.columns("text_columns"):
            raise InputError(f"--text_columns: {source} is read as lines, a text in each")
        return TablePrediction(source, input_format="text", batch_size=settings.eval_batch_size)
    asked = settings.columns("text_columns")
    texts = asked or text_columns(present, scored)
    if len(texts) != 1 or texts[0] not in present:
        raise InputError(
            f"{source}: a student learns one text a row; name its column by --text_columns. It has "
            f"{', '.join(map(repr, present))}{', not ' + repr(texts[0]) if asked else ''}"
        )
    return TablePrediction(source, columns=(f"text={texts[0]}",), batch_size=settings.eval_batch_size)


def _rows(taught: TaughtTexts) -> list[tuple[str, ...]]:
    return [(text,) for text in taught.texts]
