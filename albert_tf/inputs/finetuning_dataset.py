"""Batches of fine-tuning, made from features: padded only to the bucket of the longest row, or all to one length."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from albert_tf.inputs.finetuning_features import (
    INPUT_IDS,
    LABEL_IDS,
    OPTION_LENGTHS,
    P_MASK,
    PIECE_LABELS,
    SEGMENT_IDS,
    SPAN_CATEGORIES,
    SPAN_HEADS,
    SPAN_LABELS,
    TEACHER_LOGITS,
    FeatureSet,
    Ragged,
)
from albert_tf.inputs.host_batches import ready_ahead, share_of_host
from albert_tf.inputs.length_buckets import BatchPlan, plan_evaluation, plan_training

INPUT_MASK, LABEL, EXAMPLE_WEIGHT, FEATURE_INDEX = "input_mask", "label", "example_weight", "feature_index"
_LENGTH = "length"
# What stands at the positions of the padding, where it is not 0.
_FILLERS = {P_MASK: 1, PIECE_LABELS: -1}


@dataclasses.dataclass(frozen=True)
class BatchShape:
    """Sizes of the batches that features become.

    Attributes:
        batch_size: B, over all replicas.
        buckets: ascending lengths to pad to; one of them: every batch has that length.
    """

    batch_size: int
    buckets: tuple[int, ...]


def make_training_dataset(
    features: FeatureSet, shape: BatchShape, seed: int, num_steps: int, start_step: int = 0, context=None
):
    """The batches of steps start_step to num_steps - 1, a function of (features, shape, seed, step).

    Args:
        features: with labels.
        shape: batch size and lengths.
        seed: of the order.
        num_steps: steps of the whole run.
        start_step: steps done already.
        context: tf.distribute.InputContext, for a share of each batch as the replicas of one host take it; None for
            whole batches.

    Returns:
        tf.data.Dataset of batches as `make_evaluation_dataset` describes them.
    """
    plan = plan_training(features.lengths, shape.buckets, shape.batch_size, seed, num_steps, start_step)
    return _make_dataset(features, plan, shape, context)


def make_evaluation_dataset(features: FeatureSet, shape: BatchShape, context=None):
    """Every feature once, the short ones first; "feature_index" says which is which.

    Args:
        features: with or without labels.
        shape: batch size and lengths.
        context: as in make_training_dataset.

    Returns:
        tf.data.Dataset of batches, S being one of the buckets:
        input_ids, input_mask, segment_ids int32 [B, S]; multiple_choice: [B, options, S].
        label: int32 [B] for classification and multiple_choice; float32 [B] for regression; float32 [B, classes] for
        multi_label; int32 [B, S] for token_classification, -1 where nothing is scored; int32 [B, G] for
        span_categories, -1 after the last label of a row; G are those of the row with most.
        teacher_logits: float32 [B, classes], of features that have such.
        start_positions, end_positions, is_impossible int32 [B] in its place for span heads; p_mask int32 [B, S] for
        these and for span_categories.
        example_weight float32 [B], 0 for a row that only fills the batch up; feature_index int32 [B].
    """
    plan = plan_evaluation(features.lengths, shape.buckets, shape.batch_size)
    return _make_dataset(features, plan, shape, context)


def _make_dataset(features: FeatureSet, plan: BatchPlan, shape: BatchShape, context):
    import tensorflow as tf

    lengths = np.repeat(plan.lengths[:, None], shape.batch_size, axis=1)
    steps = tf.data.Dataset.from_tensor_slices(
        {FEATURE_INDEX: plan.rows, EXAMPLE_WEIGHT: plan.weights, _LENGTH: lengths}
    )
    steps = share_of_host(steps, shape.batch_size, context)
    gather = BatchGather(features, shape.buckets[0] if len(shape.buckets) == 1 else None)
    return ready_ahead(steps.map(gather, num_parallel_calls=2, deterministic=True))


class BatchGather:
    """Rows of a plan to a batch, in a tf.data graph; the features lie in memory once, outside the graph."""

    def __init__(self, features: FeatureSet, static_length: int | None):
        """Copies the columns that the model needs into tensors.

        Args:
            features: all of them.
            static_length: the length of every batch, if there is one only.
        """
        import tensorflow as tf

        self._options, self._static_length = features.num_options, static_length
        self._many_options = OPTION_LENGTHS in features.columns
        columns, sequences = features.columns, features.sequences
        by_position = {
            name: columns[name] for name in (INPUT_IDS, SEGMENT_IDS, P_MASK, PIECE_LABELS) if name in columns
        }
        with tf.device("/cpu:0"):
            self._splits = tf.constant(sequences.splits)
            self._by_position = {name: tf.constant(column.values) for name, column in by_position.items()}
            self._labels = {
                name: tf.constant(_as_matrix(columns[name]))
                for name in (LABEL_IDS, TEACHER_LOGITS, *SPAN_LABELS)
                if name in columns
            }
        self._head = features.head

    def __call__(self, rows: dict) -> dict:
        """The batch of {"feature_index", "example_weight", "length"}, each [B]; see make_evaluation_dataset."""
        import tensorflow as tf

        numbers = rows[FEATURE_INDEX]
        length = rows[_LENGTH][0] if self._static_length is None else self._static_length
        sequences = numbers
        if self._many_options:
            sequences = tf.reshape(numbers[:, None] * self._options + tf.range(self._options), [-1])
        starts = tf.gather(self._splits, sequences)[:, None]
        ends = tf.gather(self._splits, sequences + 1)[:, None]
        places = starts + tf.range(tf.cast(length, tf.int64))
        is_real = places < ends
        places = tf.minimum(places, ends - 1)
        batch = {INPUT_MASK: tf.cast(is_real, tf.int32)}
        for name, values in self._by_position.items():
            filler = _FILLERS.get(name, 0)
            batch[name] = tf.where(is_real, tf.cast(tf.gather(values, places), tf.int32), filler)
        if PIECE_LABELS in batch:
            batch[LABEL] = batch.pop(PIECE_LABELS)
        if self._many_options:
            shape = tf.stack([tf.size(numbers), self._options, tf.cast(length, tf.int32)])
            batch = {name: tf.reshape(value, shape) for name, value in batch.items()}
        size = numbers.shape[0]
        middle = [self._options] if self._many_options else []
        batch = {name: tf.ensure_shape(value, [size, *middle, self._static_length]) for name, value in batch.items()}
        return batch | self._gather_labels(numbers) | {name: rows[name] for name in (FEATURE_INDEX, EXAMPLE_WEIGHT)}

    def _gather_labels(self, numbers) -> dict:
        import tensorflow as tf

        labels = {name: tf.gather(values, numbers) for name, values in self._labels.items()}
        if self._head in SPAN_HEADS:
            return {name: values[:, 0] for name, values in labels.items()}
        if LABEL_IDS not in labels:
            return {}
        more = {TEACHER_LOGITS: labels[TEACHER_LOGITS]} if TEACHER_LOGITS in labels else {}
        if self._head == SPAN_CATEGORIES:
            return {LABEL: labels[LABEL_IDS]}
        if self._head == "multi_label":
            return {LABEL: tf.cast(labels[LABEL_IDS], tf.float32), **more}
        return {LABEL: labels[LABEL_IDS][:, 0], **more}


def _as_matrix(column: Ragged) -> np.ndarray:
    """Rows as [rows, length of the longest, 1 at least], -1 after the end of shorter ones."""
    lengths = column.lengths
    matrix = np.full((len(column), max(1, lengths.max(initial=0))), -1, column.values.dtype)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = column.values
    return matrix


def restore_order(rows: Sequence[np.ndarray], feature_index: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
    """An output's rows in the order of the features, without those of weight 0.

    Args:
        rows: of all batches, one after another; their lengths may differ.
        feature_index: int [rows], of the batches.
        weights: float [rows], of the batches.
    """
    kept = np.flatnonzero(np.asarray(weights) > 0)
    ordered = kept[np.argsort(np.asarray(feature_index)[kept], kind="stable")]
    return [rows[place] for place in ordered]
