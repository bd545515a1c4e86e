"""Batches of fine-tuning: padding, masks and labels of every head by hand; the order; shares of several hosts."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.finetuning_dataset import (
    BatchShape,
    make_evaluation_dataset,
    make_training_dataset,
    restore_order,
)
from albert_tf.inputs.finetuning_features import Feature, FeatureSet


def batches(dataset):
    return list(dataset.as_numpy_iterator())


def of_length(length, example=0, label=0):
    return Feature(example, [2, *[10 + example] * (length - 2), 3], [0] * length, label)


@pytest.fixture
def many() -> FeatureSet:
    """40 features of lengths 3 to 29, with their number as label."""
    lengths = np.random.default_rng(0).integers(3, 30, 40)
    return FeatureSet.from_features([of_length(n, i, i) for i, n in enumerate(lengths)], "classification")


def test_a_batch_is_padded_to_its_bucket():
    features = FeatureSet.from_features([of_length(3, label=1), of_length(5), of_length(12)], "classification")
    first, second = batches(make_evaluation_dataset(features, BatchShape(2, (8, 16))))
    assert first["input_ids"].tolist() == [[2, 10, 3, 0, 0, 0, 0, 0], [2, 10, 10, 10, 3, 0, 0, 0]]
    assert first["input_mask"].tolist() == [[1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0]]
    assert first["label"].tolist() == [1, 0]
    assert first["example_weight"].tolist() == [1, 1]
    assert second["input_ids"].shape == (2, 16)
    assert second["example_weight"].tolist() == [1, 0]
    assert second["feature_index"].tolist() == [2, 2]
    assert {value.dtype.name for value in first.values()} == {"int32", "float32"}


def test_one_bucket_gives_a_static_shape(many):
    dataset = make_training_dataset(many, BatchShape(4, (32,)), seed=0, num_steps=3)
    assert dataset.element_spec["input_ids"].shape == (4, 32)
    assert all(batch["input_ids"].shape == (4, 32) for batch in batches(dataset))


def test_a_pair_of_label_and_text_stays_together(many):
    for batch in batches(make_training_dataset(many, BatchShape(4, (8, 16, 32)), seed=5, num_steps=20)):
        assert (batch["label"] == batch["feature_index"]).all()
        assert (batch["input_ids"][:, 1] == 10 + batch["label"]).all()
        assert (batch["input_mask"].sum(axis=1) == many.lengths[batch["feature_index"]]).all()


def test_a_stream_from_the_middle_is_the_rest_of_the_stream(many):
    shape = BatchShape(4, (8, 16, 32))
    whole = batches(make_training_dataset(many, shape, seed=5, num_steps=25))
    rest = batches(make_training_dataset(many, shape, seed=5, num_steps=25, start_step=13))
    assert len(whole) == 25
    assert len(rest) == 12
    for first, second in zip(whole[13:], rest):
        assert all(np.array_equal(first[name], second[name]) for name in first)


def test_options_lie_in_a_dimension_of_their_own():
    feature = Feature(0, ([2, 7, 3, 8, 3], [2, 9, 3]), ([0, 0, 0, 1, 1], [0, 0, 1]), 1)
    other = Feature(1, ([2, 5, 3], [2, 6, 3]), ([0, 0, 0], [0, 0, 0]), 0)
    features = FeatureSet.from_features([feature, other], "multiple_choice")
    dataset = make_evaluation_dataset(features, BatchShape(2, (6,)))
    [batch] = batches(dataset)
    assert dataset.element_spec["input_ids"].shape == (2, 2, 6)
    assert batch["input_ids"].tolist() == [
        [[2, 7, 3, 8, 3, 0], [2, 9, 3, 0, 0, 0]],
        [[2, 5, 3, 0, 0, 0], [2, 6, 3, 0, 0, 0]],
    ]
    assert batch["segment_ids"][0].tolist() == [[0, 0, 0, 1, 1, 0], [0, 0, 1, 0, 0, 0]]
    assert batch["input_mask"][0].tolist() == [[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0]]
    assert batch["label"].tolist() == [1, 0]


def test_padding_can_be_no_answer():
    features = [Feature(0, [2, 7, 3, 8, 3], [0, 0, 0, 1, 1], (3, 3, 0), [0, 1, 1, 0, 1])]
    [batch] = batches(make_evaluation_dataset(FeatureSet.from_features(features, "span"), BatchShape(1, (8,))))
    assert batch["p_mask"].tolist() == [[0, 1, 1, 0, 1, 1, 1, 1]]
    assert [batch[name].tolist() for name in ("start_positions", "end_positions", "is_impossible")] == [[3], [3], [0]]
    assert "label" not in batch


def test_padding_is_not_scored_as_a_tag():
    features = [Feature(0, [2, 7, 8, 3], [0] * 4, [-1, 4, -1, -1])]
    [batch] = batches(
        make_evaluation_dataset(FeatureSet.from_features(features, "token_classification"), BatchShape(1, (6,)))
    )
    assert batch["label"].tolist() == [[-1, 4, -1, -1, -1, -1]]


@pytest.mark.parametrize(
    ("labels", "wanted"), [(([7, 9], [], [4]), [[7, 9], [-1, -1], [4, -1]]), (([], [], []), [[-1]] * 3)]
)
def test_labels_of_spans_are_filled_up_to_those_of_the_row_with_most(labels, wanted):
    features = [Feature(at, [2, 7, 3], [0, 0, 0], label, [1, 0, 1]) for at, label in enumerate(labels)]
    made = FeatureSet.from_features(features, "span_categories")
    [batch] = make_evaluation_dataset(made, BatchShape(3, (5,)))
    assert batch["label"].numpy().tolist() == wanted
    assert batch["p_mask"].numpy().tolist() == [[1, 0, 1, 1, 1]] * 3


@pytest.mark.parametrize(("head", "label"), [("regression", 2.5), ("multi_label", (0, 1, 1))])
def test_scores_and_several_classes_are_floats(head, label):
    features = FeatureSet.from_features([of_length(4, label=label)], head)
    [batch] = batches(make_evaluation_dataset(features, BatchShape(1, (8,))))
    assert batch["label"].dtype == np.float32
    assert batch["label"].tolist() == [2.5 if head == "regression" else [0.0, 1.0, 1.0]]


def test_features_without_labels_make_batches_without_labels():
    features = FeatureSet.from_features([of_length(4, label=None)], "classification")
    [batch] = batches(make_evaluation_dataset(features, BatchShape(1, (8,))))
    assert "label" not in batch


def test_two_hosts_share_every_batch(many):
    shape = BatchShape(4, (8, 16, 32))
    whole = batches(make_training_dataset(many, shape, seed=5, num_steps=12))
    shares = [
        batches(
            make_training_dataset(
                *(many, shape, 5, 12),
                context=tf.distribute.InputContext(2, host, num_replicas_in_sync=2),
            )
        )
        for host in range(2)
    ]
    for batch, *parts in zip(whole, *shares):
        for name, value in batch.items():
            assert np.array_equal(np.concatenate([part[name] for part in parts]), value)


def test_outputs_come_back_in_the_order_of_the_features(many):
    found = batches(make_evaluation_dataset(many, BatchShape(7, (8, 16, 32))))
    outputs = [row for batch in found for row in batch["label"]]
    index = np.concatenate([batch["feature_index"] for batch in found])
    weights = np.concatenate([batch["example_weight"] for batch in found])
    assert restore_order(outputs, index, weights) == list(range(40))
