"""Texts to features: each text of a row [CLS] ... [SEP] by itself, made once and kept."""

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from absl import logging

from albert_tf.embedding.dev_set import DevSet
from albert_tf.embedding.settings import EmbeddingSettings
from albert_tf.embedding.text_tables import TextTable
from albert_tf.inputs.finetuning_cache import Converter, load_features
from albert_tf.inputs.finetuning_dataset import BatchShape
from albert_tf.inputs.finetuning_features import LABEL_IDS, Feature, FeatureSet, Ragged
from albert_tf.inputs.length_buckets import choose_buckets
from albert_tf.runtime.json_text import to_json
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.packing import pack_pair

# Rows of several texts are to batches what the options of a question are.
HEAD = "multiple_choice"
CACHE_NAME = "features"


@dataclasses.dataclass(frozen=True)
class TextFeatures:
    """Makes the feature of a row of texts; worker processes get a copy."""

    tokenizer: Tokenizer
    max_seq_length: int

    def __call__(self, index: int, texts: Sequence[str]) -> list[Feature]:
        """The feature of the row with this index."""
        tokenizer, length = self.tokenizer, self.max_seq_length
        encoded = tokenizer.encode_batch(texts)
        packed = [pack_pair(ids, None, length, tokenizer.cls_id, tokenizer.sep_id) for ids in encoded]
        pieces_cut = sum(max(0, len(ids) + 2 - length) for ids in encoded)
        ids, segments = (tuple(parts) for parts in zip(*packed, strict=True))
        return [Feature(index, ids, segments, pieces_cut=pieces_cut)]


def make_features(
    rows: Sequence[tuple[str, ...]],
    tokenizer: Tokenizer,
    max_seq_length: int,
    folder: str,
    num_workers: int = 0,
) -> FeatureSet:
    """The features of rows of texts, from the cache if they were made of the same.

    Args:
        rows: of K texts each.
        tokenizer: the vocabulary.
        max_seq_length: the most pieces of a text.
        folder: of the cache.
        num_workers: processes that make features; 0 takes one for each core.
    """
    key = {
        "max_seq_length": max_seq_length,
        "vocabulary": {"vocabulary": tokenizer.sha256, **dataclasses.asdict(tokenizer.cleaning)},
        "data": _hash(rows),
    }
    converter = Converter(TextFeatures(tokenizer, max_seq_length), HEAD)
    made = load_features(folder, json.loads(to_json(key)), lambda: rows, converter, num_workers)
    if made.num_cut:
        logging.info(
            "%s of %s rows have a text of more than %d pieces, which is cut (--max_seq_length)",
            *(f"{made.num_cut:,}", f"{len(made):,}", max_seq_length),
        )
    return made


def _hash(rows: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(to_json(row).encode() + b"\n")
    return {"rows": len(rows), "texts": len(rows[0]), "sha256": digest.hexdigest()}


class EmbeddingData:
    """The data of a run: the rows to train on, those to evaluate by, and their features.

    Args:
        settings: the flags.
        max_seq_length: the most pieces of a text.
        tokenizer: the vocabulary.
        table: to train on; None without training.
        dev: to evaluate by; None without evaluation.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        max_seq_length: int,
        tokenizer: Tokenizer,
        table: TextTable | None,
        dev: DevSet | None,
    ):
        self.settings, self.max_seq_length, self.tokenizer = settings, max_seq_length, tokenizer
        self.table, self.dev = table, dev

    @functools.cached_property
    def train_features(self) -> FeatureSet:
        """The features to train on, with the scores of scored rows as labels."""
        assert self.table is not None
        made = self._make(self.table.texts, "train")
        if self.table.scores is None:
            return made
        ones = np.ones(len(made), np.int64)
        return FeatureSet(HEAD, made.columns | {LABEL_IDS: Ragged.of_lengths(self.table.scores, ones)})

    @functools.cached_property
    def dev_features(self) -> FeatureSet:
        """The features of the distinct texts to evaluate by, one of each."""
        assert self.dev is not None
        return self._make([(text,) for text in self.dev.texts], "dev")

    def _make(self, rows: Sequence[tuple[str, ...]], name: str) -> FeatureSet:
        settings = self.settings
        folder = os.path.join(settings.cache_dir or os.path.join(settings.output_dir, CACHE_NAME), name)
        return make_features(rows, self.tokenizer, self.max_seq_length, folder, settings.num_workers)

    @functools.cached_property
    def _buckets(self) -> tuple[int, ...]:
        made = [self.train_features] if self.settings.do_train else []
        made += [self.dev_features] if self.dev is not None else []
        return tuple(choose_buckets(np.concatenate([one.lengths for one in made]), self.max_seq_length))

    def batch_shape(self, batch_size: int) -> BatchShape:
        """The shape of the batches of so many rows that features become."""
        return BatchShape(batch_size, self._buckets)
