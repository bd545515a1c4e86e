"""Features of every head: to columns and back, and in sets of flat arrays; the names of the official records."""

import numpy as np
import pytest

from albert_tf.exports import saved_model
from albert_tf.finetuning import objectives
from albert_tf.inputs.finetuning_features import HEADS, Feature, FeatureSet, from_columns, to_columns
from albert_tf.runtime.errors import InputError

FEATURES = {
    "classification": Feature(3, [2, 300, 3], [0, 0, 0], 1),
    "multi_label": Feature(0, [2, 7, 3], [0, 0, 0], (0, 1, 1)),
    "regression": Feature(0, [2, 7, 3], [0, 0, 0], -2.5),
    "multiple_choice": Feature(1, ([2, 7, 3, 8, 3], [2, 9, 3]), ([0, 0, 0, 1, 1], [0, 0, 0]), 1),
    "span": Feature(2, [2, 7, 3, 8, 3], [0, 0, 0, 1, 1], (3, 3, 0), [0, 1, 1, 0, 1], {"starts": [0, 0, 0, 5, 0]}),
    "span_beam": Feature(2, [2, 7, 3, 8, 3], [0, 0, 0, 1, 1], (0, 0, 1), [0, 1, 1, 0, 1]),
    "token_classification": Feature(0, [2, 7, 8, 3], [0, 0, 0, 0], [-1, 4, -1, -1]),
    "span_categories": Feature(0, [2, 7, 8, 3], [0, 0, 0, 0], [5, 6], [1, 0, 0, 1]),
}


def same(first: Feature, second: Feature) -> bool:
    """True if two features hold the same numbers, in lists or arrays."""
    plain = [
        (
            feature.example,
            [np.asarray(ids).tolist() for ids in feature.input_ids],
            [np.asarray(ids).tolist() for ids in feature.segment_ids],
            np.asarray(feature.label).tolist(),
            None if feature.p_mask is None else list(feature.p_mask),
            {name: list(values) for name, values in feature.notes.items()},
        )
        for feature in (first, second)
    ]
    return plain[0] == plain[1]


def test_every_head_has_a_feature_here():
    assert set(FEATURES) == set(HEADS)


def test_training_and_serving_know_every_kind_of_head():
    assert {*objectives._SUMS, "multi_label"} == set(HEADS)
    # Entities are told by tags.
    assert set(saved_model._MODULES) == {*HEADS, "entities"}


@pytest.mark.parametrize("head", HEADS)
def test_a_feature_comes_back_from_its_columns(head):
    assert same(from_columns(to_columns(FEATURES[head], head), head), FEATURES[head])


@pytest.mark.parametrize("head", HEADS)
def test_a_feature_without_a_label_comes_back_without_one(head):
    unlabelled = Feature(**{**FEATURES[head].__dict__, "label": None})
    assert same(from_columns(to_columns(unlabelled, head), head), unlabelled)


def test_columns_have_the_official_names():
    names = {head: set(to_columns(feature, head)) for head, feature in FEATURES.items()}
    assert {"input_ids", "segment_ids", "label_ids"} <= names["classification"]
    official = {"input_ids", "segment_ids", "p_mask", "start_positions", "end_positions", "is_impossible"}
    assert official <= names["span"]


def test_the_score_of_a_regression_is_a_float():
    assert to_columns(FEATURES["regression"], "regression")["label_ids"].dtype == np.float32


def test_the_length_of_several_options_is_that_of_the_longest():
    assert FEATURES["multiple_choice"].length == 5
    assert FEATURES["span"].length == 5


def sets(features, head) -> list[FeatureSet]:
    """The features in one set, in two that are joined, and in one that was taken apart."""
    whole = FeatureSet.from_features(features, head)
    halves = [FeatureSet.from_features(part, head) for part in (features[:1], [], features[1:])]
    return [whole, FeatureSet.joined(halves, head), FeatureSet.from_arrays(whole.to_arrays(), head)]


@pytest.mark.parametrize("head", HEADS)
def test_a_set_gives_back_its_features(head):
    features = [FEATURES[head], Feature(**{**FEATURES[head].__dict__, "example": 7})]
    for made in sets(features, head):
        assert len(made) == 2
        assert all(same(found, wanted) for found, wanted in zip(made, features))
        assert made.lengths.tolist() == [features[0].length] * 2
        assert made.num_options == (2 if head == "multiple_choice" else 1)


@pytest.mark.parametrize("head", HEADS)
def test_sets_made_in_different_ways_hold_the_same_arrays(head):
    whole, *others = (made.to_arrays() for made in sets([FEATURES[head]] * 3, head))
    assert all(array.dtype in (np.int8, np.int32, np.float32) for array in whole.values())
    for other in others:
        assert {name: (array.dtype, array.tolist()) for name, array in other.items()} == {
            name: (array.dtype, array.tolist()) for name, array in whole.items()
        }


def test_a_row_without_spans_beside_rows_with_some_has_none():
    rows = [Feature(at, [2, 7, 3], [0, 0, 0], label, [1, 0, 1]) for at, label in enumerate(([5, 6], [], [4]))]
    for made in sets(rows, "span_categories"):
        assert [feature.label for feature in made] == [(5, 6), (), (4,)]


def test_an_empty_set_has_no_features():
    for made in sets([], "span"):
        assert len(made) == len(made.lengths) == 0
        with pytest.raises(IndexError):
            made[0]


def test_questions_with_different_numbers_of_options_are_refused():
    two, one = FEATURES["multiple_choice"], Feature(0, ([2, 3],), ([0, 0],), 0)
    with pytest.raises(InputError, match="as many options; here some have 1, some 2"):
        FeatureSet.from_features([two, one], "multiple_choice").lengths
