"""The loss of fine-tuning with weights of classes and smoothed labels: by hand, and what a task refuses."""

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.finetuning.objectives import (
    Objective,
    balanced_class_weights,
    balanced_pos_weight,
    check_objective,
    make_objective,
)
from albert_tf.finetuning.steps import FinetuningSteps
from albert_tf.inputs.finetuning_features import Feature, FeatureSet
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.training.strategy import make_strategy

# Softmax of [0, ln 3] is [1/4, 3/4].
LN3 = float(np.log(3.0))


def _loss(objective, logits, label, example_weight=None):
    """The loss of a step whose model says `logits`."""
    model = types.SimpleNamespace(weights=(), name="says")
    steps = FinetuningSteps(make_strategy("one_device"), model, objective.head, objective=objective)
    steps.model = lambda batch, **_: {"logits": tf.constant(logits, tf.float32)}
    batch = {"label": tf.constant(label), "input_ids": tf.ones([len(label), 5], tf.int32)}
    batch["example_weight"] = tf.constant(example_weight or [1.0] * len(label))
    loss, metrics = steps._losses(batch, steps._counts(batch), tf.constant([1, 2]))
    return float(loss), dict(zip(steps.metrics, metrics.numpy().tolist(), strict=False))


def test_class_weights_weigh_every_example_by_its_label():
    logits = [[0.0, LN3], [0.0, LN3], [9.0, 0.0]]
    loss, metrics = _loss(Objective("classification", (3.0, 1.0)), logits, [0, 1, 0], [1.0, 1.0, 0.0])
    # The rare class is wrong, and counts three times: (3 ln 4 + ln 4/3) / 4.
    assert loss == pytest.approx((3 * np.log(4) + np.log(4 / 3)) / 4, rel=1e-5)
    assert metrics["accuracy"] == 0.5
    nothing, _ = _loss(Objective("classification", (0.0, 1.0)), logits[:1], [0])
    assert nothing == 0.0


def test_weights_of_pieces_leave_out_those_that_are_not_scored():
    scores = [[[0.0, LN3], [0.0, LN3], [5.0, 0.0], [0.0, 0.0], [0.0, 0.0]]]
    loss, metrics = _loss(Objective("token_classification", (3.0, 1.0)), scores, [[0, 1, -1, -1, -1]])
    assert (loss, metrics["accuracy"]) == (pytest.approx((3 * np.log(4) + np.log(4 / 3)) / 4, rel=1e-5), 0.5)


@pytest.mark.parametrize("head", ["classification", "multiple_choice"])
def test_smoothing_takes_its_share_from_the_label_for_all_classes(head):
    loss, _ = _loss(Objective(head, label_smoothing=0.2), [[0.0, LN3]], [1])
    assert loss == pytest.approx(0.9 * np.log(4 / 3) + 0.1 * np.log(4), rel=1e-5)


def test_weights_and_smoothing_together_weigh_each_class_by_its_own():
    loss, _ = _loss(Objective("classification", (3.0, 0.5), label_smoothing=0.2), [[0.0, LN3]], [1])
    assert loss == pytest.approx((0.9 * 0.5 * np.log(4 / 3) + 0.1 * 3 * np.log(4)) / 0.5, rel=1e-5)


def test_several_labels_have_a_weight_where_they_are_there_and_are_smoothed():
    logits, label = [[LN3, -LN3]], [[1.0, 1.0]]
    loss, _ = _loss(Objective("multi_label", pos_weight=(2.0, 5.0)), logits, label)
    assert loss == pytest.approx((2 * np.log(4 / 3) + 5 * np.log(4)) / 2, rel=1e-5)
    absent, _ = _loss(Objective("multi_label", pos_weight=(7.0,)), logits, [[0.0, 0.0]])
    assert absent == pytest.approx((np.log(4) + np.log(4 / 3)) / 2, rel=1e-5)
    smooth, _ = _loss(Objective("multi_label", label_smoothing=0.2), [[LN3, LN3]], [[1.0, 0.0]])
    assert smooth == pytest.approx(0.5 * (np.log(4 / 3) + np.log(4)), rel=1e-5)


def _features(head, labels):
    return FeatureSet.from_features([Feature(n, [2, 5, 3], [0] * 3, label) for n, label in enumerate(labels)], head)


def test_balanced_weights_by_hand():
    assert balanced_class_weights(_features("classification", [0, 0, 0, 1]), 2) == pytest.approx((4 / 6, 2.0))
    assert balanced_class_weights(_features("classification", [0, 0, 2, 2]), 3) == (1.0, 1.0, 1.0)
    pieces = _features("token_classification", [[-1, 0, -1], [0, 0, 1]])
    assert balanced_class_weights(pieces, 2) == pytest.approx((4 / 6, 2.0))
    several = _features("multi_label", [(1, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1)])
    assert balanced_pos_weight(several) == (3.0, 1.0, 1.0)


def _task(head, labels=("no", "yes")):
    return types.SimpleNamespace(name="t", head=head, labels=labels)


@pytest.mark.parametrize(
    "given, head, match",
    [
        ({"class_weights": "balanced"}, "regression", "--class_weights means nothing to t, a task of regression"),
        ({"class_weights": "1,2"}, "multi_label", "; a task of several labels has --pos_weight"),
        ({"pos_weight": "2"}, "classification", "; a task of one label has --class_weights"),
        ({"label_smoothing": 0.1}, "span_beam", "--label_smoothing means nothing to t"),
    ],
)
def test_a_task_refuses_what_its_head_has_no_place_for(finetuning_settings, given, head, match):
    settings = dataclasses.replace(finetuning_settings, **given)
    with pytest.raises(FlagError, match=match):
        check_objective(settings, _task(head, () if head in ("regression", "span_beam") else ("no", "yes")))


@pytest.mark.parametrize(
    "given, match",
    [
        ({"class_weights": "1,2,3"}, "a number for each of the 2 labels, no, yes, in this order. Received 3."),
        ({"class_weights": "1,-2"}, "must be balanced or numbers with commas between, none below 0"),
        ({"class_weights": "0,0"}, "none below 0 and one above. Received '0,0'"),
        ({"class_weights": "0,0"}, "must be balanced or numbers"),
        ({"class_weights": "equal"}, "Received 'equal'"),
    ],
)
def test_weights_that_are_no_weights_are_refused(finetuning_settings, given, match):
    with pytest.raises(InputError, match=match):
        check_objective(dataclasses.replace(finetuning_settings, **given), _task("classification"))


def test_the_settings_become_an_objective(finetuning_settings, caplog):
    caplog.set_level("INFO", logger="absl")
    settings = dataclasses.replace(finetuning_settings, class_weights="balanced", label_smoothing=0.1)
    made = make_objective(settings, _task("classification"), _features("classification", [0, 0, 0, 1]))
    assert made == Objective("classification", (pytest.approx(4 / 6), 2.0), (), 0.1)
    assert "class_weights: no 0.6667, yes 2" in caplog.text
    assert make_objective(settings, _task("classification"), None) == Objective("classification")
