"""Presets of KerasHub, read and written without keras-hub.

A preset is the folder that save_to_preset of an AlbertBackbone, AlbertMaskedLM or AlbertTextClassifier writes. Rows
name datasets of model.weights.h5, and those of task.weights.h5 by that name and a slash before. Keras names a layer
there by its class and by its turn among the layers of that class, so the blocks are transformer_encoder,
transformer_encoder_1, ..., group by group. Kernels keep their orientation.
"""

import os

import keras
import numpy as np
from absl import logging

from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import CheckpointFormat, block_rows, copy_vocabulary
from albert_tf.conversion.keras_hub_config import TITLE, backbone_config, check_activation, read_config
from albert_tf.conversion.keras_hub_files import (
    CONFIG_NAME,
    SHARD_INDEX_NAME,
    WEIGHTS_NAME,
    WEIGHTS_SUFFIX,
    read_sharded_weights,
    read_weights,
    serialized,
    write_weights,
)
from albert_tf.conversion.rows import HeadsRow, Row, projection_rows
from albert_tf.conversion.stored_checkpoint import StoredCheckpoint, agreed_config, set_aside
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.vocabulary_file import is_word_pieces

_TASK_WEIGHTS_NAME = "task.weights.h5"
_VOCABULARY = ("assets", "tokenizer", "vocabulary.spm")
_SKIPPED = {
    "optimizer state and step": r"(^|/)optimizer/",
    "a fine-tuning head": rf"^{_TASK_WEIGHTS_NAME}/layers/dense/",
}
# A new model's optimizer: without it Keras warns that it finds none.
_FRESH_OPTIMIZER = {"optimizer/vars/0": np.int64(0), "optimizer/vars/1": np.float32(5e-5)}

_DENSE = (("kernel", "vars/0"), ("bias", "vars/1"))
_NORM = (("gamma", "vars/0"), ("beta", "vars/1"))


def _rows(ours: str, theirs: str, leaves) -> list[Row]:
    return [Row(ours + leaf, theirs + their_leaf) for leaf, their_leaf in leaves]


_HEAD = f"{_TASK_WEIGHTS_NAME}/layers/masked_lm_head/"
_TABLE = [
    Row("albert/embeddings/word_embeddings", "layers/reversible_embedding/vars/0"),
    Row("albert/embeddings/token_type_embeddings", "layers/embedding/vars/0"),
    Row("albert/embeddings/position_embeddings", "layers/position_embedding/vars/0"),
    *_rows("albert/embeddings/layer_norm/", "layers/layer_normalization/", _NORM),
    *_rows("albert/pooler/", "layers/dense_1/", _DENSE),
    *_rows("masked_lm/transform/", f"{_HEAD}_intermediate_dense/", _DENSE),
    *_rows("masked_lm/layer_norm/", f"{_HEAD}_intermediate_layer_norm/", _NORM),
    Row("masked_lm/output_bias", f"{_HEAD}vars/0"),
]

_PROJECTION = "layers/dense/"
_PROJECTION_TABLE = _rows("albert/encoder/embedding_hidden_mapping_in/", _PROJECTION, _DENSE)

# Last: the axis of H units that is stored as heads times units.
_HEADS_TABLE = [
    *((f"attention/{part}_kernel", f"{part}_dense/vars/0", 1) for part in ("query", "key", "value")),
    *((f"attention/{part}_bias", f"{part}_dense/vars/1", 0) for part in ("query", "key", "value")),
    ("attention/output/kernel", "output_dense/vars/0", 0),
]
_BLOCK_TABLE = [
    ("attention/output/bias", "_self_attention_layer/output_dense/vars/1"),
    *((f"attention/layer_norm/{leaf}", f"_self_attention_layer_norm/{theirs}") for leaf, theirs in _NORM),
    *((f"feed_forward/intermediate/{leaf}", f"_feedforward_intermediate_dense/{theirs}") for leaf, theirs in _DENSE),
    *((f"feed_forward/output/{leaf}", f"_feedforward_output_dense/{theirs}") for leaf, theirs in _DENSE),
    *((f"feed_forward/layer_norm/{leaf}", f"_feedforward_layer_norm/{theirs}") for leaf, theirs in _NORM),
]


class KerasHubFormat(CheckpointFormat):
    """Presets, and single files of a backbone's weights."""

    name = "keras_hub"
    title = TITLE

    def recognise(self, path):
        """Tells whether the path is a .weights.h5 file, or a folder with weights or a config by Keras."""
        if path.endswith(WEIGHTS_SUFFIX):
            return files.exists(path)
        names = files.list_folder(path)
        if WEIGHTS_NAME in names or SHARD_INDEX_NAME in names:
            return True
        if CONFIG_NAME not in names:
            return False
        with files.open_binary(os.path.join(path, CONFIG_NAME)) as file:
            return b'"registered_name"' in file.read()

    def open(self, path, config_file=None):
        """Reads the weights of the backbone and, in a folder, those of its task."""
        alone = path.endswith(WEIGHTS_SUFFIX)
        folder = os.path.dirname(path) if alone else path
        arrays = read_weights(path) if alone else _read_preset_weights(folder)
        arrays, skipped = set_aside(arrays, _SKIPPED)
        own = os.path.join(folder, CONFIG_NAME)
        has_own = (os.path.basename(path) == WEIGHTS_NAME or not alone) and files.exists(own)
        given = AlbertConfig.from_json_file(config_file) if config_file else None
        config = agreed_config(given, lambda: read_config(own) if has_own else None, path)
        vocabulary_file = os.path.join(folder, *_VOCABULARY)
        if alone or not files.exists(vocabulary_file):
            vocabulary_file = None
        return StoredCheckpoint.of_elsewhere(path, config, arrays, skipped, vocabulary_file)

    def rows(self, config, names=()):
        """The datasets; parameter_sharing "none" is num_groups = num_layers, and E = H an identity."""
        check_activation(config)

        def block(ours: str, group: int, inner: int) -> list[Row]:
            turn = group * config.inner_group_num + inner
            theirs = f"layers/transformer_encoder_{turn}/" if turn else "layers/transformer_encoder/"
            heads = [
                HeadsRow(
                    ours + leaf,
                    f"{theirs}_self_attention_layer/{their_leaf}",
                    num_heads=config.num_attention_heads,
                    axis=axis,
                )
                for leaf, their_leaf, axis in _HEADS_TABLE
            ]
            return [*heads, *_rows(ours, theirs, _BLOCK_TABLE)]

        projection = _PROJECTION_TABLE
        if config.embedding_size == config.hidden_size:
            projection = projection_rows(*(_PROJECTION + leaf for _, leaf in _DENSE), config.hidden_size)
        return [*_TABLE, *projection, *block_rows(config, TITLE, block)]

    def write(self, folder, config, arrays, vocabulary_file, task=None):
        """Writes an AlbertMaskedLM preset: what from_preset of backbone, tasks and tokenizer asks for."""
        backbone = serialized("AlbertBackbone", **backbone_config(config))
        task = {name.removeprefix(f"{_TASK_WEIGHTS_NAME}/"): name for name in arrays if name.startswith(_HEAD)}
        weights = {name: array for name, array in arrays.items() if name not in task.values()}
        metadata = {
            "keras_version": keras.version(),
            "parameter_count": sum(array.size for array in weights.values()),
            "tasks": ["MaskedLM", "TextClassifier"],
        }
        preprocessor = None
        if vocabulary_file is not None and is_word_pieces(vocabulary_file):
            logging.warning("%s does not go along: KerasHub's ALBERT reads sentencepiece alone", vocabulary_file)
        elif vocabulary_file is not None:
            copy_vocabulary(vocabulary_file, os.path.join(folder, *_VOCABULARY))
            tokenizer = serialized("AlbertTokenizer", config_file="tokenizer.json", proto=None)
            preprocessor = serialized(
                "AlbertMaskedLMPreprocessor",
                tokenizer=tokenizer,
                config_file="preprocessor.json",
                sequence_length=config.max_position_embeddings,
            )
            files.write_json(os.path.join(folder, "tokenizer.json"), tokenizer)
            files.write_json(os.path.join(folder, "preprocessor.json"), preprocessor)
        files.write_json(os.path.join(folder, CONFIG_NAME), backbone)
        files.write_json(os.path.join(folder, "metadata.json"), metadata)
        files.write_json(
            os.path.join(folder, "task.json"),
            serialized("AlbertMaskedLM", backbone=backbone, preprocessor=preprocessor),
        )
        write_weights(os.path.join(folder, WEIGHTS_NAME), weights)
        write_weights(
            os.path.join(folder, _TASK_WEIGHTS_NAME),
            {name: arrays[its] for name, its in task.items()} | _FRESH_OPTIMIZER,
        )


KERAS_HUB = KerasHubFormat()


def load_keras_hub(
    path: str, config: AlbertConfig | None = None, allow_missing_heads: bool = True
) -> AlbertForPretraining:
    """Reads a KerasHub preset into a new model, and prints what was found.

    Args:
        path: a folder that save_to_preset wrote, or a file that save_weights of an AlbertBackbone wrote.
        config: of the model; None reads config.json.
        allow_missing_heads: whether pooler and heads that are missing start afresh. KerasHub has no sentence-order
            head, and the masked-LM head only in presets of an AlbertMaskedLM: without this every preset is refused.

    Returns:
        the model; its `load_report` says what was matched, missing and left out.

    Raises:
        InputError: no such preset, a damaged one, one of a different backbone, or datasets missing, left over or of
            a different shape.
    """
    return KERAS_HUB.load(path, config, allow_missing_heads)


def save_keras_hub(model: AlbertForPretraining, folder: str, vocabulary_file: str | None = None) -> None:
    """Writes a model as save_to_preset of an AlbertMaskedLM would; the sentence-order head has no place there.

    Args:
        model: any AlbertForPretraining whose config KerasHub can express.
        folder: to make; absent or empty.
        vocabulary_file: the sentencepiece model, to go along.

    Raises:
        InputError: KerasHub has no such model, or the folder holds something.
    """
    KERAS_HUB.save(model, folder, vocabulary_file)


def _read_preset_weights(folder: str):
    if files.exists(os.path.join(folder, WEIGHTS_NAME)):
        arrays = read_weights(os.path.join(folder, WEIGHTS_NAME))
    elif files.exists(os.path.join(folder, SHARD_INDEX_NAME)):
        arrays = read_sharded_weights(os.path.join(folder, SHARD_INDEX_NAME))
    else:
        raise InputError(f"{folder}: {WEIGHTS_NAME} is missing")
    task_file = os.path.join(folder, _TASK_WEIGHTS_NAME)
    if files.exists(task_file):
        arrays |= {f"{_TASK_WEIGHTS_NAME}/{name}": array for name, array in read_weights(task_file).items()}
    return arrays
