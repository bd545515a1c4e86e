"""Ranking within groups: its scores by hand, against scikit-learn, and what the task reads, writes and refuses."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.tasks.ranking import MRR, NDCG, RECALL, ranking_scores
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.text_classification import TextPrediction

TABLE = """query\tpassage\tlabel\tid
a\tone\t0\tp1
a\ttwo\t1\tp2
b\tone\t0\tp3
a\tthree\t0\tp4
b\tfour\t0\tp5
c\tfive\t1\tp6
"""


@pytest.fixture
def make(write):
    """A function of a table and options that returns the task."""

    def make_own(table=TABLE, **options):
        path = write("train.tsv", table)
        columns = {"text_column": "query", "text_pair_column": "passage", "group_column": "query"}
        return make_task("classification", None, TaskOptions(train_file=path, dev_file=path, **{**columns, **options}))

    return make_own


def test_scores_are_those_worked_out_by_hand():
    groups = ["a", "b", "a", "a", "b", "none"]
    relevances = [0, 1, 2, 1, 1, 0]
    # Of a the order is 0, 2, 1; of b both are relevant.
    found = ranking_scores(groups, relevances, [0.9, 0.2, 0.8, 0.1, 0.1, 0.5])
    best = 3 + 1 / math.log2(3)
    ndcg_of_a = (3 / math.log2(3) + 1 / math.log2(4)) / best
    assert found == pytest.approx({MRR: (1 / 2 + 1) / 2, NDCG: (ndcg_of_a + 1) / 2, RECALL: 1.0})


def test_only_the_first_ten_count():
    relevances = [0] * 10 + [1, 1]
    falling = list(range(12, 0, -1))
    assert ranking_scores(["q"] * 12, relevances, falling) == {MRR: 0.0, NDCG: 0.0, RECALL: 0.0}
    swapped = [*falling[:9], 1, falling[9], 0]
    found = ranking_scores(["q"] * 12, relevances, swapped)
    assert (found[MRR], found[RECALL]) == (1 / 10, 1 / 2)


def test_equal_scores_gain_nothing():
    found = ranking_scores(["q"] * 4, [1, 0, 0, 0], [0.5] * 4)
    assert found[MRR] == 1 / 4
    assert ranking_scores(["q"], [0], [1.0]) == {MRR: 0.0, NDCG: 0.0, RECALL: 0.0}


def test_ndcg_is_that_of_scikit_learn():
    rng = random.Random(0)
    for _ in range(20):
        relevances = [rng.randint(0, 3) for _ in range(15)]
        scores = rng.sample(range(100), 15)
        wanted = ndcg_score([2.0 ** np.array(relevances) - 1], [scores], k=10)
        assert ranking_scores(["q"] * 15, relevances, scores)[NDCG] == pytest.approx(wanted)


def test_a_task_ranks_by_the_second_class(make, tmp_path):
    task = make()
    examples = task.examples("dev")
    assert [one.group for one in examples] == ["a", "a", "b", "a", "b", "c"]
    chances = [0.6, 0.7, 0.1, 0.8, 0.2, 0.4]
    predictions = [TextPrediction(int(chance > 0.5), (1 - chance, chance)) for chance in chances]
    found = task.scores(examples, predictions)
    assert task.metric == NDCG
    assert found[MRR] == (1 / 2 + 1) / 2
    assert set(found) == {MRR, NDCG, RECALL, "accuracy", "macro_f1"}
    assert set(task.metrics) >= set(found)
    for metric in (MRR, "f1", "accuracy"):
        chosen = task.with_metric(metric)
        assert chosen.metric == metric
        assert metric in chosen.scores(examples, predictions)
    report = task.report(examples, predictions)
    assert (report.values["groups"], report.values["groups_with_a_relevant_row"]) == (3, 2)
    assert report.text.startswith("3 groups, 2 of them with a relevant row")
    paths = task.write_predictions(str(tmp_path), "dev", examples, predictions)
    assert [Path(path).name for path in paths] == ["dev_predictions.jsonl", "dev_ranking.tsv"]
    lines = [line.split("\t") for line in Path(paths[1]).read_text().splitlines()]
    assert lines[1:] == [
        ["a", "1", "p4", "0.8"],
        ["a", "2", "p2", "0.7"],
        ["a", "3", "p1", "0.6"],
        ["b", "1", "p5", "0.2"],
        ["b", "2", "p3", "0.1"],
        ["c", "1", "p6", "0.4"],
    ]


def test_a_regression_ranks_by_its_number(make):
    task = make(regression=True)
    examples = task.examples("dev")
    found = task.scores(examples, [TextPrediction(value) for value in (0.0, 3.0, 1.0, 1.0, 0.0, 2.0)])
    assert found[MRR] == found[RECALL] == 1.0
    assert "pearson" in found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group_column": "label"}, "--group_column and --label_column must name different columns"),
        ({"multi_label": True}, "ranks by the second of two classes, .* this is multi label of 2 classes"),
        ({"table": TABLE + "d\tx\t2\tp7\n"}, "this is classification of 3 classes"),
        ({"table": TABLE + " \tx\t1\tp7\n"}, r"train\.tsv, line 8: 'query', the group, is empty"),
        ({"table": TABLE + "d\tx\t1500\tp7\n", "regression": True}, r"line 8: a relevance counts as a power of 2"),
        ({"group_column": "topic"}, r"train\.tsv, line 2: the row has no value of 'topic'"),
    ],
)
def test_what_has_no_order_is_refused(make, options, message):
    with pytest.raises((InputError, FlagError), match=message):
        make(**options).examples("dev")


def test_other_tasks_have_no_groups():
    with pytest.raises(InputError, match="--group_column means nothing to --task_name=sst-2"):
        make_task("sst-2", "nowhere", TaskOptions(group_column="x"))
