"""Trained weights from wherever --init_checkpoint points: a run or checkpoint of ours, another format's, a name."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from absl import logging

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.finetuned_task import FINETUNING_HEADS, FinetunedTask
from albert_tf.checkpoints.model_agreement import compare_configs
from albert_tf.conversion.checkpoint_format import CheckpointFormat, build_model, load_weights
from albert_tf.conversion.formats import recognise
from albert_tf.conversion.stored_checkpoint import StoredCheckpoint
from albert_tf.heads.exit_names import EXITS
from albert_tf.heads.pooling import Pooling
from albert_tf.heads.vector_dense import VECTOR_DENSE
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.published.local_copy import local_copy
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning

_BLOCK = re.compile(r"/block_\d+_(\d+)/")


@dataclasses.dataclass(frozen=True)
class Pretrained:
    """A model with trained weights, and what is known about them.

    Attributes:
        model: with the weights; its `load_report` says what was found.
        vocabulary: {"file", "sha256", "size"} of its vocabulary, or None if unknown.
        vocabulary_file: the sentencepiece model that lies with the checkpoint, or None.
        sentence_task: what its sentence-order head was trained on.
        task: what it was fine-tuned for; None for a pre-trained model.
        source: where the weights were found.
        cleaning: how texts were cleaned for it, or None if unknown.
        pooling: how a text becomes one vector, of a model that was trained for that; None of others.
    """

    model: Any
    vocabulary: dict[str, Any] | None
    vocabulary_file: str | None
    sentence_task: str
    task: FinetunedTask | None
    source: str
    cleaning: TextCleaning | None = None
    pooling: Pooling | None = None

    @property
    def is_cleaning_settled(self) -> bool:
        """True where `cleaning` is that of the texts of its task."""
        return self.task is not None and bool(self.task.cleaning)

    def lacks(self, part: str) -> bool:
        """Tells whether weights whose names begin like this were not found: random numbers stand there."""
        return any(name.startswith(part) for name in self.model.load_report.missing)


def load_pretrained(
    path: str,
    config_file: str | None = None,
    format_name: str | None = None,
    allow_missing_heads: bool = False,
    allow_nonfinite: bool = False,
    dtype: str | None = None,
) -> Pretrained:
    """Makes the model that a checkpoint holds: an AlbertForPretraining, or one of models.finetuning.

    Args:
        path: output_dir of a run (its best checkpoint, else its newest), a checkpoint's folder, a checkpoint of a
            different format: docs/conversion.md lists them; or a name of published weights: docs/published.md.
        config_file: albert_config.json; None takes the config that lies with the weights.
        format_name: one of conversion.settings.FORMAT_NAMES; None goes by what is at the path.
        allow_missing_heads: whether weights above the encoder that are missing start afresh; those of a model of
            sentence-transformers, which is an encoder alone, may in any case.
        allow_nonfinite: whether weights may hold NaN or infinity.
        dtype: name of the model's Keras dtype policy; None: Keras's own.

    Raises:
        InputError: no checkpoint there, a damaged one, one that does not fit the config, or values that are not finite.
    """
    format, stored = open_checkpoint(path, config_file, format_name)
    model = build_model(stored.config, path, stored.task, dtype)
    pooling = stored.pooling
    allow_missing_heads = allow_missing_heads or pooling is not None
    allowed = {"allow_missing_heads": allow_missing_heads, "allow_nonfinite": allow_nonfinite}
    _report(load_weights(model, format, stored, **allowed))
    return _pretrained(model, stored, pooling)


def _pretrained(model: Any, stored: StoredCheckpoint, pooling: Pooling | None = None) -> Pretrained:
    known = {"model": model, "pooling": pooling}
    others = [field.name for field in dataclasses.fields(Pretrained) if field.name not in known]
    return Pretrained(**known, **{name: getattr(stored, name) for name in others})


def initialise(
    model: AlbertForPretraining, path: str, from_group0: bool = False, allow_missing_heads: bool = False
) -> dict[str, Any] | None:
    """Gives a new model the weights at a path.

    Args:
        model: of any config that the weights fit; it may have more layers than theirs.
        path: see load_pretrained.
        from_group0: start every group of blocks from the checkpoint's first one.
        allow_missing_heads: whether weights above the encoder that are missing keep their first values.

    Returns:
        what is known of the weights' vocabulary.

    Raises:
        InputError: no checkpoint there, a damaged one, or weights that do not fit the model.
    """
    format, stored = open_checkpoint(path)
    if stored.config is not None:
        compare_configs(model.config, stored.config, stored.source)
    rows = None
    if from_group0:
        rows, stored = _spread_group0(model, format, stored)
    _report(load_weights(model, format, stored, rows, allow_missing_heads))
    return stored.vocabulary


def initialise_encoder(model: Any, path: str, allow_missing_heads: bool = False) -> Pretrained:
    """Gives a model that is an encoder alone the weights at a path; whatever heads are there are left out.

    A dense layer after pooling keeps its first values where there is none at the path.

    Args:
        model: models.text_vectors.AlbertForEmbedding.
        path: see load_pretrained.
        allow_missing_heads: whether a pooler that is missing keeps its first values.

    Returns:
        the same model, and what is known about the weights.

    Raises:
        InputError: no checkpoint there, a damaged one, or weights that do not fit the model.
    """
    format, stored = open_checkpoint(path)
    if stored.config is not None:
        compare_configs(model.config, stored.config, stored.source)
    pooling = stored.pooling
    _report(load_weights(model, format, stored, allow_missing_heads=allow_missing_heads, fresh=(VECTOR_DENSE,)))
    if model.pooling.dense is not None and pooling is not None and pooling.dense is not None:
        weights = named_weights(model)
        for name, value in pooling.dense.to_weights().items():
            weights[name].assign(value)
    return _pretrained(model, stored, pooling)


def initialise_finetuning(
    model,
    task: FinetunedTask,
    path: str,
    allow_missing_heads: bool = False,
    keep_head: bool = False,
    need_head: bool = False,
) -> Pretrained:
    """Gives a model that is to be fine-tuned the weights at a path; its head too, where it is of the same task.

    Args:
        model: one of models.finetuning.
        task: what it is to be trained for.
        path: see load_pretrained.
        allow_missing_heads: whether a pooler that is missing keeps its first values; a head of the task always may.
        keep_head: take the head of a different task too.
        need_head: refuse a checkpoint whose head is not taken, since the model is not going to be trained.

    Returns:
        the same model, and what is known about the weights.

    Raises:
        InputError: no checkpoint there, a damaged one, weights that do not fit the model, or a head that does not.
    """
    format, stored = open_checkpoint(path)
    if stored.config is not None:
        compare_configs(model.config, stored.config, stored.source)
    known = stored.task
    takes_head = _takes_head(stored, task, keep_head)
    if need_head and not takes_head:
        what = "was only pre-trained" if known is None else f"was fine-tuned for {known}, not for {task}"
        keeping = ", or --keep_head" if known is not None and known.has_head_like(task) else ""
        raise InputError(f"--init_checkpoint={path} {what}; give --do_train, a checkpoint of {task.name}{keeping}")
    have_exits = task.early_exit and known is not None and known.early_exit
    read_other = have_exits and known.exit_pooling != task.exit_pooling
    if need_head and task.early_exit and not have_exits:
        raise InputError(f"--init_checkpoint={path} has no exits; give --do_train, or leave --early_exit out")
    if need_head and read_other:
        raise InputError(f"--init_checkpoint={path} has exits of --exit_pooling={known.exit_pooling}; leave it out")
    if known is not None:
        _tell_of_head(stored, task, takes_head)
        if not takes_head:
            stored = _without(model, format, stored, FINETUNING_HEADS, "the head of another task")
        elif read_other:
            stored = _without(model, format, stored, (EXITS,), "exits that read another vector")
    _report(load_weights(model, format, stored, allow_missing_heads=allow_missing_heads, fresh=FINETUNING_HEADS))
    return dataclasses.replace(_pretrained(model, stored), task=known)


def stored_tasks(output_dir: str, init_checkpoint: str | None) -> Iterator[FinetunedTask]:
    """Yields what the checkpoints of a run and the one that it starts from were fine-tuned for, where they were."""
    for path in (output_dir, init_checkpoint):
        try:
            folder = run_checkpoints.find_checkpoint(local_copy(path)) if path else None
            if folder is not None:
                task = run_checkpoints.read_state(folder).finetuned_task(folder)
            else:
                task = open_checkpoint(path)[1].task if path == init_checkpoint and path else None
        except InputError:
            # Whoever loads the weights says what is wrong with them.
            continue
        if task is not None:
            yield task


def _takes_head(stored: StoredCheckpoint, task: FinetunedTask, keep_head: bool) -> bool:
    """Decides whether the head of a checkpoint, if it has one, is taken over."""
    known = stored.task
    if known is None or known.shares_head_with(task) or not keep_head:
        return known is not None and known.shares_head_with(task)
    if not known.has_head_like(task):
        raise InputError(
            f"--keep_head: {stored.source} has a head of {known}, {known.num_labels} outputs, which does not fit "
            f"{task}, {task.num_labels} outputs; leave the flag out, and the head starts afresh"
        )
    return True


def _tell_of_head(stored: StoredCheckpoint, task: FinetunedTask, is_taken: bool) -> None:
    known = stored.task
    if known.shares_head_with(task):
        logging.info("the head of %s is taken over: it was fine-tuned for %s", stored.source, known)
    elif is_taken:
        logging.warning("the head of %s is kept for %s, though it was fine-tuned for %s", stored.source, task, known)
    else:
        keeping = "; --keep_head takes it over" if known.has_head_like(task) else ""
        logging.info(
            "the head starts afresh: %s was fine-tuned for %s, this run is for %s%s",
            *(stored.source, known, task, keeping),
        )


def _without(model, format: CheckpointFormat, stored: StoredCheckpoint, starts: tuple[str, ...], why: str):
    """The checkpoint without the weights whose names, ours, start with any of these."""
    rows = format.rows(model.config, {*named_weights(model), *stored.arrays})
    return stored.without({row.theirs for row in rows if getattr(row, "ours", "").startswith(starts)}, why)


def open_checkpoint(
    path: str, config_file: str | None = None, format_name: str | None = None
) -> tuple[CheckpointFormat, StoredCheckpoint]:
    """Opens the checkpoint at a path: its format and its contents; arguments and errors as of load_pretrained."""
    if not path:
        raise InputError("--init_checkpoint is empty; name a checkpoint, or leave the flag out to start from scratch")
    folder = local_copy(path)
    format = recognise(folder, format_name)
    return format, format.open(folder, config_file)


def _report(report) -> None:
    for line in str(report).splitlines():
        logging.info("%s", line)


def _spread_group0(model, format: CheckpointFormat, stored: StoredCheckpoint):
    """The table for a model every group of which starts from group 0; and the checkpoint without its other groups."""
    names = list(named_weights(model))
    origins = {name: _BLOCK.sub(r"/block_0_\1/", name) for name in names}
    known = stored.config or dataclasses.replace(model.config, parameter_sharing="all", num_hidden_groups=1)
    groups = known.num_hidden_layers if known.parameter_sharing == "none" else known.num_hidden_groups
    source = dataclasses.replace(known, parameter_sharing="all", num_hidden_groups=groups)
    table = format.rows(source, {*origins.values(), *stored.arrays})
    by_name = {getattr(row, "ours", None): row for row in table}
    rows = [row for row in table if not hasattr(row, "ours")]
    rows += [dataclasses.replace(by_name[origins[name]], ours=name) for name in names if origins[name] in by_name]
    used = {name for row in rows for name in (row.theirs, *getattr(row, "aliases", ()))}
    others = {row.theirs for row in table if row.theirs not in used}
    return rows, stored.without(others, "of another group than the first")
