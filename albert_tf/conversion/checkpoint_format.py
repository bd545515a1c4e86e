"""The interface of a checkpoint format: recognising it, opening it, its table of names, writing it."""

import abc
import dataclasses
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import keras
import numpy as np
from absl import logging

from albert_tf.checkpoints.finetuned_task import FinetunedTask, is_finetuning_weight
from albert_tf.config import AlbertConfig
from albert_tf.conversion.load_report import LoadReport, match
from albert_tf.conversion.rows import ConstantRow, Row
from albert_tf.conversion.stored_checkpoint import StoredCheckpoint
from albert_tf.conversion.task_of_model import task_of
from albert_tf.heads.exit_names import EXITS
from albert_tf.models.finetuning import (
    make_finetuning_model,
)
from albert_tf.models.named_weights import find_nonfinite, named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.published.names import is_published
from albert_tf.records.names import SOP
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.output_paths import refuse_current_folder
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning
from albert_tf.tokenization.vocabulary_file import read_model

CONFIG_NAME = "albert_config.json"


class CheckpointFormat(abc.ABC):
    """One format, read and written by one table.

    Attributes:
        name: its word on the command line.
        title: what a checkpoint of it is called in messages.
        sentence_task: what the head for pairs of sentences is trained on where such checkpoints are made.
        cleaning: of texts, for a format that tells it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    sentence_task: ClassVar[str] = SOP
    cleaning: TextCleaning = OFFICIAL_CLEANING

    @abc.abstractmethod
    def recognise(self, path: str) -> bool:
        """Tells whether the path holds a checkpoint of this format, sound or not."""

    @abc.abstractmethod
    def open(self, path: str, config_file: str | None = None) -> StoredCheckpoint:
        """Reads what the path holds.

        Args:
            path: one that `recognise` accepts.
            config_file: an albert_config.json to go by instead of the config that lies there.

        Raises:
            InputError: it is damaged, or its config is beyond our model.
        """

    @abc.abstractmethod
    def rows(self, config: AlbertConfig, names: Iterable[str]) -> Sequence[Row | ConstantRow]:
        """The table for a model of this config.

        Args:
            config: of the model.
            names: of its weights, by which a format goes that has no names of its own.

        Raises:
            InputError: the format cannot express such a model.
        """

    @abc.abstractmethod
    def write(
        self,
        folder: str,
        config: AlbertConfig,
        arrays: Mapping[str, np.ndarray],
        vocabulary_file: str | None,
        task: FinetunedTask | None = None,
    ):
        """Writes a checkpoint's files into an empty folder.

        Args:
            folder: exists.
            config: of the model.
            arrays: by the names of the format.
            vocabulary_file: a sentencepiece model to go along, or None.
            task: what the model was fine-tuned for; None for a pre-trained one.

        Raises:
            InputError: the format cannot express such a config.
            OSError: no room, or no right to write.
        """

    def load(self, path: str, config: AlbertConfig | None = None, allow_missing_heads: bool = False):
        """Reads a checkpoint into a new model, and prints the report, which stays in its `load_report`.

        Returns:
            AlbertForPretraining, or for a fine-tuned checkpoint the model of models.finetuning that it is.

        Raises:
            InputError: no such checkpoint, a damaged one, or one that does not fit its config.
        """
        if not self.recognise(path):
            raise InputError(f"{path}: no such checkpoint: {self.title} was expected")
        stored = self.open(path)
        model = build_model(config or stored.config, path, stored.task)
        report = load_weights(model, self, stored, allow_missing_heads=allow_missing_heads)
        sys.stderr.write(f"{report}\n")
        return model

    def save(self, model, folder: str, vocabulary_file: str | None = None, task: FinetunedTask | None = None) -> None:
        """Writes a model's checkpoint as a new folder, whole or not at all.

        Args:
            model: pre-trained, or fine-tuned for a task.
            folder: to make; absent or empty.
            vocabulary_file: a sentencepiece model to go along, or None.
            task: of a fine-tuned model; None goes by its class.

        Raises:
            InputError: the format cannot express the model, its weights are not finite, or the folder holds something.
        """
        check_output(folder)
        weights = {name: value.numpy().astype("float32") for name, value in named_weights(model).items()}
        weights = self._without_random(weights, model, folder)
        if nonfinite := find_nonfinite(weights):
            raise InputError(f"{folder} is not written: the model holds NaN or infinite values: {', '.join(nonfinite)}")
        arrays = self.encode(model.config, weights)
        with files.replace_folder(folder) as temporary:
            self.write(temporary, model.config, arrays, vocabulary_file, _complete(task, task_of(model)))

    def _without_random(self, weights: dict[str, np.ndarray], model, folder: str) -> dict[str, np.ndarray]:
        """The weights without those that were missing when the model was loaded, and that nobody trained since."""
        before = getattr(model, "random_weights", {})
        random = [name for name, value in before.items() if np.array_equal(weights[name], value)]
        placeless = self.left_out(model.config, random)
        if lacking := [name for name in random if name not in placeless]:
            logging.warning("%s goes without %s: random numbers, as when it was loaded", folder, ", ".join(lacking))
        return {name: value for name, value in weights.items() if name not in random}

    def left_out(self, config: AlbertConfig, names: Iterable[str]) -> list[str]:
        """The weights, of these names, that the format has no place for."""
        names = list(names)
        named = {getattr(row, "ours", None) for row in self.rows(config, names)}
        return [name for name in names if name not in named]

    def encode(self, config: AlbertConfig, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Our weights by the names, and in the layout, of the format.

        Weights of pre-training that it has no name for are left out, and so are its rows for heads not there.

        Raises:
            InputError: it has no name for a fine-tuning head, or no names for such a model.
        """
        rows = [row for row in self.rows(config, weights) if isinstance(row, ConstantRow) or row.ours in weights]
        # Without its exits a model is a plain one; its head is a part that it cannot do without.
        left_out = [name for name in self.left_out(config, weights) if not name.startswith(EXITS)]
        homeless = [name for name in left_out if is_finetuning_weight(name)]
        if homeless:
            raise InputError(f"{self.title} has no place for this fine-tuned model's {', '.join(homeless)}")
        return {
            row.theirs: row.value if isinstance(row, ConstantRow) else row.to_theirs(weights[row.ours]) for row in rows
        }


def _complete(task: FinetunedTask | None, known: FinetunedTask | None) -> FinetunedTask | None:
    """A task with the model's own exits, and its dropout where it names none; None takes what the model tells."""
    if task is None or known is None:
        return task or known
    rate = known.classifier_dropout_prob if task.classifier_dropout_prob is None else task.classifier_dropout_prob
    more = {"early_exit": known.early_exit, "exit_pooling": known.exit_pooling}
    return dataclasses.replace(task, classifier_dropout_prob=rate, **more)


def build_model(config: AlbertConfig | None, path: str, task: FinetunedTask | None = None, dtype: str | None = None):
    """A model to load weights into, on the CPU: its own first values are about to be overwritten.

    Args:
        config: of the model.
        path: of the checkpoint, for the error.
        task: what the checkpoint was fine-tuned for; None makes an AlbertForPretraining.
        dtype: name of the model's Keras dtype policy; None: Keras's own.
    """
    if config is None:
        raise InputError(f"{path}: no {CONFIG_NAME} lies beside it; name one with --albert_config_file")
    with keras.device("cpu"):
        if task is None:
            return AlbertForPretraining(config, dtype=dtype)
        rate = task.classifier_dropout_prob
        more = {"dtype": dtype, "early_exit": task.early_exit, "exit_pooling": task.exit_pooling}
        more |= {} if rate is None else {"classifier_dropout_prob": rate}
        more |= {name: task.settings[name] for name in ("max_span_length",) if name in task.settings}
        return make_finetuning_model(config, task.head, task.num_labels, **more)


def load_weights(
    model,
    format: CheckpointFormat,
    stored: StoredCheckpoint,
    rows=None,
    allow_missing_heads: bool = False,
    fresh: tuple[str, ...] = (),
    allow_nonfinite: bool = False,
) -> LoadReport:
    """Gives a model the weights of a checkpoint; if they do not fit, none is changed.

    Args:
        model: with built weights; its `load_report` becomes the report.
        format: of the checkpoint.
        stored: the checkpoint.
        rows: the table to go by; None takes the format's for the model's config.
        allow_missing_heads: whether weights above the encoder may keep their first values.
        fresh: first parts of the names of weights that may keep them in any case.
        allow_nonfinite: whether weights may hold NaN or infinity.

    Raises:
        InputError: missing, unexpected or ill-fitting tensors, or values that are not finite.
    """
    weights = named_weights(model)
    shapes = {name: tuple(variable.shape) for name, variable in weights.items()}
    rows = format.rows(model.config, {*weights, *stored.arrays}) if rows is None else rows
    values, report = match(rows, stored.arrays, shapes, stored.source, format.title, stored.skipped)
    report.check(allow_missing_heads, fresh, allow_nonfinite)
    for name, value in values.items():
        weights[name].assign(value)
    model.load_report = report
    return report


def check_output(folder: str) -> None:
    """Raises InputError unless the path is free for a new folder."""
    if not folder.strip("/"):
        raise InputError("the output must name a folder other than /")
    refuse_current_folder(folder, "the output")
    if is_published(folder):
        raise InputError(f"{folder} is a name to read from; push_to_hub writes to the Hugging Face hub")
    if not files.exists(folder):
        return
    if not files.is_remote(folder) and os.path.isdir(folder) and not os.listdir(folder):
        return
    raise InputError(f"{folder} is there already; name another folder, or remove it first")


def block_rows(config: AlbertConfig, format_title: str, row_maker) -> list:
    """The rows of all blocks: one call of `row_maker(ours_prefix, group, inner)` for each.

    Raises:
        InputError: the format cannot share attention or feed-forward parameters alone.
    """
    return [
        row
        for group in range(stored_groups(config, format_title))
        for inner in range(config.inner_group_num)
        for row in row_maker(f"albert/encoder/block_{group}_{inner}/", group, inner)
    ]


def stored_groups(config: AlbertConfig, format_title: str) -> int:
    """The num_hidden_groups under which a format stores the model; "none" is as many groups as layers.

    Raises:
        InputError: the format cannot share attention or feed-forward parameters alone.
    """
    if config.parameter_sharing not in ("all", "none"):
        raise InputError(
            f"{format_title} has no names for `parameter_sharing` {config.parameter_sharing!r}; "
            "only 'all' and 'none' cross over"
        )
    return config.num_hidden_groups if config.parameter_sharing == "all" else config.num_hidden_layers


def copy_vocabulary(source: str, target: str) -> None:
    """Copies a vocabulary, from or to any place; what is made of a tokenizer.json is a sentencepiece model.

    Raises:
        InputError: it is not there, or is a tokenizer.json that holds none.
    """
    contents = read_model(source)
    with files.replace_file(target) as file:
        file.write(contents)
