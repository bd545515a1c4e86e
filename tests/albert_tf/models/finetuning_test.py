"""The models of fine-tuning: shapes, work that may be left out with the same results, and making one anew."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.finetuning_features import HEADS
from albert_tf.models.albert import AlbertModel
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import assign_weights, named_weights

B, S, OPTIONS, LABELS = 3, 12, 4, 5
SHAPES = {
    "classification": {"logits": (B, LABELS)},
    "multi_label": {"logits": (B, LABELS)},
    "regression": {"logits": (B, 1)},
    "multiple_choice": {"logits": (B, OPTIONS)},
    "span": {"start_logits": (B, S), "end_logits": (B, S)},
    "span_beam": {
        "start_top_log_probs": (B, 5),
        "start_top_index": (B, 5),
        "end_top_log_probs": (B, 5, 5),
        "end_top_index": (B, 5, 5),
        "answerability_logits": (B,),
    },
    "token_classification": {"logits": (B, S, LABELS)},
    "span_categories": {"logits": (B, S, 16, LABELS)},
}


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)

    def make(head):
        shape = (B, OPTIONS, S) if head == "multiple_choice" else (B, S)
        lengths = np.resize(np.array([S, 5, 8, 7]), shape[:-1])[..., None]
        return {
            "input_ids": tf.constant(rng.integers(5, 60, size=shape), tf.int32),
            "input_mask": tf.constant(np.arange(S) < lengths, tf.int32),
            "segment_ids": tf.constant(rng.integers(2, size=shape), tf.int32),
            "p_mask": tf.constant(np.arange(S) >= lengths, tf.int32),
        }

    return make


def _model(config, head, **kwargs):
    model = make_finetuning_model(dataclasses.replace(config, initializer_range=0.3), head, LABELS, **kwargs)
    return model


def _spans_inside(mask):
    """Spans whose ends are both there, bool [B, S, W]: the others mean nothing."""
    ends = np.arange(S)[:, None] + np.arange(16)
    there = np.concatenate([mask, np.zeros((B, 16), bool)], axis=1)
    return mask[:, :, None] & there[:, ends]


@pytest.mark.parametrize("head", HEADS)
def test_outputs_are_those_of_the_head_and_need_no_padding(small_config, batch, head):
    model, inputs = _model(small_config, head), batch(head)
    outputs = model(inputs)
    assert {name: tuple(value.shape) for name, value in outputs.items()} == SHAPES[head]
    lean = model(inputs, skip_padding=True)
    mask = inputs["input_mask"].numpy().astype(bool)
    for name, value in outputs.items():
        there, wanted = lean[name].numpy(), value.numpy()
        if head in ("span", "token_classification"):
            there, wanted = there[mask], wanted[mask]
        if head == "span_categories":
            inside = _spans_inside(mask)
            there, wanted = there[inside], wanted[inside]
        np.testing.assert_allclose(there, wanted, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("head", HEADS)
def test_every_weight_is_trained(small_config, batch, head):
    model, inputs = _model(small_config, head), batch(head) | {"start_positions": tf.constant([1, 2, 3])}
    with tf.GradientTape() as tape:
        outputs = model(inputs, training=True, dropout_seed=tf.constant([1, 2]))
        total = sum(tf.reduce_sum(value**2) for value in outputs.values())
    weights = named_weights(model)
    gradients = tape.gradient(total, [variable.value for variable in weights.values()])
    assert [name for name, gradient in zip(weights, gradients, strict=True) if gradient is None] == []


def test_only_the_heads_of_cls_have_a_pooler(small_config):
    with_pooler = {head for head in HEADS if "albert/pooler/bias" in named_weights(_model(small_config, head))}
    assert with_pooler == {"classification", "multi_label", "regression", "multiple_choice"}


def test_a_seed_decides_the_dropout_of_the_head(small_config, batch):
    config = dataclasses.replace(small_config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model, inputs = _model(config, "classification", classifier_dropout_prob=0.5), batch("classification")
    first, again, other = (
        model(inputs, training=True, dropout_seed=tf.constant([seed, 2]))["logits"].numpy() for seed in (1, 1, 3)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3
    drawn = [model(inputs, training=True)["logits"].numpy() for _ in range(2)]
    assert np.abs(drawn[0] - drawn[1]).max() > 1e-3


def test_options_are_scored_each_for_itself(small_config, batch):
    model, inputs = _model(small_config, "multiple_choice"), batch("multiple_choice")
    together = model(inputs)["logits"].numpy()
    for option in range(OPTIONS):
        alone = model({name: value[:, option : option + 1] for name, value in inputs.items()})["logits"].numpy()
        np.testing.assert_allclose(together[:, option], alone[:, 0], atol=1e-5)


@pytest.mark.parametrize("head", HEADS)
def test_a_config_makes_the_same_model(small_config, batch, head):
    model, inputs = _model(small_config, head, classifier_dropout_prob=0.2, remat=True), batch(head)
    again = type(model).from_config(model.get_config())
    assert again.get_config() == model.get_config()
    assign_weights(again, {name: value.numpy() for name, value in named_weights(model).items()}, "test")
    for name, value in model(inputs).items():
        np.testing.assert_array_equal(again(inputs)[name], value)
    assert keras.saving.get_registered_name(type(model)).startswith("albert_tf>")


def test_an_unknown_head_is_refused(small_config):
    with pytest.raises(ValueError, match="no kind of head"):
        make_finetuning_model(small_config, "translation")


@pytest.mark.parametrize("head", HEADS)
def test_any_mask_can_be_skipped(small_config, batch, head):
    model, inputs = _model(small_config, head), batch(head)
    shape = inputs["input_ids"].shape
    # Left padding, holes, nothing.
    masks = np.stack([np.arange(S) >= 4, np.arange(S) % 3 > 0, np.zeros(S, bool)])
    inputs["input_mask"] = np.broadcast_to(masks if len(shape) == 2 else masks[:, None], shape).astype("int32")
    # Answers may be anywhere, in the padding too.
    inputs["p_mask"] = np.zeros(shape, "int32")
    there = inputs["input_mask"].astype(bool)
    outputs, lean = model(inputs), model(inputs, skip_padding=True)
    for name, value in outputs.items():
        found, wanted = lean[name].numpy(), value.numpy()
        if head in ("span", "token_classification"):
            found, wanted = found[there], wanted[there]
        if head == "span_categories":
            found, wanted = (values[_spans_inside(there)] for values in (found, wanted))
        np.testing.assert_allclose(found, wanted, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("head", ["classification", pytest.param("multiple_choice", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_keras_exports_what_the_model_computes(small_config, batch, head, tmp_path):
    model, inputs = _model(small_config, head), batch(head)
    del inputs["p_mask"]
    model.export(str(tmp_path), verbose=False)
    exported = tf.saved_model.load(str(tmp_path))
    served, outputs = exported.serve(inputs), model(inputs)
    assert sorted(served) == sorted(outputs)
    for name, values in outputs.items():
        np.testing.assert_allclose(served[name], values, atol=1e-5)


def test_keras_exports_no_hidden_states(small_config, tmp_path):
    with pytest.raises(ValueError, match="^Keras cannot export AlbertModel, which returns hidden states besides. exp"):
        AlbertModel(small_config).export(str(tmp_path / "export"))
    assert not (tmp_path / "export").exists()
