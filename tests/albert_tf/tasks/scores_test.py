"""Scores against values worked out by hand, at their edges too; and what is said where scikit-learn is missing."""

import importlib.util
import sys

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks import scores


def test_accuracy_and_f1_by_hand():
    gold, predicted = [0, 0, 1, 1, 1], [0, 1, 1, 1, 0]
    assert scores.accuracy(gold, predicted) == pytest.approx(0.6)
    assert scores.f1(gold, predicted) == pytest.approx(2 / 3)
    assert scores.macro_f1(gold, predicted) == pytest.approx((0.5 + 2 / 3) / 2)


def test_matthews_correlation_by_hand():
    # TP 2, TN 1, FP 1, FN 1: (2 * 1 - 1 * 1) / sqrt(3 * 3 * 2 * 2)
    assert scores.matthews_correlation([0, 0, 1, 1, 1], [0, 1, 1, 1, 0]) == pytest.approx(1 / 6)
    assert scores.matthews_correlation([0, 1, 1], [0, 1, 1]) == pytest.approx(1.0)


def test_correlations_by_hand():
    gold, predicted = [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]
    assert scores.pearson(gold, predicted) == pytest.approx(0.5)
    assert scores.spearman(gold, predicted) == pytest.approx(0.5)
    assert scores.pearson([1, 2, 3], [1, 4, 9]) == pytest.approx(8 / np.sqrt(2 * 98 / 3))
    assert scores.spearman([1, 2, 3], [1, 4, 9]) == pytest.approx(1.0)
    assert scores.mean_squared_error([1, 2], [2, 4]) == pytest.approx(2.5)


@pytest.mark.parametrize("measure", [scores.matthews_correlation, scores.pearson, scores.spearman])
def test_a_correlation_with_a_constant_is_none(measure):
    assert measure([0, 1, 1], [1, 1, 1]) == 0.0
    assert measure([1, 1, 1], [0, 1, 1]) == 0.0


def test_several_labels_by_hand():
    gold = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]])
    predicted = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 0]])
    scored = scores.multi_label_scores(gold, predicted)
    # The first and the last example have every label right, the others some.
    assert scored["exact_match"] == 0.5
    # Of 5 true labels and 6 said 4 are right; by the class F1 is 1, 2 * 2 / (3 + 3) and 0.
    assert scored["micro_f1"] == pytest.approx(2 * 4 / (5 + 6))
    assert scored["macro_f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)


def test_of_one_label_only_those_that_have_it_count():
    gold, predicted = np.array([[1], [1], [0], [0]]), np.array([[1], [0], [1], [0]])
    # Of 2 true labels and 2 said 1 is right; that two examples have none is no success.
    assert scores.multi_label_scores(gold, predicted) == {"micro_f1": 0.5, "macro_f1": 0.5, "exact_match": 0.5}
    assert scores.multi_label_scores(gold, 0 * gold) == {"micro_f1": 0.0, "macro_f1": 0.0, "exact_match": 0.5}


def test_scores_that_nothing_adds_to_are_zero():
    assert scores.f1([0, 0], [0, 0]) == 0.0
    assert scores.multi_label_scores(np.array([[0, 0]]), np.array([[0, 0]])) == {
        "micro_f1": 0.0,
        "macro_f1": 0.0,
        "exact_match": 1.0,
    }


def test_every_score_is_a_plain_number():
    for name, measure in scores.BY_NAME.items():
        assert type(measure([0, 1, 1], [0, 0, 1])) is float, name


@pytest.mark.parametrize(("package", "measure"), [("sklearn", "accuracy"), ("scipy", "pearson")])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, package, measure):
    for module in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=r"pip install 'albert_tf\[finetuning\]'"):
        scores.BY_NAME[measure]([0, 1], [0, 1])


@pytest.mark.parametrize(("package", "name"), [("sklearn", "scikit-learn"), ("scipy", "scipy")])
def test_a_missing_package_is_noticed_before_anything_is_scored(monkeypatch, package, name):
    scores.check_packages()
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda wanted: None if wanted == package else find(wanted))
    with pytest.raises(InputError, match=f"scores need {name}; install it with"):
        scores.check_packages()
