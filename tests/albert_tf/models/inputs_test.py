"""Inputs of models: their names and aliases, bare ids, integers of every kind, traced and functional calls."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.finetuning_features import HEADS
from albert_tf.models.albert import AlbertModel
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.pretraining import AlbertForPretraining

# Of the fixture `batch`.
B, S = 3, 12


def test_the_names_of_hugging_face_are_the_official_ones(model, batch, pooled):
    names = {"input_mask": "attention_mask", "segment_ids": "token_type_ids"}
    renamed = {names.get(name, name): value for name, value in batch.items()}
    expected = pooled(model, batch)
    np.testing.assert_array_equal(pooled(model, renamed), expected)
    for name in batch:
        # Both matter: what is not given changes the output.
        if name != "input_ids":
            without = {other: value for other, value in renamed.items() if other != names[name]}
            assert np.abs(pooled(model, without) - expected).max() > 1e-3
            np.testing.assert_array_equal(pooled(model, {**renamed, name: None}), expected)


@pytest.mark.parametrize("alias, name", [("attention_mask", "input_mask"), ("token_type_ids", "segment_ids")])
def test_an_input_given_by_both_names_is_refused(model, batch, alias, name):
    with pytest.raises(ValueError, match=f"^`{alias}` is another name of `{name}`; give one of them"):
        model({**batch, alias: batch[name]})


@pytest.mark.parametrize("name", ["inputmask", "atention_mask", "labels", "head_mask", "positions"])
def test_a_name_that_no_input_has_is_refused(model, batch, name):
    for call in (model, tf.function(model, autograph=False), AlbertModel.call.__get__(model)):
        with pytest.raises(ValueError, match=f"A model has no input `{name}`.*`input_mask` \\(or `attention_mask`\\)"):
            call({**batch, name: batch["input_mask"]})


def test_a_misspelt_name_is_told_the_right_one(model, batch):
    with pytest.raises(ValueError, match="did you mean `attention_mask`"):
        model({**batch, "atention_mask": batch["input_mask"]})


def _bare(ids):
    return {
        "numpy": ids,
        "tensorflow": tf.constant(ids, tf.int32),
        "keras.ops": keras.ops.convert_to_tensor(ids),
        "list": ids.tolist(),
        "list of rows": list(ids),
    }


@pytest.mark.parametrize("form", _bare(np.zeros((1, 1))))
def test_a_bare_array_of_ids_is_input_ids(model, batch, form, pooled):
    ids = batch["input_ids"]
    np.testing.assert_array_equal(pooled(model, _bare(ids)[form]), pooled(model, {"input_ids": ids}))
    np.testing.assert_array_equal(pooled(model, {"input_ids": _bare(ids)[form]}), pooled(model, {"input_ids": ids}))


@pytest.mark.parametrize("head", HEADS)
def test_every_head_takes_bare_ids_and_aliases(small_config, batch, head):
    model = make_finetuning_model(dataclasses.replace(small_config, initializer_range=0.3), head, 3)
    inputs = batch
    if head == "multiple_choice":
        inputs = {name: np.stack([value, value[::-1]], axis=1) for name, value in batch.items()}
    ids = inputs["input_ids"]
    full = {"input_ids": ids, "input_mask": np.ones_like(ids), "p_mask": np.zeros_like(ids)}
    for name, value in model(ids).items():
        np.testing.assert_array_equal(value, model(full)[name], err_msg=name)
    aliased = {"input_ids": ids, "attention_mask": inputs["input_mask"], "token_type_ids": inputs["segment_ids"]}
    masked, unmasked = model({**inputs, "p_mask": 1 - inputs["input_mask"]}), model(ids)
    for name, value in model(aliased).items():
        np.testing.assert_array_equal(value, masked[name], err_msg=name)
    assert any(np.abs(np.asarray(masked[name]) - np.asarray(unmasked[name])).max() > 1e-3 for name in masked)
    words = np.asarray(model.albert.embeddings.word_embeddings)[ids]
    positions = np.broadcast_to(np.arange(S), ids.shape)
    other = {"inputs_embeds": words, "position_ids": positions, **aliased}
    del other["input_ids"]
    for skip_padding in (False, True):
        for name, value in model(other, skip_padding=skip_padding).items():
            expected = model(aliased, skip_padding=skip_padding)[name]
            np.testing.assert_allclose(value, expected, atol=1e-5, err_msg=name)


def test_bare_ids_have_scores_of_the_vocabulary_at_every_position(small_config, batch):
    model, ids = AlbertForPretraining(small_config), batch["input_ids"]
    logits = np.asarray(model(ids)["masked_lm_logits"])
    assert logits.shape == (B, S, 60)
    every = {"input_ids": ids, "masked_lm_positions": np.broadcast_to(np.arange(S), (B, S))}
    np.testing.assert_allclose(logits, model(every)["masked_lm_logits"], atol=1e-6)
    np.testing.assert_allclose(logits, model(ids, read_only_predictions=True)["masked_lm_logits"], atol=1e-6)


def test_a_traced_call_takes_all_of_it(model, batch, pooled):
    ids = batch.pop("input_ids")
    words = np.asarray(model.embeddings.word_embeddings)[ids]
    given = {"inputs_embeds": words, "position_ids": np.arange(S)[None] + 1, "attention_mask": batch["input_mask"]}
    given = {name: tf.constant(value) for name, value in given.items()}
    traced = tf.function(model, autograph=False, reduce_retracing=True)
    np.testing.assert_allclose(traced(given)["pooled_output"], pooled(model, given), atol=1e-6)


def test_a_functional_model_takes_all_of_it(model, batch, pooled):
    bare = keras.Input((S,), dtype="int32")
    by_name = {
        name: keras.Input((S,), dtype="int32", name=name) for name in ("input_ids", "attention_mask", "position_ids")
    }
    ids, mask = batch["input_ids"], batch["input_mask"]
    positions = np.broadcast_to(np.arange(S), ids.shape)
    found = keras.Model(bare, model(bare)["pooled_output"])(ids)
    np.testing.assert_allclose(found, pooled(model, ids), atol=1e-6)
    found = keras.Model(by_name, model(by_name)["pooled_output"])(
        {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
    )
    np.testing.assert_allclose(found, pooled(model, {"input_ids": ids, "input_mask": mask}), atol=1e-6)
    with pytest.raises(ValueError, match="^A model has no input `mask`"):
        model({**by_name, "mask": bare})


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64"])
def test_integers_of_every_kind_are_ids(model, batch, dtype, pooled):
    expected = pooled(model, batch)
    typed = {name: value.astype(dtype) for name, value in batch.items()}
    np.testing.assert_array_equal(pooled(model, typed), expected)
    tensors = {name: tf.constant(value) for name, value in typed.items()}
    np.testing.assert_allclose(tf.function(model, autograph=False)(tensors)["pooled_output"], expected, atol=1e-6)


def test_a_batch_may_be_given_whole(small_config, batch):
    model = AlbertForPretraining(small_config)
    batch |= {"masked_lm_positions": np.ones((B, 2), int)}
    labels = {"masked_lm_ids": np.ones((B, 2), int), "masked_lm_weights": np.ones((B, 2), "float32")}
    labels |= {"sentence_order_labels": np.ones(B, int), "example_weights": np.ones(B, "float32")}
    for name, value in model(batch).items():
        if name != "hidden_states":
            np.testing.assert_array_equal(value, model({**batch, **labels})[name])
