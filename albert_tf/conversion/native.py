"""Our own checkpoints as one of the formats: a folder with weights by our names, with or without optimizer state."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.model_agreement import check_same_model
from albert_tf.checkpoints.readable_checkpoint import use_checkpoint
from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import CheckpointFormat, copy_vocabulary
from albert_tf.conversion.rows import Row
from albert_tf.conversion.stored_checkpoint import StoredCheckpoint, describe_vocabulary, find_vocabulary
from albert_tf.heads.pooling import Pooling
from albert_tf.runtime import files
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING
from albert_tf.tokenization.vocabulary_file import model_name


class NativeFormat(CheckpointFormat):
    """Checkpoints that a run left, or that a conversion wrote.

    Args:
        pooling: how a text becomes one vector, which those that are written are to say; None: it is not known.
    """

    name = "albert_tf"
    title = "a checkpoint of albert_tf"

    def __init__(self, pooling: Pooling | None = None):
        self.pooling = pooling

    def recognise(self, path):
        """Tells whether the path is a checkpoint's folder, or a run's output_dir that has one."""
        return run_checkpoints.find_checkpoint(path) is not None

    def open(self, path, config_file=None):
        """Reads the weights of the checkpoint, of a run's best or else its newest one that is not damaged."""
        return use_checkpoint(path, lambda folder: self._read(folder.rstrip("/"), config_file))

    def _read(self, folder: str, config_file: str | None) -> StoredCheckpoint:
        described = describe_checkpoint(folder)
        if config_file:
            given = AlbertConfig.from_json_file(config_file)
            own = described.config
            check_same_model(given, own, folder, "leave --albert_config_file out: the checkpoint has its own")
            described = dataclasses.replace(described, config=given)
        arrays, pooling = _take_dense(run_checkpoints.read_weights(folder), described.kept_pooling, folder)
        return dataclasses.replace(described, arrays=arrays, kept_pooling=pooling)

    def rows(self, config, names):
        """Every weight under its own name."""
        return [Row(name, name) for name in names]

    def write(self, folder, config, arrays, vocabulary_file, task=None):
        """Writes weights, config and vocabulary; the checkpoint has no optimizer state, and stands at step 0."""
        vocabulary = None
        if vocabulary_file is not None:
            copy_vocabulary(vocabulary_file, os.path.join(folder, model_name(vocabulary_file)))
            vocabulary = describe_vocabulary(vocabulary_file)
            if self.cleaning != OFFICIAL_CLEANING:
                vocabulary["cleaning"] = dataclasses.asdict(self.cleaning)
        pooling = None if self.pooling is None else self.pooling.with_length()
        dense = None if self.pooling is None else self.pooling.dense
        arrays = {**arrays, **({} if dense is None else dense.to_weights())}
        run_checkpoints.write_weights(folder, config, arrays, vocabulary, task, pooling, self.sentence_task)


def describe_checkpoint(folder: str) -> StoredCheckpoint:
    """All that a checkpoint's folder says but for its weights, which are not read."""
    state = run_checkpoints.read_state(folder)
    return StoredCheckpoint(
        source=folder,
        config=run_checkpoints.read_config(folder),
        arrays={},
        vocabulary_file=_find_vocabulary(folder, state.vocabulary),
        vocabulary=state.vocabulary,
        sentence_task=state.sentence_task,
        task=state.finetuned_task(folder),
        kept_pooling=state.kept_pooling(folder),
    )


def _take_dense(
    arrays: dict[str, np.ndarray], pooling: Pooling | None, folder: str
) -> tuple[dict[str, np.ndarray], Pooling | None]:
    """The weights without those of a dense layer after pooling, which are no part of a model; and the pooling with."""
    if pooling is None or pooling.dense is None:
        return arrays, pooling
    dense = pooling.dense.with_weights(arrays, folder)
    others = {name: array for name, array in arrays.items() if name not in dense.to_weights()}
    return others, dataclasses.replace(pooling, dense=dense)


def _find_vocabulary(folder: str, known: Mapping[str, Any] | None) -> str | None:
    """The vocabulary in a checkpoint's folder, or in the one above, where a run keeps it.

    Of a known one that is nowhere, the file of its name: whoever uses it finds that it was damaged or replaced.
    """
    folders = (folder, os.path.dirname(folder))
    if known is None:
        found = [find_vocabulary(place) for place in folders]
    else:
        named = [os.path.join(place, os.path.basename(known["file"])) for place in folders]
        found = [find_vocabulary(place, known["sha256"]) for place in folders]
        found += [path for path in named if files.exists(path)]
    return next(filter(None, found), None)


NATIVE = NativeFormat()
