"""BERT as a config of ours: no layer shares parameters, and the embeddings are as wide as the encoder (E = H).

Both formats of BERT go by it, Hugging Face's and the official one.
"""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import copy_vocabulary
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.vocabulary_file import WORD_PIECE_NAME, is_word_pieces, model_name

# Keys of ours that a BERT's config does not have.
_OURS_ALONE = ("embedding_size", "num_hidden_groups", "inner_group_num", "parameter_sharing")
BERT_KEYS = tuple(field.name for field in dataclasses.fields(AlbertConfig) if field.name not in _OURS_ALONE)
# BERT-base's shape, which google-research/bert and transformers both take for a key that is not there.
BERT_DEFAULTS = {
    **{"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
    **{"hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
    **{"max_position_embeddings": 512, "initializer_range": 0.02},
}


def bert_config(shape: Mapping[str, Any], where: str) -> AlbertConfig:
    """The config of a BERT, in our terms.

    Args:
        shape: values of BERT_KEYS, hidden_size among them.
        where: the file, for an error.

    Raises:
        InputError: a value that a rule of AlbertConfig forbids.
    """
    # Made in two steps, so that no error names a key that is not in the file.
    config = AlbertConfig.from_dict(dict(shape), where=where)
    return dataclasses.replace(config, embedding_size=config.hidden_size, parameter_sharing="none")


def bert_values(config: AlbertConfig, format_title: str) -> dict[str, Any]:
    """The values of BERT_KEYS for a config of ours.

    Raises:
        InputError: it is no BERT's.
    """
    check_is_bert(config, format_title)
    return {key: getattr(config, key) for key in BERT_KEYS}


def check_is_bert(config: AlbertConfig, format_title: str) -> None:
    """Raises InputError unless a model of this config is a BERT.

    Args:
        config: of the model.
        format_title: for the error.
    """
    if faults := _unlike_bert(config):
        raise InputError(f"{format_title} holds a BERT, which has {' and '.join(faults)}")


def is_bert(config: AlbertConfig) -> bool:
    """Tells whether a model of this config is a BERT."""
    return not _unlike_bert(config)


def _unlike_bert(config: AlbertConfig) -> list[str]:
    """Words for everything that a BERT has and a model of this config has not."""
    faults = []
    every_layer = config.parameter_sharing == "none" or (
        config.parameter_sharing == "all" and config.num_hidden_groups == config.num_hidden_layers
    )
    if not every_layer:
        faults.append(
            f"parameters of its own in every layer (parameter_sharing 'none'; here it is {config.parameter_sharing!r} "
            f"with num_hidden_groups {config.num_hidden_groups} and num_hidden_layers {config.num_hidden_layers})"
        )
    if config.inner_group_num != 1:
        faults.append(f"one block in a layer (inner_group_num 1; here it is {config.inner_group_num})")
    if config.embedding_size != config.hidden_size:
        faults.append(
            f"embeddings as wide as its layers (embedding_size = hidden_size; here they are {config.embedding_size} "
            f"and {config.hidden_size})"
        )
    return faults


def copy_bert_vocabulary(source: str, folder: str) -> None:
    """Copies a vocabulary into a BERT's folder: WordPiece as vocab.txt, a sentencepiece model under its own name.

    Raises:
        InputError: it is not there.
    """
    name = WORD_PIECE_NAME if is_word_pieces(source) else model_name(source)
    copy_vocabulary(source, os.path.join(folder, name))
