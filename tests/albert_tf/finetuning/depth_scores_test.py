"""Scores by depth: the curve of a model with exits, the rule that is chosen, and the loss that trains it."""

import dataclasses

import numpy as np
import pytest
from keras import ops

from albert_tf.checkpoints.depth_scores import read_depth_scores, score_of_layers, write_depth_scores
from albert_tf.exports.depth import DepthSettings
from albert_tf.finetuning import depth_scores
from albert_tf.finetuning.depth_scores import exit_scores, format_depth_scores
from albert_tf.finetuning.exit_plot import draw_exits
from albert_tf.finetuning.objectives import Objective
from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT, LABEL
from albert_tf.runtime.errors import FlagError, InputError

# Three exits about four texts of the class 1: the first is right and sure of half of them.
_LOGITS = np.asarray([[[0, 6], [0, 6], [0, 6]]] * 2 + [[[1, 0], [0, 1], [0, 6]]] * 2, np.float32)
_FACTS = {"metric": "accuracy", "split": "dev", "num_examples": 4}


def _accuracy(logits):
    return float(np.mean(logits.argmax(-1) == 1))


def test_the_rule_of_least_work_within_the_tolerance_is_chosen(tmp_path):
    found = exit_scores(_LOGITS, "classification", _accuracy, tolerance=0.0)
    assert found["layers"] == {"1": 0.5, "2": 1.0, "3": 1.0}
    patient = [point for point in found["curve"] if "patience" in point]
    # More the exits before the last, of which the first has none before it, cannot agree on.
    assert [(point["patience"], point["score"], point["layers"]) for point in patient] == [(1, 1.0, 2.5)]
    # From 0.8 on the first exits, which give the other texts 0.73, keep them to the last: 1.6 layers of 2.2. By the
    # second exit all leave after 1.2.
    assert [point["work"] for point in found["curve"] if point.get("confidence") == 0.8] == [pytest.approx(1.6 / 2.2)]
    assert found["chosen"] == {"confidence": 0.6, "min_layers": 2}
    assert exit_scores(_LOGITS, "classification", _accuracy, tolerance=0.6)["chosen"] == {"confidence": 0.6}
    text = format_depth_scores(_FACTS | found)
    assert text.count("chosen") == 1
    assert "  first   1                          0.5000" in text
    draw_exits(_FACTS | found, str(tmp_path / "curve.png"))
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_exits_that_know_nothing_are_passed_over():
    # Four exits; the first two say 0 of all, one of them surely.
    logits = np.asarray([[[3, 0], [1, 0], [0, 4], [0, 6]]] * 7 + [[[3, 0], [1, 0], [0, 1], [0, 6]]], np.float32)
    found = exit_scores(logits, "classification", _accuracy, tolerance=0.0)
    assert found["chosen"] == {"confidence": 0.6, "min_layers": 3}
    point = next(point for point in found["curve"] if point.get("min_layers"))
    assert point == {
        "confidence": 0.6,
        "min_layers": 3,
        "score": 1.0,
        "layers": 3.0,
        "work": pytest.approx(2.2 / 3.2),
    }
    # Those of higher confidence are beaten by it: as good, and more work.
    assert [point["min_layers"] for point in found["curve"] if "min_layers" in point] == [3]
    text = format_depth_scores(_FACTS | found)
    assert "  confidence 0.6    from layer 3   1.0000  3.00 layers,  69% of the work  chosen" in text


def test_a_regression_has_no_confidence_and_nothing_is_chosen_that_costs_too_much():
    numbers = np.asarray([[[0.0], [0.0], [4.0]], [[0.0], [0.0], [2.0]]], np.float32)
    found = exit_scores(numbers, "regression", lambda logits: float(logits.sum()), tolerance=0.5)
    assert [set(point) for point in found["curve"]] == [{"patience", "score", "layers", "work"}]
    assert found["difference"] == pytest.approx(0.05)
    assert found["chosen"] is None


def test_thresholds_are_those_that_all_layers_were_given():
    @dataclasses.dataclass
    class Chooser:
        metric: str = "best_f1"
        threshold_score: str | None = "threshold"
        threshold: float | None = None

        def scores(self, examples, predictions):
            return {"best_f1": 1.0, "f1": float(self.threshold == predictions[0]), "threshold": predictions[0]}

        def threshold_in(self, scores):
            return scores[self.threshold_score]

        def with_threshold(self, threshold):
            return Chooser(threshold_score=None, threshold=threshold)

    score = depth_scores._Score(Chooser(), [])
    assert [score(lambda task, value=value: [value]) for value in (0.3, 0.7, 0.3)] == [1.0, 0.0, 1.0]


def test_scores_beside_a_checkpoint_are_read_again_and_damage_is_passed_over(tmp_path):
    assert "its score is not known" in score_of_layers(str(tmp_path), 1)
    write_depth_scores(str(tmp_path), _FACTS | {"layers": {"1": 0.5, "12": 0.75}})
    assert score_of_layers(str(tmp_path), 1) == "accuracy 0.5000 on the dev split, of all layers 0.7500"
    path = tmp_path / "depth_scores.json"
    path.write_text(path.read_text().replace("0.5", "0.6"))
    assert read_depth_scores(str(tmp_path)) == {}


def test_the_loss_is_the_mean_of_all_exits_weighted_by_their_depth():
    batch = {LABEL: ops.ones((4,), "int32"), EXAMPLE_WEIGHT: ops.ones((4,))}
    objective = Objective("classification")
    losses = [objective.loss({"logits": _LOGITS[:, at]}, batch, [4.0])[0] for at in range(3)]
    outputs = {"logits": _LOGITS[:, 2], "exit_logits": _LOGITS[:, :2]}
    loss, correct = objective.loss(outputs, batch, [4.0])
    assert float(loss) == pytest.approx(sum(float(one) * at for at, one in enumerate(losses, start=1)) / 6)
    assert float(correct) == 1.0


@pytest.mark.parametrize("given", [{"min_layers": 2}, {"min_layers": 2, "early_exit": True}])
def test_a_least_number_of_layers_goes_with_a_rule(given):
    with pytest.raises(FlagError, match="--min_layers goes with --patience or --exit_confidence"):
        DepthSettings(**given)
    assert DepthSettings(exit_confidence=0.9, min_layers=2).given == {"exit_confidence": 0.9, "min_layers": 2}


@pytest.mark.parametrize("given", [{"patience": 1, "exit_confidence": 0.9}, {"num_layers": 2, "early_exit": True}])
def test_one_way_to_fewer_layers_at_a_time(given):
    with pytest.raises(FlagError, match=" and ".join(f"--{name}" for name in sorted(given, reverse=True))):
        DepthSettings(**given)


def test_a_threshold_is_a_probability():
    with pytest.raises(InputError, match=r"--exit_confidence must lie in \(0, 1\)"):
        DepthSettings(exit_confidence=1.0)
    with pytest.raises(InputError, match="--patience must be at least 1"):
        DepthSettings(patience=0)
