"""Rules of early exit, beside values worked out by hand; the exits' weights."""

import dataclasses

import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.heads.exits import ExitRule, Exits
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import named_weights
from albert_tf.runtime.errors import InputError

# Answers of five exits about three texts: sure of 1 from the first on; 0, 1, 1, 1, 1; never the same twice.
_ANSWERS = [[1, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 1, 0, 1, 0]]


def _logits(answers, size=4.0):
    return np.asarray([[[size, 0.0] if answer == 0 else [0.0, size] for answer in row] for row in answers], np.float32)


@pytest.mark.parametrize(("patience", "layers"), [(1, [2, 3, 5]), (2, [3, 4, 5]), (3, [4, 5, 5]), (4, [5, 5, 5])])
def test_a_text_leaves_once_so_many_exits_agreed_with_the_one_before(patience, layers):
    assert ExitRule("classification", patience=patience).layers_of(_logits(_ANSWERS)).tolist() == layers


def test_a_text_leaves_by_the_first_exit_that_is_sure():
    # Of 0 and a logit x the probability is 1 / (1 + exp(-x)): 0.88 of 2, 0.982 of 4.
    logits = np.asarray([[[0, 2], [0, 4], [0, 0]], [[4, 0], [0, 0], [0, 0]], [[0, 2], [2, 0], [0, 1]]], np.float32)
    assert ExitRule("classification", confidence=0.95).layers_of(logits).tolist() == [2, 1, 3]
    assert ExitRule("classification", confidence=0.85).layers_of(logits).tolist() == [1, 1, 1]


def test_no_text_leaves_before_the_layers_that_all_have():
    assert ExitRule("classification", patience=1, min_layers=3).layers_of(_logits(_ANSWERS)).tolist() == [3, 3, 5]
    logits = np.asarray([[[0, 4], [0, 0], [0, 4]], [[0, 4], [4, 0], [0, 4]]], np.float32)
    rule = ExitRule("classification", confidence=0.95, min_layers=2)
    assert rule.layers_of(logits).tolist() == [3, 2]
    assert (rule.first_exit, rule.asks_first) == (2, True)
    assert rule.to_dict() == {"head": "classification", "confidence": 0.95, "min_layers": 2}
    assert "min_layers" not in ExitRule("classification", confidence=0.95).to_dict()
    of_mean = ExitRule("classification", confidence=0.95, min_layers=2, pooling="mean")
    assert (of_mean.asks_first, of_mean.to_dict()["pooling"]) == (False, "mean")


@pytest.mark.parametrize(
    ("rule", "work"),
    [
        # Two layers whole; or the last, of which [CLS] is a fifth.
        ({"confidence": 0.9}, (2 + 3.2) / 2),
        # One layer and a fifth of the next; or all of them, and a fifth of the second and of the third besides.
        ({"confidence": 0.9, "min_layers": 2}, (1.2 + 3.6) / 2),
        ({"patience": 1}, (1.2 + 3.6) / 2),
        # Of a mean all tokens are wanted.
        ({"confidence": 0.9, "min_layers": 2, "pooling": "mean"}, (2 + 3.2) / 2),
    ],
)
def test_work_is_counted_in_layers_of_which_all_but_the_last_are_whole(rule, work):
    found = ExitRule("classification", **rule).work_of(np.asarray([2, 4]), depth=4)
    assert found == pytest.approx(work / 3.2)


def test_of_several_labels_the_least_sure_decides_and_all_must_agree():
    logits = np.asarray([[[4, 0.1], [4, -4], [4, -3], [1, 1]]], np.float32)
    assert ExitRule("multi_label", confidence=0.95).layers_of(logits).tolist() == [2]
    assert ExitRule("multi_label", patience=1).layers_of(logits).tolist() == [3]


def test_numbers_agree_that_differ_by_little():
    logits = np.asarray([[[1.0], [1.3], [1.35], [1.0]]], np.float32)
    assert ExitRule("regression", patience=1, difference=0.1).layers_of(logits).tolist() == [3]
    assert ExitRule("regression", patience=1).layers_of(logits).tolist() == [4]


def test_a_rule_is_one_of_the_two():
    with pytest.raises(ValueError, match="by patience or by confidence"):
        ExitRule("classification")
    with pytest.raises(ValueError, match="by patience or by confidence"):
        ExitRule("span", patience=1)


def test_the_last_exit_is_the_plain_classifier_and_the_others_have_names_of_their_own(small_config: AlbertConfig):
    config = dataclasses.replace(small_config, num_hidden_layers=3)
    plain, exits = (named_weights(make_finetuning_model(config, "regression", early_exit=has)) for has in (False, True))
    more = [f"exits/exit_{layer}/{weight}" for layer in (1, 2) for weight in ("kernel", "bias")]
    assert sorted(exits) == sorted([*plain, *more])


def test_exits_are_of_whole_texts_and_of_several_layers(small_config):
    with pytest.raises(InputError, match="`early_exit` is for classification, multi_label, regression"):
        make_finetuning_model(small_config, "span", early_exit=True)
    with pytest.raises(InputError, match="two layers or more"):
        Exits(dataclasses.replace(small_config, num_hidden_layers=1), 2)
