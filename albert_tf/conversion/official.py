"""Checkpoints of google-research/ALBERT (TF1), read without TF1: one table of names.

Every kernel keeps its orientation but the sentence-order weights, which the official code stores as [2, H].
"""

import os
import re

import keras
import numpy as np

from albert_tf.config import AlbertConfig
from albert_tf.errors import InputError
from albert_tf.models.named_weights import assign_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.training.tensor_files import load_tensors

# Ours -> official. {block} stands for a block_G_I of ours and for group_G/inner_group_I of theirs.
_DENSE = (("kernel", "kernel"), ("bias", "bias"))
_NORM = (("layer_norm/gamma", "LayerNorm/gamma"), ("layer_norm/beta", "LayerNorm/beta"))


def _rows(ours: str, official: str, leaves) -> list[tuple[str, str]]:
    return [(ours + leaf, official + official_leaf) for leaf, official_leaf in leaves]


_TABLE = [
    ("albert/embeddings/word_embeddings", "bert/embeddings/word_embeddings"),
    ("albert/embeddings/token_type_embeddings", "bert/embeddings/token_type_embeddings"),
    ("albert/embeddings/position_embeddings", "bert/embeddings/position_embeddings"),
    *_rows("albert/embeddings/", "bert/embeddings/", _NORM),
    *_rows("albert/encoder/embedding_hidden_mapping_in/", "bert/encoder/embedding_hidden_mapping_in/", _DENSE),
    *_rows("albert/pooler/", "bert/pooler/dense/", _DENSE),
    *_rows("masked_lm/transform/", "cls/predictions/transform/dense/", _DENSE),
    *_rows("masked_lm/", "cls/predictions/transform/", _NORM),
    ("masked_lm/output_bias", "cls/predictions/output_bias"),
    ("sentence_order/classifier/kernel", "cls/seq_relationship/output_weights"),
    ("sentence_order/classifier/bias", "cls/seq_relationship/output_bias"),
]

_BLOCK_TABLE = [
    *(
        (f"attention/{part}_{leaf}", f"attention_1/self/{part}/{leaf}")
        for part in ("query", "key", "value")
        for leaf in ("kernel", "bias")
    ),
    *_rows("attention/output/", "attention_1/output/dense/", _DENSE),
    *_rows("attention/", "", _NORM),
    *_rows("feed_forward/intermediate/", "ffn_1/intermediate/dense/", _DENSE),
    *_rows("feed_forward/output/", "ffn_1/intermediate/output/dense/", _DENSE),
    ("feed_forward/layer_norm/gamma", "LayerNorm_1/gamma"),
    ("feed_forward/layer_norm/beta", "LayerNorm_1/beta"),
]

_TRANSPOSED = {"cls/seq_relationship/output_weights"}
# Optimizer state and the step: not weights.
_SKIPPED = re.compile(r"(/adam_[mv]|^global_step)$")


def official_names(config: AlbertConfig) -> dict[str, str]:
    """The official variable name of every weight of ours.

    Args:
        config: of the model; parameter_sharing "none" is the official num_hidden_groups = num_hidden_layers.

    Raises:
        InputError: the official code cannot share only attention or only feed-forward parameters.
    """
    if config.parameter_sharing not in ("all", "none"):
        raise InputError(
            "the official checkpoint format has no names for `parameter_sharing` "
            f"{config.parameter_sharing!r}; only 'all' and 'none' cross over"
        )
    groups = config.num_hidden_groups if config.parameter_sharing == "all" else config.num_hidden_layers
    names = dict(_TABLE)
    if config.embedding_size == config.hidden_size:
        names = {ours: official for ours, official in names.items() if "embedding_hidden_mapping_in" not in ours}
    for group in range(groups):
        for inner in range(config.inner_group_num):
            for ours, official in _BLOCK_TABLE:
                names[f"albert/encoder/block_{group}_{inner}/{ours}"] = (
                    f"bert/encoder/transformer/group_{group}/inner_group_{inner}/{official}"
                )
    return names


def to_ours(config: AlbertConfig, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Renames official variables, and transposes those that are stored the other way round."""
    by_official = {official: ours for ours, official in official_names(config).items()}
    return {by_official.get(name, name): array.T if name in _TRANSPOSED else array for name, array in arrays.items()}


def load_official(path: str, config: AlbertConfig | None = None) -> AlbertForPretraining:
    """Reads an official checkpoint into a new model.

    Args:
        path: a checkpoint's prefix ("…/model.ckpt-best"; its ".index" file is understood too).
        config: of the model; None reads albert_config.json beside the checkpoint.

    Raises:
        InputError: no such checkpoint, a damaged one, or variables missing, left over or of another shape.
    """
    prefix = path.removesuffix(".index")
    arrays = read_official(prefix)
    if config is None:
        config = AlbertConfig.from_json_file(os.path.join(os.path.dirname(prefix), "albert_config.json"))
    # On the CPU: the weights are about to be overwritten.
    with keras.device("cpu"):
        model = AlbertForPretraining(config)
    assign_weights(model, to_ours(config, arrays), source=path)
    return model


def read_official(prefix: str) -> dict[str, np.ndarray]:
    """The variables of a TF1 checkpoint by their official names, without optimizer state and global_step.

    Raises:
        InputError: no such checkpoint, or a damaged one.
    """
    return load_tensors(prefix, wanted=lambda name: not _SKIPPED.search(name))
