"""Claims of the paper beside made-up figures: same sign, other sign, within the error, not measured."""

import pytest

from albert_tf.experiments.claims import NOT_HERE, OTHER, SAME, WITHIN, Claim, judge
from albert_tf.experiments.experiment import read_experiment
from albert_tf.experiments.table import Cell, TableRow, verdicts_of
from albert_tf.runtime.errors import InputError

CLAIM = {"text": "more is better", "rows": ["second", "first"], "measure": "masked_lm", "column": "average"}
PAPER = {"columns": ["average"], "rows": {"first": [80.0], "second": [81.5]}}


@pytest.mark.parametrize(
    ("row", "than", "word", "difference"),
    [
        ((0.52, 0.53), (0.5, 0.51), SAME, 2.0),
        ((0.48, 0.49), (0.5, 0.51), OTHER, -2.0),
        # Differences of 0.4 and 1.4 points: a mean of 0.9, with a standard error of 0.5.
        ((0.504, 0.514), (0.5, 0.5), WITHIN, 0.9),
        # Seeds that differ by ten points differ in both rows.
        ((0.41, 0.511, 0.612), (0.4, 0.5, 0.6), SAME, 1.1),
        ((0.501,), (0.5,), SAME, 0.1),
        ((0.5,), (0.5,), WITHIN, 0.0),
        (None, (0.5, 0.1), NOT_HERE, None),
    ],
)
def test_a_difference_is_held_against_the_papers(row, than, word, difference):
    verdict = judge(Claim("more is better", "second", "first", "masked_lm", 1.5), row, than)
    assert verdict.word == word
    assert verdict.difference == (None if difference is None else pytest.approx(difference))


@pytest.mark.parametrize(
    ("measure", "key"),
    [
        ("masked_lm", "masked_lm_accuracy/sop"),
        ("next_sentence", "next_sentence_balanced_accuracy/nsp"),
        ("rte", "task/rte"),
    ],
)
def test_a_claim_is_measured_by_the_column_that_it_names(write, measure, key):
    paper = {**PAPER, "claims": [{**CLAIM, "measure": measure}]}
    tasks, evaluations = [{"task_name": "rte"}], ["masked_lm", "sentence_order", "next_sentence"]
    experiment = read_experiment(write(paper=paper, tasks=tasks, evaluations=evaluations))
    rows = [TableRow(name, 1, 1, {key: Cell.of(values)}, ()) for name, values in (("first", [0.5]), ("second", [0.4]))]
    (verdict,) = verdicts_of(experiment, rows)
    assert (verdict.word, verdict.difference, verdict.claim.paper) == (OTHER, pytest.approx(-10), pytest.approx(1.5))
    (missing,) = verdicts_of(experiment, rows[:1])
    assert missing.word == NOT_HERE


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({}, "claims: a list of claims"),
        ([{"text": "x"}], r"claims\[0\]: lacks rows"),
        ([{**CLAIM, "rows": ["second"]}], r"claims\[0\]: rows: the names of two rows"),
        ([{**CLAIM, "rows": ["second", "third"]}], r"claims\[0\]: rows: the paper has no figure of second or of third"),
        ([{**CLAIM, "column": "median"}], r"claims\[0\]: column: the paper's columns are average. Received 'median'"),
        ([{**CLAIM, "column": ["average"]}], r"claims\[0\]: column: the paper's columns"),
        ([{**CLAIM, "measure": "rte"}], r"claims\[0\]: measure: this experiment has masked_lm, sentence_order"),
        ([{**CLAIM, "text": 3}], r"claims\[0\]: text: text was expected"),
        (
            [{**CLAIM, "rows": ["first", "first"]}],
            r"claims\[0\]: rows: the paper has the same figure of first and first",
        ),
    ],
)
def test_a_wrong_claim_is_one_line(write, claims, message):
    with pytest.raises(InputError, match=message) as caught:
        read_experiment(write(paper={**PAPER, "claims": claims}))
    assert "\n" not in str(caught.value)
