"""Checkpoints of google-research/bert (TF1), read and written without TF1; hub modules of it too.

They name embeddings, pooler and heads as ALBERT's do; every layer has a block of its own.
"""

import os

from albert_tf.checkpoints.tensor_files import load_tensors
from albert_tf.config import AlbertConfig
from albert_tf.conversion.bert import (
    BERT_DEFAULTS,
    BERT_KEYS,
    bert_config,
    bert_values,
    check_is_bert,
    copy_bert_vocabulary,
)
from albert_tf.conversion.checkpoint_format import block_rows
from albert_tf.conversion.config_keys import refuse_misspelt
from albert_tf.conversion.official import HUB_PREFIX, TABLE, OfficialFormat, find_prefix, leaf_rows
from albert_tf.conversion.stored_checkpoint import find_usual_vocabulary
from albert_tf.records.names import NSP
from albert_tf.runtime import files
from albert_tf.runtime.errors import DamagedError
from albert_tf.tokenization.vocabulary_file import WORD_PIECE_NAME

CONFIG_NAME = "bert_config.json"
# What BertConfig of modeling.py takes for a key that is not there, besides BERT_DEFAULTS.
_DEFAULTS = {"type_vocab_size": 16}
# A variable that every BERT has, and no ALBERT.
_TOLD_BY = "bert/encoder/layer_0/attention/self/query/kernel"

_DENSE, _NORM = ("kernel", "bias"), ("gamma", "beta")
_BLOCK_TABLE = [
    *(
        (f"attention/{part}_{leaf}", f"attention/self/{part}/{leaf}")
        for part in ("query", "key", "value")
        for leaf in _DENSE
    ),
    *((f"attention/output/{leaf}", f"attention/output/dense/{leaf}") for leaf in _DENSE),
    *((f"attention/layer_norm/{leaf}", f"attention/output/LayerNorm/{leaf}") for leaf in _NORM),
    *(
        (f"feed_forward/{part}/{leaf}", f"{part}/dense/{leaf}")
        for part in ("intermediate", "output")
        for leaf in _DENSE
    ),
    *((f"feed_forward/layer_norm/{leaf}", f"output/LayerNorm/{leaf}") for leaf in _NORM),
]


def _block(ours: str, group: int, inner: int):
    return leaf_rows(ours, f"bert/encoder/layer_{group}/", _BLOCK_TABLE)


class OfficialBertFormat(OfficialFormat):
    """TF1 checkpoints and hub modules of BERT."""

    name = "official_bert"
    title = "an official BERT checkpoint"
    sentence_task = NSP
    config_name = CONFIG_NAME
    checkpoint_name = "bert_model.ckpt"

    def recognise(self, path):
        """Tells whether the path is, or holds, a checkpoint with BERT's first layer."""
        prefix = find_prefix(path)
        if prefix is None:
            return False
        try:
            return bool(load_tensors(prefix, lambda name: name.removeprefix(HUB_PREFIX) == _TOLD_BY))
        except DamagedError:
            # OfficialFormat says what is damaged.
            return False

    def rows(self, config, names=()):
        """The variable names of google-research/bert."""
        check_is_bert(config, self.title)
        return [*TABLE, *block_rows(config, self.title, _block)]

    def read_config(self, path: str) -> AlbertConfig:
        """Reads a bert_config.json, or a config of ours under a different name; raises InputError if it is none."""
        if os.path.basename(path) != CONFIG_NAME:
            return super().read_config(path)
        values = files.read_json(path)
        refuse_misspelt(path, values, BERT_KEYS)
        shape = {key: values[key] for key in BERT_KEYS if key in values}
        return bert_config({**BERT_DEFAULTS, **_DEFAULTS, **shape}, path)

    def config_values(self, config):
        """The entries of bert_config.json; raises InputError for a model that is no BERT."""
        return bert_values(config, self.title)

    def find_vocabulary(self, folder):
        """The vocabulary in a folder: vocab.txt, else what is there."""
        return find_usual_vocabulary(folder, WORD_PIECE_NAME)

    def copy_vocabulary(self, source, folder):
        """Copies a vocabulary into a folder: WordPiece as vocab.txt, a sentencepiece model under its own name."""
        copy_bert_vocabulary(source, folder)


OFFICIAL_BERT = OfficialBertFormat()


def load_official_bert(path: str, config: AlbertConfig | None = None, allow_missing_heads: bool = False):
    """Reads a checkpoint of google-research/bert into a new model.

    Arguments, result and errors are those of load_official; the config beside it is a bert_config.json.
    """
    return OFFICIAL_BERT.load(path, config, allow_missing_heads)


def save_official_bert(model, folder: str, vocabulary_file: str | None = None) -> None:
    """Writes a model that is a BERT as google-research/bert would: bert_model.ckpt and bert_config.json.

    Arguments and errors are those of save_official; a vocabulary of WordPiece becomes vocab.txt.
    """
    OFFICIAL_BERT.save(model, folder, vocabulary_file)
