"""Exact match, F1 and thresholds against values worked out by hand from the rules of the public scripts."""

import pytest

from albert_tf.tasks.squad_examples import Answer, SquadExample
from albert_tf.tasks.squad_scores import (
    best_threshold,
    exact_match,
    f1,
    f1_or_both_empty,
    means_by_kind,
    normalize_answer,
    raw_scores,
)


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("The  Eiffel\tTower!", "eiffel tower"),
        ("a 'quick' brown-fox, an apple", "quick brownfox apple"),
        ("theatre another", "theatre another"),
        ("The", ""),
        ("...", ""),
        ("U.S.A", "usa"),
        ("a.b", "ab"),
        ("“quoted” —dash", "“quoted” —dash"),
        ("A THE an", ""),
        ("Ångström the", "ångström"),
    ],
)
def test_normalisation(text, normalized):
    assert normalize_answer(text) == normalized


@pytest.mark.parametrize(
    ("predicted", "gold", "exact", "overlap"),
    [
        ("the Tower", "Tower.", 1.0, 1.0),
        ("Eiffel Tower in Paris", "the Eiffel Tower", 0.0, 2 * (2 / 4) * 1.0 / (2 / 4 + 1.0)),
        ("one two", "three", 0.0, 0.0),
        # A word counts as often as both have it: common words x, x, y.
        ("x x x y", "x x y z", 0.0, 0.75),
        ("", "Paris", 0.0, 0.0),
        ("The", "a", 1.0, 0.0),
    ],
)
def test_exact_match_and_f1(predicted, gold, exact, overlap):
    assert exact_match(predicted, gold) == exact
    assert f1(predicted, gold) == pytest.approx(overlap)


def test_two_empty_answers_agree_on_v2_only():
    assert f1("the", "a") == 0.0
    assert f1_or_both_empty("the", "a") == f1_or_both_empty("", "") == 1.0
    assert f1_or_both_empty("", "Paris") == 0.0


def question(*answers, impossible=False):
    return SquadExample("id", "?", "", tuple(Answer(text, 0) for text in answers), impossible)


def test_the_best_of_several_gold_answers_counts():
    scores = raw_scores([question("in the city of Paris", "Paris")], ["Paris"], with_impossible=False)
    assert scores == {"exact": [1.0], "f1": [1.0]}
    scores = raw_scores([question("city of Paris", "Paris France")], ["city Paris"], with_impossible=True)
    assert scores["exact"] == [0.0]
    assert scores["f1"] == pytest.approx([0.8])


def test_no_answer_is_right_where_there_is_none():
    examples = [question(impossible=True), question(impossible=True), question("Paris")]
    scores = raw_scores(examples, ["", "Paris", ""], with_impossible=True)
    assert scores == {"exact": [1.0, 0.0, 0.0], "f1": [1.0, 0.0, 0.0]}


def test_gold_answers_of_articles_alone_do_not_count_on_v2():
    assert raw_scores([question("the", "Paris")], ["a"], with_impossible=True)["exact"] == [0.0]
    assert raw_scores([question("the", "Paris")], ["a"], with_impossible=False)["exact"] == [1.0]


def test_the_best_threshold_by_hand():
    # In the order of the odds: answered right (+1), answered in vain (-1), half right (+0.5), wrong (0), right (+1).
    scores, has_answer = [1.0, 0.0, 0.5, 0.0, 1.0], [True, False, True, True, True]
    texts, odds = ["a", "b", "c", "d", "e"], [-3.0, -2.0, -1.0, 0.5, 2.0]
    # Silence: 1 point. Then 2, 1, 1.5, 1.5, 2.5.
    assert best_threshold(scores, texts, has_answer, odds) == (2.5 / 5, 2.0)
    assert best_threshold(scores[:4], texts[:4], has_answer[:4], odds[:4]) == (2.0 / 4, -3.0)


def test_of_thresholds_that_score_alike_the_lowest_is_taken():
    # The second answer is wrong and its question has one: saying it costs nothing and brings nothing.
    assert best_threshold([1.0, 0.0], ["a", "b"], [True, True], [-2.0, 1.0]) == (0.5, -2.0)


def test_where_silence_is_best_the_threshold_is_below_all_odds():
    best, threshold = best_threshold([0.0, 0.0], ["a", "b"], [False, False], [-5.0, 1.0])
    assert best == 1.0
    assert threshold < -5.0
    assert best_threshold([0.0], ["a"], [False], [3.0]) == (1.0, 0.0)


def test_an_empty_answer_takes_no_point_away():
    assert best_threshold([1.0, 1.0], ["", "a"], [False, True], [0.1, 0.2]) == (1.0, 0.2)


def test_means_are_also_given_by_kind():
    found = means_by_kind({"f1": [1.0, 0.5, 0.0, 1.0]}, [True, True, False, False])
    assert found == {"f1": 0.625, "HasAns_f1": 0.75, "NoAns_f1": 0.5}
    assert means_by_kind({"f1": [1.0, 0.5]}, [True, True]) == {"f1": 0.75}
    assert means_by_kind({"f1": [1.0, 0.5]}, [False, False]) == {"f1": 0.75, "NoAns_f1": 0.75}
