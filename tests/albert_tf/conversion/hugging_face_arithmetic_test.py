"""The model against numbers of transformers 5.23's AlbertForPreTraining: forward pass, loss, gradients."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import losses
from albert_tf.conversion.hugging_face import HUGGING_FACE, load_hugging_face
from albert_tf.models.named_weights import named_weights

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def stored(shared):
    """The numbers, by their names in parity.npz."""
    arrays = np.load(shared / "reference/hugging_face/parity.npz")
    return {name: arrays[name] for name in arrays.files}


@pytest.fixture(scope="module")
def model(shared):
    return load_hugging_face(str(shared / "reference/hugging_face"))


@pytest.fixture(scope="module")
def inputs(stored):
    """Their batch; every position is predicted, as their head does, and those without a label weigh nothing."""
    batch, length = stored["in/input_ids"].shape
    labels = stored["in/labels"]
    return {
        **{name: tf.constant(stored[f"in/{name}"]) for name in ("input_ids", "input_mask", "segment_ids")},
        "masked_lm_positions": tf.tile(tf.range(length)[tf.newaxis], [batch, 1]),
        "masked_lm_ids": tf.constant(np.maximum(labels, 0).astype("int32")),
        "masked_lm_weights": tf.constant((labels >= 0).astype("float32")),
        "sentence_order_labels": tf.constant(stored["in/next_sentence_labels"][:, 0]),
    }


def _loss(outputs, inputs):
    """Their loss: the mean over masked pieces, with nothing added to the divisor, plus the mean over pairs."""
    loss, weight = losses.masked_lm_loss(
        outputs["masked_lm_logits"], inputs["masked_lm_ids"], inputs["masked_lm_weights"]
    )
    order_loss, pairs = losses.classification_loss(outputs["sentence_order_logits"], inputs["sentence_order_labels"])
    return loss / weight + order_loss / pairs


def test_every_stored_tensor_of_the_forward_pass_is_met(model, stored, inputs):
    outputs = model(inputs)
    ours = {name: outputs[name] for name in ("embedding_output", "sequence_output", "pooled_output")}
    ours |= {f"hidden_{number}": state for number, state in enumerate(outputs["hidden_states"])}
    ours["prediction_logits"] = outputs["masked_lm_logits"]
    ours["sop_logits"] = outputs["sentence_order_logits"]
    ours["loss"] = _loss(outputs, inputs)
    assert set(ours) == {name.removeprefix("out/") for name in stored if name.startswith("out/")}
    errors = {name: np.abs(np.asarray(value) - stored[f"out/{name}"]).max() for name, value in ours.items()}
    assert max(errors.values()) < TOLERANCE, errors


def test_every_gradient_is_met(model, stored, inputs):
    weights = named_weights(model)
    with tf.GradientTape() as tape:
        loss = _loss(model(inputs, training=True), inputs)
    gradients = tape.gradient(loss, [variable.value for variable in weights.values()])
    gradients = {name: tf.convert_to_tensor(value).numpy() for name, value in zip(weights, gradients, strict=True)}
    ours = HUGGING_FACE.encode(model.config, gradients)
    theirs = {name.removeprefix("grad/"): value for name, value in stored.items() if name.startswith("grad/")}
    assert set(ours) == set(theirs)
    errors = {name: np.abs(ours[name] - theirs[name]).max() for name in ours}
    assert max(errors.values()) < TOLERANCE, errors
