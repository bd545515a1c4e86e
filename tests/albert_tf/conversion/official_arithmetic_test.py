"""The model against the official code's own numbers: forward pass, losses, gradients, ten LAMB steps."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf import losses
from albert_tf.conversion.official import OFFICIAL, load_official
from albert_tf.models.named_weights import named_weights
from albert_tf.optimization.lamb import LAMB

TOLERANCE = 1e-5


@pytest.fixture(params=["tiny", "groups2"])
def official(request, shared):
    folder = shared / "reference/official" / request.param
    with np.load(folder / "parity.npz") as stored:
        return load_official(str(folder / "model.ckpt")), dict(stored)


def _to_ours(model, arrays):
    """Renames {official name: value} to our names."""
    return {row.ours: row.to_ours(arrays[row.theirs]) for row in OFFICIAL.rows(model.config) if row.theirs in arrays}


def _inputs(stored):
    return {name.removeprefix("in/"): tf.constant(stored[name]) for name in stored if name.startswith("in/")}


def _total_loss(outputs, inputs):
    loss, weight = losses.masked_lm_loss(
        outputs["masked_lm_logits"], inputs["masked_lm_ids"], inputs["masked_lm_weights"]
    )
    order_loss, pairs = losses.classification_loss(
        outputs["sentence_order_logits"], inputs["next_sentence_labels"][:, 0]
    )
    return loss / (weight + losses.MASKED_LM_DENOMINATOR_EPSILON), order_loss / pairs


def test_every_stored_tensor_of_the_forward_pass_is_met(official):
    model, stored = official
    inputs = _inputs(stored)
    outputs = model(inputs)
    ours = {
        "embedding_output": outputs["embedding_output"],
        "sequence_output": outputs["sequence_output"],
        "pooled_output": outputs["pooled_output"],
        "mlm_logits": tf.reshape(outputs["masked_lm_logits"], stored["out/mlm_logits"].shape),
        "sop_logits": outputs["sentence_order_logits"],
        "word_embedding_output": tf.gather(model.albert.embeddings.word_embeddings.value, inputs["input_ids"]),
    }
    ours["mlm_log_probs"] = tf.nn.log_softmax(ours["mlm_logits"])
    ours["sop_log_probs"] = tf.nn.log_softmax(ours["sop_logits"])
    ours |= {f"layer_{number}": state for number, state in enumerate(outputs["hidden_states"][1:])}
    ours["mlm_loss"], ours["sop_loss"] = _total_loss(outputs, inputs)
    ours["total_loss"] = ours["mlm_loss"] + ours["sop_loss"]
    labels = tf.reshape(inputs["masked_lm_ids"], [-1])
    ours["mlm_example_loss"] = -tf.gather(ours["mlm_log_probs"], labels, batch_dims=1)
    ours["sop_example_loss"] = -tf.gather(ours["sop_log_probs"], inputs["next_sentence_labels"][:, 0], batch_dims=1)
    assert set(ours) == {name.removeprefix("out/") for name in stored if name.startswith("out/")}
    errors = {name: np.abs(np.asarray(value) - stored[f"out/{name}"]).max() for name, value in ours.items()}
    assert max(errors.values()) < TOLERANCE, errors


def _gradients(model, inputs):
    variables = list(named_weights(model).values())
    with tf.GradientTape() as tape:
        loss = sum(_total_loss(model(inputs, training=True), inputs))
    gradients = tape.gradient(loss, [variable.value for variable in variables])
    return loss, [tf.convert_to_tensor(gradient) for gradient in gradients], variables


def test_every_gradient_is_met(official):
    model, stored = official
    _, gradients, _ = _gradients(model, _inputs(stored))
    theirs = {name.removeprefix("grad/"): stored[name] for name in stored if name.startswith("grad/")}
    theirs = _to_ours(model, theirs)
    ours = dict(zip(named_weights(model), gradients, strict=True))
    assert set(ours) == set(theirs)
    errors = {name: np.abs(ours[name].numpy() - theirs[name]).max() for name in ours}
    assert max(errors.values()) < TOLERANCE, errors


@pytest.mark.slow
def test_ten_clipped_lamb_steps_are_met(official):
    # The official code takes the global norm over the gradients of the embedding lookup and of the tied projection
    # before they are added up, on CPU and GPU; the stored norms are used here so that the steps can be compared.
    model, stored = official
    inputs = _inputs(stored)
    optimizer = LAMB(learning_rate=0.0)
    optimizer.build(list(named_weights(model).values()))
    for step, (rate, norm) in enumerate(zip(stored["lamb/lrs"], stored["lamb/global_norms"], strict=True), 1):
        loss, gradients, variables = _gradients(model, inputs)
        assert float(loss) == pytest.approx(stored["lamb/losses"][step - 1], abs=5e-5)
        optimizer.learning_rate = float(rate)
        optimizer.apply([gradient / max(norm, 1.0) for gradient in gradients], variables)
        prefix = f"lamb/after{step}/"
        theirs = {name.removeprefix(prefix): stored[name] for name in stored if name.startswith(prefix)}
        assert len(theirs) == (len(variables) if step in (3, 10) else 0)
        for name, value in _to_ours(model, theirs).items():
            np.testing.assert_allclose(named_weights(model)[name].numpy(), value, atol=5e-5, err_msg=name)


def test_hidden_act_gelu_is_the_tanh_form():
    from albert_tf.layers.base import get_activation

    x = keras.ops.convert_to_tensor([1.0])
    assert float(get_activation("gelu")(x)[0]) == pytest.approx(0.841192, abs=1e-6)
    assert float(get_activation("gelu_erf")(x)[0]) == pytest.approx(0.841345, abs=1e-6)
