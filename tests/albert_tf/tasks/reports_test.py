"""Reports of evaluations: measures by hand, tables that fit a screen, and what goes to a file instead."""

import numpy as np
from sklearn.metrics import precision_recall_fscore_support

from albert_tf.tasks.reports import TEXT_SEPARATOR, confusion_report, label_report


def test_precision_and_recall_by_hand():
    report = confusion_report(["no", "yes", "never"], ["a", "b", "c", "d"], [0, 0, 1, 1], [0, 1, 1, 1], [0.5] * 4)
    no, yes, never = report.values["classes"]
    assert no == {"label": "no", "precision": 1.0, "recall": 0.5, "f1": 2 / 3, "examples": 2, "predicted": 1}
    assert (yes["precision"], yes["recall"], yes["predicted"]) == (2 / 3, 1.0, 3)
    assert (never["precision"], never["recall"], never["f1"]) == (None, None, None)
    lines = [line.split() for line in report.text.splitlines()]
    assert lines[0] == ["class", "precision", "recall", "f1", "examples", "predicted"]
    assert lines[1] == ["no", "1.000", "0.500", "0.667", "2", "1"]
    assert lines[3] == ["never", "-", "-", "-", "0", "0"]
    assert "no taken for yes (0.50): b" in report.text


def test_measures_by_class_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    gold, predicted = rng.integers(0, 5, 200), rng.integers(0, 5, 200)
    report = confusion_report(list("abcde"), [""] * 200, gold.tolist(), predicted.tolist(), None)
    found = [[row[name] for row in report.values["classes"]] for name in ("precision", "recall", "f1", "examples")]
    np.testing.assert_allclose(found, precision_recall_fscore_support(gold, predicted))


def test_many_classes_fit_a_screen_and_the_whole_matrix_goes_to_a_file():
    count = 33
    labels = [f"a class with a rather long name, number {number}" for number in range(count)]
    gold = [*range(count), *[5] * 7, *range(count)]
    predicted = [*range(count), *[6] * 7, *[0] * count]
    report = confusion_report(labels, ["x" * 300] * len(gold), gold, predicted, [0.5] * len(gold))
    lines = report.text.splitlines()
    assert max(map(len, lines)) < 180
    assert len(lines) < 45
    assert lines[0] == "the 20 classes of 33 with the most examples:"
    assert "the most frequent confusions of 33 classes; all of them are in *_confusion_matrix.tsv:" in lines
    matrix = report.tables["confusion_matrix"]
    assert [len(row) for row in matrix] == [count + 1] * (count + 1)
    assert matrix[6][1:9] == [1, 0, 0, 0, 0, 1, 7, 0]
    assert np.sum(report.values["confusion_matrix"]) == len(gold)
    assert len(report.values["classes"]) == count


def test_errors_without_probabilities_stand_in_their_order_and_name_none():
    report = confusion_report(["x", "y"], ["first", "second"], [0, 1], [1, 0], None)
    assert [error["text"] for error in report.values["errors"]] == ["first", "second"]
    assert "probability" not in report.values["errors"][0]
    assert "  x taken for y: first" in report.text


def test_a_pair_of_long_texts_is_shown_by_the_start_of_both():
    pair = "one " * 50 + TEXT_SEPARATOR + "two " * 50
    line = confusion_report(["x", "y"], [pair], [0], [1], None).text.splitlines()[-1]
    assert "one one" in line and "two two" in line
    assert line.count("…") == 2 and len(line) < 130


def test_no_classes_at_all_are_named_none():
    nothing, one = np.zeros((1, 2), int), np.array([[0, 1]])
    report = label_report(["x", "y"], ["a"], nothing, one, np.array([[0.1, 0.9]]))
    assert "  y instead of none: a" in report.text
    assert label_report(["x", "y"], ["a"], one, one, np.array([[0.1, 0.9]])).values["errors"] == []
