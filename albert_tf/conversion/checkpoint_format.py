"""What a checkpoint format is: recognising it, opening it, its table of names, writing it."""

import abc
import dataclasses
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import keras
import numpy as np

from albert_tf import files
from albert_tf.config import AlbertConfig
from albert_tf.conversion.load_report import LoadReport, match
from albert_tf.conversion.rows import ConstantRow, Row
from albert_tf.errors import InputError
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining

CONFIG_NAME = "albert_config.json"


@dataclasses.dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint as it was found.

    Attributes:
        source: its path, as the user gave it.
        config: of its model, in our terms; None if no config lies with it.
        arrays: the stored tensors by their names there.
        skipped: why -> names of tensors that are no weights.
        vocabulary_file: the sentencepiece model that lies with it, or None.
        vocabulary: {"file", "sha256", "size"} of the vocabulary it was trained with, or None if unknown.
        sentence_task: what its sentence-order head was trained on.
    """

    source: str
    config: AlbertConfig | None
    arrays: Mapping[str, np.ndarray]
    skipped: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    vocabulary_file: str | None = None
    vocabulary: dict[str, Any] | None = None
    sentence_task: str = "sop"

    @classmethod
    def of_elsewhere(
        cls,
        source: str,
        config: AlbertConfig | None,
        arrays: Mapping[str, np.ndarray],
        skipped: dict[str, tuple[str, ...]],
        vocabulary_file: str | None,
    ) -> "StoredCheckpoint":
        """A checkpoint of other code, of whose vocabulary is known what the file beside it says.

        Args:
            source: its path.
            config: of its model, in our terms, or None.
            arrays: the stored tensors.
            skipped: why -> names of tensors that are no weights.
            vocabulary_file: the sentencepiece model that lies with it, or None.
        """
        vocabulary = describe_vocabulary(vocabulary_file) if vocabulary_file else None
        return cls(source, config, arrays, skipped, vocabulary_file, vocabulary)


class CheckpointFormat(abc.ABC):
    """One format, read and written by one table.

    Attributes:
        name: its word on the command line.
        title: what a checkpoint of it is called in messages.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @abc.abstractmethod
    def recognise(self, path: str) -> bool:
        """Whether the path holds a checkpoint of this format, sound or not."""

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
    def write(self, folder: str, config: AlbertConfig, arrays: Mapping[str, np.ndarray], vocabulary_file: str | None):
        """Writes a checkpoint's files into an empty folder.

        Args:
            folder: exists.
            config: of the model.
            arrays: by the names of the format.
            vocabulary_file: a sentencepiece model to go along, or None.

        Raises:
            InputError: the format cannot express such a config.
            OSError: no room, or no right to write.
        """

    def load(
        self, path: str, config: AlbertConfig | None = None, allow_missing_heads: bool = False
    ) -> AlbertForPretraining:
        """Reads a checkpoint into a new model, and prints the report, which stays in its `load_report`.

        Raises:
            InputError: no such checkpoint, a damaged one, or one that does not fit its config.
        """
        if not self.recognise(path):
            raise InputError(f"{path}: no such checkpoint: {self.title} was expected")
        stored = self.open(path)
        model = build_model(config or stored.config, path)
        report = load_weights(model, self, stored, allow_missing_heads=allow_missing_heads)
        sys.stderr.write(f"{report}\n")
        return model

    def save(self, model, folder: str, vocabulary_file: str | None = None) -> None:
        """Writes a model's checkpoint as a new folder, whole or not at all.

        Raises:
            InputError: the format cannot express the model, or the folder holds something.
        """
        check_output(folder)
        arrays = self.encode(model.config, {name: value.numpy() for name, value in named_weights(model).items()})
        with files.replace_folder(folder) as temporary:
            self.write(temporary, model.config, arrays, vocabulary_file)

    def encode(self, config: AlbertConfig, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Our weights by the names, and in the layout, of the format; weights it has no name for are left out."""
        return {
            row.theirs: row.value if isinstance(row, ConstantRow) else row.to_theirs(weights[row.ours])
            for row in self.rows(config, weights)
        }


def build_model(config: AlbertConfig | None, path: str) -> AlbertForPretraining:
    """A model to load weights into, on the CPU: its own first values are about to be overwritten."""
    if config is None:
        raise InputError(f"{path}: no {CONFIG_NAME} lies beside it; name one with --albert_config_file")
    with keras.device("cpu"):
        return AlbertForPretraining(config)


def load_weights(
    model, format: CheckpointFormat, stored: StoredCheckpoint, rows=None, allow_missing_heads: bool = False
) -> LoadReport:
    """Gives a model the weights of a checkpoint; if they do not fit, none is changed.

    Args:
        model: with built weights; its `load_report` becomes the report.
        format: of the checkpoint.
        stored: the checkpoint.
        rows: the table to go by; None takes the format's for the model's config.
        allow_missing_heads: whether weights above the encoder may keep their first values.

    Raises:
        InputError: missing, unexpected or ill-fitting tensors.
    """
    weights = named_weights(model)
    shapes = {name: tuple(variable.shape) for name, variable in weights.items()}
    rows = format.rows(model.config, weights) if rows is None else rows
    values, report = match(rows, stored.arrays, shapes, stored.source, format.title, stored.skipped)
    report.check(allow_missing_heads)
    for name, value in values.items():
        weights[name].assign(value)
    model.load_report = report
    return report


def check_output(folder: str) -> None:
    """Raises InputError unless the path is free for a new folder."""
    if not folder.strip("/"):
        raise InputError("the output must name a folder other than /")
    if not files.exists(folder):
        return
    if not files.is_remote(folder) and os.path.isdir(folder) and not os.listdir(folder):
        return
    raise InputError(f"{folder} is there already; name another folder, or remove it first")


def set_aside(
    arrays: Mapping[str, np.ndarray], patterns: Mapping[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    """Takes out tensors that are no weights of a pre-training model.

    Args:
        arrays: by name.
        patterns: reason -> regular expression, searched in the names.

    Returns:
        the others; and reason -> the names taken out.
    """
    skipped = {
        reason: tuple(name for name in arrays if re.search(pattern, name)) for reason, pattern in patterns.items()
    }
    gone = {name for names in skipped.values() for name in names}
    return {n: a for n, a in arrays.items() if n not in gone}, {r: names for r, names in skipped.items() if names}


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


def describe_vocabulary(path: str) -> dict[str, Any]:
    """{"file" (no folder), "sha256", "size"} of a sentencepiece model.

    Raises:
        InputError: it is none.
    """
    from albert_tf.tokenization.tokenizer import AlbertTokenizer

    tokenizer = AlbertTokenizer(path)
    return {"file": os.path.basename(path), "sha256": tokenizer.sha256, "size": tokenizer.vocab_size}


def find_vocabulary(folder: str) -> str | None:
    """The sentencepiece model that lies in a folder, if there is just one."""
    found = [name for name in files.list_folder(folder) if name.endswith((".model", ".spm"))]
    return os.path.join(folder, found[0]) if len(found) == 1 else None


def copy_file(source: str, target: str) -> None:
    """Copies a file, from or to any place."""
    with files.open_binary(source) as file:
        contents = file.read()
    with files.replace_file(target) as file:
        file.write(contents)
