"""Sums that the steps take over a batch: the losses of pre-training and of every fine-tuning head, by hand."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import losses
from albert_tf.finetuning.steps import FinetuningSteps
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.pretraining.steps import PretrainingSteps
from albert_tf.training.strategy import make_strategy

SEED = tf.constant([1, 2])


class _Says:
    """A model that returns given outputs."""

    weights = ()
    name = "says"

    def __init__(self, **outputs):
        self.outputs = {name: tf.constant(value, tf.float32) for name, value in outputs.items()}

    def __call__(self, batch, **_):
        return self.outputs


def _shares(head, outputs, count=None, **batch):
    """(loss, metrics by name) of a batch whose counts are its own, or what is given."""
    batch = {name: tf.constant(value) for name, value in batch.items()}
    batch.setdefault("example_weight", tf.ones(len(next(iter(batch.values())))))
    batch.setdefault("input_ids", tf.ones([len(batch["example_weight"]), 5], tf.int32))
    steps = FinetuningSteps(make_strategy("one_device"), _Says(**outputs), head)
    counts = steps._counts(batch) if count is None else [tf.constant(count)]
    loss, metrics = steps._losses(batch, counts, SEED)
    return float(loss), dict(zip(steps.metrics, metrics.numpy().tolist(), strict=False))


# Softmax of [0, ln 3] is [1/4, 3/4].
LN3 = float(np.log(3.0))


def test_a_class_is_scored_by_the_examples_that_count():
    loss, metrics = _shares(
        "classification",
        {"logits": [[0.0, LN3], [LN3, 0.0], [9.0, 0.0]]},
        label=[1, 1, 1],
        example_weight=[1.0, 1.0, 0.0],
    )
    assert loss == pytest.approx((np.log(4 / 3) + np.log(4)) / 2, rel=1e-5)
    assert metrics == {"loss": pytest.approx(loss), "accuracy": 0.5, "tokens": 15}


def test_shares_are_divided_by_what_the_whole_batch_counts():
    outputs, label = {"logits": [[0.0, LN3], [LN3, 0.0]]}, [1, 1]
    whole, metrics = _shares("classification", outputs, label=label)
    share, part = _shares("classification", outputs, count=8.0, label=label)
    assert share == pytest.approx(whole / 4)
    assert part["accuracy"] == pytest.approx(metrics["accuracy"] / 4)


def test_several_labels_are_right_together():
    loss, metrics = _shares("multi_label", {"logits": [[0.0, LN3], [5.0, 5.0]]}, label=[[1.0, 0.0], [1.0, 1.0]])
    expected = ((np.log(2) + np.log(4)) / 2 + np.log1p(np.exp(-5.0))) / 2
    assert (loss, metrics["accuracy"]) == (pytest.approx(expected, rel=1e-5), 0.5)


def test_a_regression_has_no_accuracy():
    loss, metrics = _shares("regression", {"logits": [[1.0], [4.0]]}, label=[3.0, 4.5])
    assert loss == pytest.approx(4.25 / 2)
    assert set(metrics) == {"loss", "tokens"}


def test_every_label_of_every_span_is_judged_by_itself():
    # Two rows of [CLS] two pieces [SEP], the last of which is padding in the second; spans of one piece or two.
    logits = np.full((3, 4, 2, 2), 7.0)
    # Of the first row all three spans, of the second one whose only piece is the last.
    logits[0, 1], logits[0, 2, 0] = [[0.0, LN3], [-LN3, 0.0]], [LN3, LN3]
    logits[1, 1, 0] = [0.0, -LN3]
    loss, metrics = _shares(
        "span_categories",
        {"logits": logits},
        # (start * W + pieces - 1) * C + class: the first row has (1, 1 piece, class 1) and (1, 2, 0), the second none.
        label=[[5, 6], [-1, -1], [4, -1]],
        p_mask=[[1, 0, 0, 1], [1, 0, 1, 1], [1, 0, 0, 1]],
        input_mask=[[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]],
        example_weight=[1.0, 1.0, 0.0],
    )
    first = np.log(2) + np.log(4 / 3) + np.log(4) + np.log(2) + np.log(4) + np.log(4)
    second = np.log(2) + np.log(4 / 3)
    assert loss == pytest.approx((first + second) / 3, rel=1e-5)
    assert set(metrics) == {"loss", "tokens"}


def test_pieces_without_a_label_count_nowhere():
    scores = [[[0.0, LN3], [0.0, LN3], [0.0, 9.0], [0.0, 0.0], [0.0, 0.0]], [[0.0, LN3]] * 5]
    label = [[1, 0, -1, -1, -1], [1, 1, 1, 1, 1]]
    loss, metrics = _shares("token_classification", {"logits": scores}, label=label, example_weight=[1.0, 0.0])
    assert loss == pytest.approx((np.log(4 / 3) + np.log(4)) / 2, rel=1e-5)
    assert metrics["accuracy"] == 0.5
    nothing, metrics = _shares("token_classification", {"logits": scores[:1]}, label=[[-1] * 5])
    assert (nothing, metrics["accuracy"]) == (0.0, 0.0)


def test_a_span_is_right_at_both_ends_and_the_beam_head_tells_impossible_ones_besides():
    outputs = {"start_logits": [[0.0, LN3], [0.0, LN3]], "end_logits": [[LN3, 0.0], [0.0, LN3]]}
    places = {"start_positions": [1, 1], "end_positions": [0, 0]}
    span, metrics = _shares("span", outputs, **places)
    assert span == pytest.approx((3 * np.log(4 / 3) + np.log(4)) / 4, rel=1e-5)
    assert metrics["accuracy"] == 0.5
    outputs |= {"answerability_logits": [LN3, -LN3]}
    with_beam, metrics = _shares("span_beam", outputs, is_impossible=[1, 1], **places)
    assert with_beam - span == pytest.approx(0.5 * (np.log(4 / 3) + np.log(4)) / 2, rel=1e-4)
    assert metrics["accuracy"] == 0.5


@pytest.fixture
def pretraining(small_config):
    """A function of whether the order is trained, which returns (steps, batch) of a model without dropout."""
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = AlbertForPretraining(dataclasses.replace(small_config, initializer_range=0.3, **rates))
    rng = np.random.default_rng(0)
    batch = {
        "input_ids": tf.constant(rng.integers(60, size=(4, 8)), tf.int32),
        "masked_lm_positions": tf.constant(rng.integers(8, size=(4, 2)), tf.int32),
        "masked_lm_ids": tf.constant(rng.integers(60, size=(4, 2)), tf.int32),
        "masked_lm_weights": tf.constant([[1, 1], [1, 1], [1, 0], [0, 0]], tf.float32),
        "sentence_order_labels": tf.constant([0, 1, 1, 0]),
    }
    return lambda trained=True: (
        PretrainingSteps(make_strategy("one_device"), model, train_sentence_order=trained),
        batch,
    )


def test_pre_training_adds_the_means_of_both_losses(pretraining):
    steps, batch = pretraining()
    steps.model.masked_lm.output_bias.assign(np.random.default_rng(2).normal(size=60))
    outputs = steps.model(batch)
    masked, count = losses.masked_lm_loss(
        outputs["masked_lm_logits"], batch["masked_lm_ids"], batch["masked_lm_weights"]
    )
    order, pairs = losses.classification_loss(outputs["sentence_order_logits"], batch["sentence_order_labels"])
    assert (float(count), float(pairs)) == (5, 4)
    loss, metrics = steps._losses(batch, steps._counts(batch), SEED)
    assert float(loss) == pytest.approx(float(masked) / 5 + float(order) / 4, rel=1e-5)
    right = losses.classification_correct(outputs["sentence_order_logits"], batch["sentence_order_labels"])
    np.testing.assert_allclose(metrics[:2], [loss, masked / 5], rtol=1e-5)
    np.testing.assert_allclose(metrics[3:], [order / 4, right / 4], rtol=1e-5)
    alone, alone_batch = pretraining(False)
    loss, metrics = alone._losses(alone_batch, alone._counts(alone_batch), SEED)
    assert float(loss) == pytest.approx(float(masked) / 5, rel=1e-5)
    # It is reported all the same.
    np.testing.assert_allclose(metrics[3], order / 4, rtol=1e-5)


def test_a_batch_without_predictions_has_a_finite_loss(pretraining):
    steps, batch = pretraining(False)
    batch = batch | {"masked_lm_weights": tf.zeros([4, 2])}
    loss, metrics = steps._losses(batch, steps._counts(batch), SEED)
    assert float(loss) == 0.0
    assert np.isfinite(metrics.numpy()).all()


def test_an_evaluation_adds_up_examples_that_count(pretraining):
    steps, batch = pretraining()
    filled = batch | {"example_weights": tf.constant([1.0, 1.0, 0.0, 0.0])}
    filled["masked_lm_weights"] = batch["masked_lm_weights"] * filled["example_weights"][:, None]
    names = ("loss", "correct", "count", "order_loss", "order_correct", "order_count", "ones_correct", "ones")
    found = dict(zip(names, steps._evaluate_share(filled).numpy(), strict=True))
    half = {name: value[:2] for name, value in batch.items()}
    expected = dict(zip(names, steps._evaluate_share(half).numpy(), strict=True))
    assert found == pytest.approx(expected, rel=1e-5)
    assert (found["count"], found["order_count"]) == (4, 2)
    # All pairs are swapped, then none is.
    for label in (1, 0):
        filled["sentence_order_labels"] = tf.fill([4], label)
        labelled = dict(zip(names, steps._evaluate_share(filled).numpy(), strict=True))
        assert labelled["ones"] == 2 * label
        assert labelled["ones_correct"] == label * labelled["order_correct"]
