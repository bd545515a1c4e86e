"""AdamW and LAMB against their formulas in float64, written once more with numpy: alone, and in fine-tuning."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.named_weights import named_weights
from albert_tf.optimization.adamw import AdamW
from albert_tf.optimization.lamb import LAMB

BETA_1, BETA_2, EPSILON, DECAY = 0.9, 0.999, 1e-6, 0.01


class _Formula:
    """Weights and moments in float64, and the official update of both optimizers."""

    def __init__(self, weights, with_trust_ratio=False, bias_correction=False):
        self.weights = {name: value.astype("float64") for name, value in weights.items()}
        self.moments = {name: [np.zeros_like(value), np.zeros_like(value)] for name, value in self.weights.items()}
        self.with_trust_ratio, self.bias_correction, self.steps = with_trust_ratio, bias_correction, 0

    def apply(self, gradients, rate):
        self.steps += 1
        for name, gradient in gradients.items():
            gradient, (mean, square) = gradient.astype("float64"), self.moments[name]
            mean = BETA_1 * mean + (1 - BETA_1) * gradient
            square = BETA_2 * square + (1 - BETA_2) * gradient**2
            self.moments[name] = [mean, square]
            if self.bias_correction:
                mean, square = mean / (1 - BETA_1**self.steps), square / (1 - BETA_2**self.steps)
            update, weight, ratio = mean / (np.sqrt(square) + EPSILON), self.weights[name], 1.0
            if "bias" not in name and "layer_norm" not in name:
                update = update + DECAY * weight
                if self.with_trust_ratio:
                    ratio = np.linalg.norm(weight) / np.linalg.norm(update)
            self.weights[name] = weight - rate * ratio * update


def test_moments_that_keep_nothing_need_no_correction():
    corrected, plain = (keras.Variable([1.0, -2.0], name="kernel") for _ in range(2))
    for variable, correction in ((corrected, True), (plain, False)):
        optimizer = AdamW(learning_rate=0.1, beta_1=0.0, beta_2=0.0, bias_correction=correction)
        optimizer.build([variable])
        optimizer.apply([keras.ops.convert_to_tensor([0.5, 0.25])])
    np.testing.assert_array_equal(corrected.numpy(), plain.numpy())


def _relative_error(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


# The larger shape is one whose update is compiled.
@pytest.mark.parametrize(("optimizer_class", "shape"), [(AdamW, (16, 32)), (AdamW, (512, 128)), (LAMB, (16, 32))])
@pytest.mark.parametrize("rate", [1e-3, 2e-5])
@pytest.mark.parametrize("bias_correction", [False, True])
def test_100_steps_are_as_exact_as_float32_allows(optimizer_class, shape, rate, bias_correction):
    rng = np.random.default_rng(0)
    weights = {"kernel": rng.normal(size=shape).astype("f4"), "bias": rng.normal(size=shape[1:]).astype("f4")}
    variables = [keras.Variable(value, name=name) for name, value in weights.items()]
    formula = _Formula(weights, optimizer_class is LAMB, bias_correction)
    optimizer = optimizer_class.from_config(
        optimizer_class(learning_rate=rate, bias_correction=bias_correction).get_config()
    )
    optimizer.build(variables)
    # Gradients of every size, more often positive than not, so that the weights go somewhere.
    scales = {name: 0.01 * np.exp(rng.normal(size=value.shape)) for name, value in weights.items()}
    for _ in range(100):
        gradients = {
            name: (scale * (0.3 + rng.normal(size=scale.shape))).astype("f4") for name, scale in scales.items()
        }
        optimizer.apply([keras.ops.convert_to_tensor(gradient) for gradient in gradients.values()])
        formula.apply(gradients, rate)
    for variable, mean, square in zip(variables, *optimizer.moments(), strict=True):
        name = variable.name
        assert _relative_error(variable.numpy(), formula.weights[name]) < 1e-6
        for moment, expected in zip((mean, square), formula.moments[name], strict=True):
            assert _relative_error(moment.numpy(), expected) < 1e-6


@pytest.mark.slow
def test_a_thousand_steps_leave_adamw_where_the_formula_is():
    rng = np.random.default_rng(1)
    start = {"kernel": rng.normal(size=(8, 8)).astype("f4")}
    variable = keras.Variable(start["kernel"], name="kernel")
    formula, optimizer = _Formula(start), AdamW(learning_rate=2e-5)
    optimizer.build([variable])
    for _ in range(1000):
        # A row in ten, as of word embeddings: the moments of the others fade, and their weights decay.
        gradient = (rng.normal(size=(8, 8)) * (rng.random((8, 1)) < 0.1)).astype("f4")
        optimizer.apply([keras.ops.convert_to_tensor(gradient)])
        formula.apply({"kernel": gradient}, 2e-5)
    assert _relative_error(variable.numpy(), formula.weights["kernel"]) < 2e-6
    for moments, expected in zip(optimizer.moments(), formula.moments["kernel"], strict=True):
        assert _relative_error(moments[0].numpy(), expected) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("optimizer_class", "rate"), [(AdamW, 3e-4), (LAMB, 6e-2)])
def test_50_steps_of_fine_tuning_have_the_losses_of_the_formula(optimizer_class, rate, small_config):
    config = dataclasses.replace(small_config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    keras.utils.set_random_seed(3)
    model = AlbertForSequenceClassification(config, num_labels=2, classifier_dropout_prob=0.0)
    weights = named_weights(model)
    start = {name: variable.numpy() for name, variable in weights.items()}
    rng, halves = np.random.default_rng(2), np.arange(8) % 2
    # Pieces of one half of the vocabulary or of the other, one label in five wrong: learnt, but not by heart, where
    # the last digit of a weight would decide.
    batches = [
        (rng.integers(5, 32, (8, 12)) + 28 * halves[:, np.newaxis], halves ^ (rng.random(8) < 0.2)) for _ in range(5)
    ] * 10
    optimizer = optimizer_class(learning_rate=rate)
    optimizer.build(list(weights.values()))

    def loss_and_gradients(ids, labels):
        with tf.GradientTape() as tape:
            logits = model({"input_ids": ids}, training=True)["logits"]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        gradients = tape.gradient(loss, [variable.value for variable in weights.values()])
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    @tf.function
    def step(ids, labels):
        loss, gradients = loss_and_gradients(ids, labels)
        optimizer.apply(gradients)
        return loss

    batches = [[tf.constant(part, tf.int32) for part in batch] for batch in batches]
    losses = [float(step(*batch)) for batch in batches]
    formula, expected = _Formula(start, with_trust_ratio=optimizer_class is LAMB), []
    compute = tf.function(loss_and_gradients)
    for batch in batches:
        for name, variable in weights.items():
            variable.assign(formula.weights[name])
        loss, gradients = compute(*batch)
        formula.apply({name: value.numpy() for name, value in zip(weights, gradients, strict=True)}, rate)
        expected.append(float(loss))
    # The losses say what the weights have become.
    assert np.ptp(expected) > 0.05
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-6)
