"""Gradients with respect to every weight, in training and outside of it: against the official ones and differences.

Outside training, the default of `call`, a model is computed differently (kernels/tensorflow_inference.py); a user's own
training loop differentiates that.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import losses
from albert_tf.conversion.official import OFFICIAL, load_official
from albert_tf.models.albert import AlbertModel
from albert_tf.models.named_weights import assign_weights, named_weights
from albert_tf.models.pretraining import AlbertForPretraining

WAYS = {
    "plain": {},
    "remat": {"remat": True},
    "constant_graph": {"constant_graph": True},
    "both": {"remat": True, "constant_graph": True},
}
# Of the largest entry of a gradient: rounding of float32.
TOLERANCE = 1e-5


@pytest.fixture(scope="module", params=[pytest.param("tiny", marks=pytest.mark.slow), "groups2"])
def official(request, shared):
    """(model, inputs, gradients by our names) of the official code."""
    folder = shared / "reference/official" / request.param
    with np.load(folder / "parity.npz") as file:
        stored = dict(file)
    model = load_official(str(folder / "model.ckpt"))
    inputs = {name.removeprefix("in/"): tf.constant(stored[name]) for name in stored if name.startswith("in/")}
    theirs = {
        row.ours: row.to_ours(stored[f"grad/{row.theirs}"])
        for row in OFFICIAL.rows(model.config)
        if f"grad/{row.theirs}" in stored
    }
    return model, inputs, theirs


def _copy(model, **way):
    other = type(model)(model.config, **way)
    assign_weights(other, {name: value.numpy() for name, value in named_weights(model).items()}, "test")
    return other


def _total_loss(outputs, inputs):
    loss, weight = losses.masked_lm_loss(
        outputs["masked_lm_logits"], inputs["masked_lm_ids"], inputs["masked_lm_weights"]
    )
    order_loss, pairs = losses.classification_loss(
        outputs["sentence_order_logits"], inputs["next_sentence_labels"][:, 0]
    )
    return loss / (weight + losses.MASKED_LM_DENOMINATOR_EPSILON) + order_loss / pairs


def _gradients(model, loss, traced=False):
    """Gradients of loss(), a function without arguments, by the names of the weights; None where there is none."""

    def compute():
        with tf.GradientTape() as tape:
            total = loss()
        found = tape.gradient(total, [variable.value for variable in named_weights(model).values()])
        return [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in found]

    found = (tf.function(compute) if traced else compute)()
    return dict(zip(named_weights(model), found, strict=True))


def _largest_difference(found, expected):
    """Largest difference of an entry, relative to the largest entry of that gradient."""
    assert [name for name in expected if found[name] is None] == []
    # The same number added to all keys changes no softmax: the gradient of their bias is 0 but for rounding.
    floor = 0.01 * max(np.abs(gradient).max() for gradient in expected.values())
    return max(
        np.abs(found[name].numpy() - gradient).max() / max(np.abs(gradient).max(), floor)
        for name, gradient in expected.items()
    )


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.slow) if way in ("remat", "constant_graph") else way for way in WAYS]
)
@pytest.mark.parametrize("training", [True, False], ids=["training", "not_training"])
@pytest.mark.parametrize("traced", [pytest.param(False, marks=pytest.mark.slow), True], ids=["eager", "function"])
def test_every_gradient_is_the_official_one(official, way, training, traced):
    model, inputs, theirs = official
    model = _copy(model, **WAYS[way])
    found = _gradients(model, lambda: _total_loss(model(inputs, training=training), inputs), traced)
    assert set(found) == set(theirs)
    assert _largest_difference(found, theirs) < TOLERANCE


@pytest.fixture
def small(small_config):
    """(model, batch) without dropout, with an unequal mask."""
    config = dataclasses.replace(
        small_config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.2
    )
    rng = np.random.default_rng(0)
    ids, segments = rng.integers(60, size=(3, 16)), rng.integers(2, size=(3, 16))
    mask = np.arange(16) < np.array([[16], [9], [5]])
    return AlbertModel(config), {"input_ids": ids, "input_mask": mask.astype("int32"), "segment_ids": segments}


def _loss_of(model, batch, **arguments):
    outputs = model(batch, **arguments)
    tokens = tf.cast(batch["input_mask"], tf.float32)[:, :, None]
    sequence, pooled = (tf.sin(tf.cast(outputs[name], tf.float32)) for name in ("sequence_output", "pooled_output"))
    return tf.reduce_sum(sequence * tokens) + tf.reduce_sum(pooled)


@pytest.mark.parametrize("training", [pytest.param(True, marks=pytest.mark.slow), False])
def test_gradients_are_what_the_loss_changes_by(small, training):
    model, batch = small
    gradients = _gradients(model, lambda: _loss_of(model, batch, training=training))
    rng = np.random.default_rng(1)
    for name, variable in named_weights(model).items():
        if "block_0_0" not in name or not name.endswith("kernel"):
            continue
        value, direction = variable.numpy(), rng.standard_normal(variable.shape).astype("float32")
        ends = []
        for step in (1e-3, -1e-3):
            variable.assign(value + step * direction)
            ends.append(float(_loss_of(model, batch, training=training)))
        variable.assign(value)
        expected = float(np.sum(gradients[name].numpy() * direction))
        assert (ends[0] - ends[1]) / 2e-3 == pytest.approx(expected, rel=0.02, abs=0.05), name


@pytest.mark.parametrize("constant_graph", [False, True])
@pytest.mark.parametrize("traced", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["eager", "function"])
def test_skipping_padding_has_the_same_gradients(small, constant_graph, traced):
    plain, batch = small
    expected = _gradients(plain, lambda: _loss_of(plain, batch, training=True))
    model = _copy(plain, constant_graph=constant_graph)
    found = _gradients(model, lambda: _loss_of(model, batch, skip_padding=True), traced)
    assert _largest_difference(found, {name: value.numpy() for name, value in expected.items()}) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["mixed_bfloat16", pytest.param("mixed_float16", marks=pytest.mark.slow)])
def test_low_precision_rounds_as_much_in_both_modes(small, precision):
    plain, batch = small
    expected = _gradients(plain, lambda: _loss_of(plain, batch, training=True))
    model = _copy(plain, dtype=precision)
    for training in (True, False):
        found = _gradients(model, lambda: _loss_of(model, batch, training=training), traced=True)
        for name, gradient in expected.items():
            if name.endswith("kernel"):
                error = np.linalg.norm(found[name] - gradient) / np.linalg.norm(gradient)
                assert error < 0.1, (name, training)


def test_embeddings_given_in_place_of_words_have_a_gradient(small):
    model, batch = small
    words = tf.gather(model.embeddings.word_embeddings.value, batch.pop("input_ids"))
    found = []
    for training in (True, False):
        with tf.GradientTape() as tape:
            tape.watch(words)
            loss = _loss_of(model, {**batch, "inputs_embeds": words}, training=training)
        found.append(tape.gradient(loss, words).numpy())
    assert np.abs(found[0]).max() > 0.1
    np.testing.assert_allclose(found[0], found[1], atol=TOLERANCE * np.abs(found[0]).max())


def test_a_loop_of_ones_own_trains_the_encoder(small_config):
    model = AlbertForPretraining(dataclasses.replace(small_config, initializer_range=0.2))
    before = {name: variable.numpy() for name, variable in named_weights(model).items()}
    ids = np.random.default_rng(0).integers(60, size=(4, 8))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(ids)["masked_lm_logits"] ** 2)
        loss += tf.reduce_mean(model(ids)["sentence_order_logits"] ** 2)
    variables = [variable.value for variable in named_weights(model).values()]
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(0.1 * tf.convert_to_tensor(gradient))
    unchanged = [name for name, value in before.items() if (named_weights(model)[name].numpy() == value).all()]
    assert unchanged == []
