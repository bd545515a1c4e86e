"""Places of right texts in a search, and what they come to; pairs as queries and texts."""

import numpy as np
import pytest

from albert_tf.embedding.dev_set import DevSet
from albert_tf.embedding.retrieval import products, ranks, retrieval_scores
from albert_tf.embedding.text_tables import TextTable
from albert_tf.runtime.errors import InputError


def test_a_right_text_stands_after_those_that_are_nearer_or_as_near():
    scores = np.array([[0.9, 0.5, 0.1], [0.5, 0.5, 0.5], [0.1, 0.9, 0.8], [np.nan, 0.2, 0.1]])
    found = ranks([scores[:1], scores[1:]], [[0], [1], [1, 2], [0]])
    assert [places.tolist() for places in found] == [[1], [3], [1, 2], [3]]


def test_recalls_are_shares_of_the_right_texts_of_each_query():
    found = retrieval_scores([np.array(places) for places in ([1], [4, 6], [20], [1, 2])])
    assert found == {"recall_at_1": 0.375, "recall_at_5": 0.625, "recall_at_10": 0.75, "mrr": pytest.approx(0.575)}


def test_products_are_made_of_some_queries_at_a_time():
    queries, texts = np.random.default_rng(0).normal(size=(600, 4)), np.eye(4)
    blocks = list(products(queries, texts))
    assert len(blocks) > 1
    np.testing.assert_allclose(np.concatenate(blocks), queries)


def _table(rows, scores=None):
    return TextTable("dev.tsv", ("a", "b", "c")[: len(rows[0])], rows, scores)


def test_a_query_may_have_several_right_texts_and_third_texts_are_searched_too():
    dev = DevSet.from_table(_table([("q", "x", "z"), ("q", "y", "z"), ("r", "z", "x")]))
    assert (dev.metric, list(dev.texts)) == ("mrr", ["q", "x", "z", "y", "r"])
    vectors = dict(zip("qxzyr", [[1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [2.0, 0.1], [0.0, 3.0]]))
    scores = dev.judge(np.array([vectors[text] for text in dev.texts], np.float32))
    # q finds y first, one of its two; r finds x, then z.
    assert (scores["recall_at_1"], scores["recall_at_5"], scores["mrr"]) == (0.25, 1.0, 0.75)


def test_a_query_that_is_searched_too_does_not_find_itself():
    dev = DevSet.from_table(_table([("p", "q"), ("q", "p"), ("r", "s"), ("s", "r")]))
    vectors = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]], np.float32)
    assert dev.judge(vectors)["recall_at_1"] == 1.0
    # Unless that is what is asked.
    assert ranks([np.array([[0.9, 0.5]])], [[0]], [0])[0].tolist() == [1]
    assert ranks([np.array([[0.9, 0.5]])], [[1]], [0])[0].tolist() == [1]


def test_sets_are_told_apart_by_what_is_in_them():
    rows, other = [("p", "q"), ("r", "s")], [("p", "q"), ("r", "t")]
    first, same, others, scored = (
        DevSet.from_table(_table(*given)).digest
        for given in ((rows,), (list(rows),), (other,), (rows, np.ones(2, np.float32)))
    )
    assert first == same
    assert len({first, others, scored}) == 3


def test_scores_are_compared_with_cosines():
    dev = DevSet.from_table(_table([("p", "q"), ("p", "r"), ("q", "r")], np.array([1.0, 0.5, 0.0], np.float32)))
    scores = dev.judge(np.array([[2.0, 0.0], [1.0, 0.1], [1.0, 2.0]], np.float32))
    assert dev.metric == "spearman"
    assert scores["spearman"] == pytest.approx(0.5)
    assert -1 <= scores["pearson"] <= 1


def test_single_texts_and_scores_of_three_judge_nothing():
    with pytest.raises(InputError, match=r"dev.tsv: an evaluation needs two columns of texts; there is 'a'"):
        DevSet.from_table(_table([("p",)]))
    with pytest.raises(InputError, match="scores are of two texts; 3 columns are a, b, c"):
        DevSet.from_table(_table([("p", "q", "r")], np.zeros(1, np.float32)))
