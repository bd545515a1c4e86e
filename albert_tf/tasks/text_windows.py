"""Long texts read in windows: their logits are the mean, or the largest, of those of their windows.

Every window is a row of its own in training, with the label of its text; predictions and scores are of whole texts.
"""

from collections.abc import Sequence

import numpy as np

from albert_tf.inputs.finetuning_features import Feature, FeatureSet
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.squad_windows import cut_windows
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.text_classification import TextExample
from albert_tf.tokenization.base import Tokenizer

# What is done with texts that are longer than max_seq_length.
CUT, MEAN, MAX = LONG_TEXTS = ("cut", "mean", "max")


def window_features(index: int, example: TextExample, tokenizer: Tokenizer, settings: TaskSettings) -> list[Feature]:
    """[CLS] window [SEP] for each window over the text; they start doc_stride pieces apart. One for a short text."""
    room = settings.max_seq_length - 2
    if room < 1 or settings.doc_stride < 1:
        raise InputError(
            f"windows need max_seq_length of 3 or more, and a doc_stride of 1 or more; received "
            f"{settings.max_seq_length} and {settings.doc_stride}"
        )
    pieces = tokenizer.encode(example.first)
    features = []
    for start, length in cut_windows(len(pieces), room, settings.doc_stride):
        ids = [tokenizer.cls_id, *pieces[start : start + length], tokenizer.sep_id]
        features.append(Feature(index, ids, [0] * len(ids), example.label))
    return features


def pool_logits(features: Sequence[Feature], logits: Sequence[np.ndarray], count: int, pooling: str) -> np.ndarray:
    """The logits of whole texts, float64 [texts, classes].

    Args:
        features: the windows of all texts, in order.
        logits: float [classes] of each.
        count: number of texts.
        pooling: MEAN or MAX.
    """
    owners = features.examples if isinstance(features, FeatureSet) else [feature.example for feature in features]
    owners = np.asarray(owners, np.int64)
    rows = np.asarray(logits, np.float64)
    pooled = np.full((count, rows.shape[1]), -np.inf if pooling == MAX else 0.0)
    if pooling == MAX:
        np.maximum.at(pooled, owners, rows)
        return pooled
    np.add.at(pooled, owners, rows)
    return pooled / np.bincount(owners, minlength=count)[:, np.newaxis]
