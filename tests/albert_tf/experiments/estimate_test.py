"""The time that is left, from made-up notes of finished steps."""

from albert_tf.experiments.estimate import estimate_seconds
from albert_tf.experiments.steps import Step


def _note(kind, seconds, work=1.0):
    return {"kind": kind, "seconds": seconds, "work": work}


def test_time_goes_by_work_and_by_the_median_of_finished_steps():
    left = [Step("pretraining", {}, "", work=10.0), Step("evaluation", {}, ""), Step("finetuning", {}, "")]
    # 2, 3 and 50 seconds for each unit of work; the one that had been stopped has no time.
    notes = [_note("pretraining", 4.0, 2.0), _note("pretraining", 3.0), _note("pretraining", 50.0)]
    notes += [_note("evaluation", 7.0), _note("evaluation", None), {"kind": "evaluation"}]
    assert estimate_seconds(left, notes) == (10 * 3 + 7, {"finetuning"})
    assert estimate_seconds(left, []) == (0, {"pretraining", "evaluation", "finetuning"})
