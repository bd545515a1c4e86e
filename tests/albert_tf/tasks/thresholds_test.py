"""Thresholds of labels: the best by hand, in scores and back, through a task, and the metric that a task goes by."""

import json

import numpy as np
import pytest

from albert_tf.checkpoints.checkpoint_evaluation import write_evaluation
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.task_fields import label_thresholds
from albert_tf.conversion.pretrained import Pretrained
from albert_tf.exports.export_source import with_thresholds
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.tasks import thresholds
from albert_tf.tasks.registry import TaskOptions, make_task

# Of two labels: the first is best told apart at 0.3, the second at 0.7.
GOLD = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
PROBABILITIES = np.array([[0.9, 0.6], [0.4, 0.1], [0.2, 0.8], [0.1, 0.9]])


def test_the_best_threshold_lies_between_two_probabilities():
    assert thresholds.best_threshold(GOLD[:, 0], PROBABILITIES[:, 0]) == pytest.approx(0.3)
    assert thresholds.best_threshold(GOLD[:, 1], PROBABILITIES[:, 1]) == pytest.approx(0.7)
    # Equals cannot be told apart: all three or none.
    assert thresholds.best_threshold(np.array([1, 0, 0]), np.array([0.6, 0.6, 0.6])) == pytest.approx(0.3)
    assert thresholds.best_threshold(np.zeros(3), np.array([0.6, 0.7, 0.8])) == 0.5


def test_no_other_threshold_has_a_higher_f1():
    rng = np.random.default_rng(0)
    gold, probabilities = rng.integers(2, size=40), rng.random(40).round(1)

    def f1(threshold):
        chosen = probabilities >= threshold
        return 2 * (chosen & (gold == 1)).sum() / (chosen.sum() + gold.sum())

    best = f1(thresholds.best_threshold(gold, probabilities))
    assert best == max(f1(value) for value in np.linspace(0, 1, 101))


def test_one_threshold_serves_all_labels_or_each_has_its_own():
    one = thresholds.find_thresholds("one", GOLD, PROBABILITIES)
    assert one == (pytest.approx(0.3), pytest.approx(0.3))
    each = thresholds.find_thresholds("each", GOLD, PROBABILITIES)
    assert each == (pytest.approx(0.3), pytest.approx(0.7))
    for text, found in (("one", one), ("each", each)):
        scores = thresholds.thresholds_to_scores(text, ("a", "b"), found)
        assert thresholds.thresholds_of_scores(text, ("a", "b"), scores) == found
    assert thresholds.thresholds_of_scores("each", ("a", "b"), {"threshold": 0.5}) is None


@pytest.fixture
def make(tmp_path):
    """A function of options, to a task of two labels whose dev split is GOLD."""
    rows = [{"text": str(n), "label": [name for name, there in zip("ab", row) if there]} for n, row in enumerate(GOLD)]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return lambda **options: make_task("classification", str(tmp_path), TaskOptions(labels=("a", "b"), **options))


def test_a_task_scores_and_writes_by_the_thresholds_that_it_found(make, tmp_path):
    task = make(multi_label=True, label_threshold="each")
    examples = task.examples("dev")
    logits = np.log(PROBABILITIES / (1 - PROBABILITIES))
    predictions = task.predictions(examples, [], {"logits": logits}, None)
    assert make(multi_label=True).scores(examples, predictions)["micro_f1"] < 1.0
    scores = task.scores(examples, predictions)
    assert scores["micro_f1"] == scores["exact_match"] == 1.0
    other = task.with_threshold(task.threshold_in(scores))
    assert other.threshold_score is None
    (path,) = other.write_predictions(str(tmp_path), "dev", examples, predictions)
    with open(path) as file:
        assert [json.loads(line)["prediction"] for line in file] == [["a"], ["a"], ["b"], ["b"]]
    given = make(multi_label=True, label_threshold="0.3,0.7")
    assert given.scores(examples, predictions) == {"micro_f1": 1.0, "macro_f1": 1.0, "exact_match": 1.0}


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"label_threshold": "one"}, FlagError, "--label_threshold goes with --multi_label"),
        ({"multi_label": True, "label_threshold": "1.5"}, InputError, "a number from 0 to 1, or one for each of the 2"),
        ({"multi_label": True, "label_threshold": "0.1,0.2,0.3"}, InputError, "Received '0.1,0.2,0.3'"),
    ],
)
def test_thresholds_that_cannot_be_are_refused(make, options, error, match):
    with pytest.raises(error, match=match):
        make(**options)


def test_a_checkpoint_answers_by_the_thresholds_of_its_evaluation(tmp_path, caplog):
    task = FinetunedTask("multi_label", 2, ("a", "b"), options={"label_threshold": "each"})
    pretrained = Pretrained(None, None, None, "sop", task, str(tmp_path))
    assert label_thresholds(with_thresholds(pretrained).task) == (0.5, 0.5)
    assert "was not evaluated on a dev split" in caplog.text
    write_evaluation(str(tmp_path), {"f1": 1.0, "best_metric": "f1", "threshold a": 0.3, "threshold b": 0.7})
    assert label_thresholds(with_thresholds(pretrained).task) == (0.3, 0.7)
    assert label_thresholds(FinetunedTask("multi_label", 2, ("a", "b"))) is None


def test_a_task_goes_by_another_of_its_scores(make):
    task = make().with_metric("f1")
    assert task.metric == "f1"
    examples = [type("E", (), {"label": label}) for label in (0, 1, 1)]
    predictions = [type("P", (), {"value": value}) for value in (0, 1, 0)]
    assert task.scores(examples, predictions)["f1"] == pytest.approx(2 / 3)
    assert make().metric == "accuracy"
    assert "f1" not in make(multi_label=True).metrics
