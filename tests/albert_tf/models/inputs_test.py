"""Inputs of models: names, aliases, bare ids, given positions and embeddings; and what is refused."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.finetuning_records import HEADS
from albert_tf.models.albert import AlbertModel
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.pretraining import AlbertForPretraining

B, S, E = 3, 12, 8


@pytest.fixture
def model(small_config):
    return AlbertModel(dataclasses.replace(small_config, initializer_range=0.2))


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    return {
        "input_ids": rng.integers(60, size=(B, S)),
        "input_mask": (np.arange(S) < np.array([[12], [7], [3]])).astype("int32"),
        "segment_ids": rng.integers(2, size=(B, S)),
    }


def _pooled(model, inputs, **arguments):
    return np.asarray(model(inputs, **arguments)["pooled_output"])


def test_the_names_of_hugging_face_are_the_official_ones(model, batch):
    names = {"input_mask": "attention_mask", "segment_ids": "token_type_ids"}
    renamed = {names.get(name, name): value for name, value in batch.items()}
    expected = _pooled(model, batch)
    np.testing.assert_array_equal(_pooled(model, renamed), expected)
    for name in batch:
        # Both matter: what is not given changes the output.
        if name != "input_ids":
            without = {other: value for other, value in renamed.items() if other != names[name]}
            assert np.abs(_pooled(model, without) - expected).max() > 1e-3
            np.testing.assert_array_equal(_pooled(model, {**renamed, name: None}), expected)


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
def test_a_bare_array_of_ids_is_input_ids(model, batch, form):
    ids = batch["input_ids"]
    np.testing.assert_array_equal(_pooled(model, _bare(ids)[form]), _pooled(model, {"input_ids": ids}))
    np.testing.assert_array_equal(_pooled(model, {"input_ids": _bare(ids)[form]}), _pooled(model, {"input_ids": ids}))


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


def test_positions_given_are_those_that_are_added(model, batch):
    rng = np.random.default_rng(1)
    positions = np.stack([rng.permutation(16)[:S] for _ in range(B)])
    found = model({**batch, "position_ids": positions})["embedding_output"]
    embeddings = model.embeddings
    total = sum(
        np.asarray(table)[ids]
        for table, ids in (
            (embeddings.word_embeddings, batch["input_ids"]),
            (embeddings.token_type_embeddings, batch["segment_ids"]),
            (embeddings.position_embeddings, positions),
        )
    )
    total -= total.mean(-1, keepdims=True)
    expected = total / np.sqrt(np.square(total).mean(-1, keepdims=True))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("skip_padding", [False, True])
def test_one_row_of_positions_serves_all_sequences(model, batch, skip_padding):
    expected = _pooled(model, batch, skip_padding=skip_padding)
    counted = {**batch, "position_ids": np.arange(S)[None]}
    np.testing.assert_allclose(_pooled(model, counted, skip_padding=skip_padding), expected, atol=1e-6)
    shifted = {**batch, "position_ids": np.arange(S)[None] + 2}
    assert np.abs(_pooled(model, shifted) - expected).max() > 1e-3


def test_positions_given_allow_a_longer_sequence(model):
    ids = np.arange(40).reshape(2, 20)
    assert model({"input_ids": ids, "position_ids": np.arange(20)[None] % 16})["sequence_output"].shape == (2, 20, 16)


@pytest.mark.parametrize("skip_padding", [False, True])
def test_embeddings_stand_for_those_of_the_words(model, batch, skip_padding):
    ids = batch.pop("input_ids")
    words = np.asarray(model.embeddings.word_embeddings)[ids]
    expected = _pooled(model, {**batch, "input_ids": ids}, skip_padding=skip_padding)
    found = _pooled(model, {**batch, "inputs_embeds": words}, skip_padding=skip_padding)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(_pooled(model, {"inputs_embeds": words}), _pooled(model, {"input_ids": ids}), atol=1e-6)


def test_a_traced_call_takes_all_of_it(model, batch):
    ids = batch.pop("input_ids")
    words = np.asarray(model.embeddings.word_embeddings)[ids]
    given = {"inputs_embeds": words, "position_ids": np.arange(S)[None] + 1, "attention_mask": batch["input_mask"]}
    given = {name: tf.constant(value) for name, value in given.items()}
    traced = tf.function(model, autograph=False, reduce_retracing=True)
    np.testing.assert_allclose(traced(given)["pooled_output"], _pooled(model, given), atol=1e-6)


def test_a_functional_model_takes_all_of_it(model, batch):
    bare = keras.Input((S,), dtype="int32")
    by_name = {
        name: keras.Input((S,), dtype="int32", name=name) for name in ("input_ids", "attention_mask", "position_ids")
    }
    ids, mask = batch["input_ids"], batch["input_mask"]
    positions = np.broadcast_to(np.arange(S), ids.shape)
    found = keras.Model(bare, model(bare)["pooled_output"])(ids)
    np.testing.assert_allclose(found, _pooled(model, ids), atol=1e-6)
    found = keras.Model(by_name, model(by_name)["pooled_output"])(
        {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
    )
    np.testing.assert_allclose(found, _pooled(model, {"input_ids": ids, "input_mask": mask}), atol=1e-6)
    with pytest.raises(ValueError, match="^A model has no input `mask`"):
        model({**by_name, "mask": bare})


_WRONG = {
    "neither": ({}, "either `input_ids` or `inputs_embeds`. Received neither"),
    "both": (
        {"input_ids": np.ones((2, 4), int), "inputs_embeds": np.ones((2, 4, E))},
        "either `input_ids` or `inputs_embeds`. Received both",
    ),
    "float ids": (np.ones((2, 4)), "`input_ids` must be integers. Received the dtype float"),
    "integer embeddings": ({"inputs_embeds": np.ones((2, 4, E), int)}, "`inputs_embeds` must be floats"),
    "one row": (np.ones(4, int), r"`input_ids` must have the shape \[B, S\]. Received the shape \[4\]"),
    "wide embeddings": (
        {"inputs_embeds": np.ones((2, 4, 9))},
        r"shape \[B, S, E\], E=8. Received the shape \[2, 4, 9\]",
    ),
    "short mask": (
        {"input_ids": np.ones((2, 4), int), "attention_mask": np.ones((2, 3), int)},
        r"`input_mask` must have the shape \[B, S\]. Received the shape \[2, 3\] beside one of shape \[2, 4\]",
    ),
    "mask of pairs": (
        {"input_ids": np.ones((2, 4), int), "attention_mask": np.ones((2, 4, 4), int)},
        r"`input_mask` must have the shape \[B, S\]",
    ),
    "added mask": (
        {"input_ids": np.ones((2, 4), int), "attention_mask": np.full((2, 4), -1e4)},
        "`input_mask` must be 1 for a token and 0 for padding. Received -10000",
    ),
    "id beyond": (np.full((2, 4), 60), r"`input_ids` must lie in \[0, vocab_size=60\). Received 60"),
    "negative id": (np.full((2, 4), -1), r"`input_ids` must lie in \[0, vocab_size=60\). Received -1"),
    "segment beyond": (
        {"input_ids": np.ones((2, 4), int), "segment_ids": np.full((2, 4), 2)},
        r"`segment_ids` must lie in \[0, type_vocab_size=2\). Received 2",
    ),
    "position beyond": (
        {"input_ids": np.ones((2, 4), int), "position_ids": np.full((1, 4), 16)},
        r"`position_ids` must lie in \[0, max_position_embeddings=16\). Received 16",
    ),
    "rows of unequal lengths": ([[1, 2], [3]], "`input_ids` has rows of unequal lengths; pad them"),
    "no position": (np.ones((2, 0), int), r"at least one position. Received the shape \[2, 0\]"),
    "words": (np.array([["a", "b"]]), "`input_ids` must be numbers. Received the dtype <U1"),
    "ragged": (tf.ragged.constant([[1, 2], [3]]), "`input_ids` must be dense. Received a RaggedTensor; pad its rows"),
    "sparse": (tf.sparse.eye(2, 3, tf.int32), "`input_ids` must be dense. Received a SparseTensor"),
    "prediction before": (
        {"input_ids": np.ones((2, 4), int), "masked_lm_positions": [[-1], [0]]},
        r"`masked_lm_positions` must lie in \[0, S=4\). Received -1",
    ),
    "prediction beyond": (
        {"inputs_embeds": np.ones((2, 4, E)), "masked_lm_positions": [[1], [4]]},
        r"`masked_lm_positions` must lie in \[0, S=4\). Received 4",
    ),
    "one row of predictions": (
        {"input_ids": np.ones((2, 4), int), "masked_lm_positions": [1, 2]},
        r"`masked_lm_positions` must have the shape \[B, P\]. Received the shape \[2\] beside one of shape \[2, 4\]",
    ),
    "predictions of others": (
        {"input_ids": np.ones((2, 4), int), "masked_lm_positions": [[1]]},
        r"`masked_lm_positions` must have the shape \[B, P\]. Received the shape \[1, 1\]",
    ),
    "float predictions": (
        {"input_ids": np.ones((2, 4), int), "masked_lm_positions": [[1.5], [0.0]]},
        "`masked_lm_positions` must be integers. Received the dtype float",
    ),
    "column of starts": (
        {"input_ids": np.ones((2, 4), int), "start_positions": [[1], [2]]},
        r"`start_positions` must have the shape \[B\]. Received the shape \[2, 1\]",
    ),
    "start beyond": (
        {"input_ids": np.ones((2, 4), int), "start_positions": [1, 4]},
        r"`start_positions` must lie in \[0, S=4\). Received 4",
    ),
    "half an answer": (
        {"input_ids": np.ones((2, 4), int), "p_mask": np.full((2, 4), 0.5)},
        "`p_mask` must be 1 where no answer can be and 0 elsewhere. Received 0.5",
    ),
    "a list of inputs": (
        [np.ones((2, 4), int), np.ones((2, 4), int)],
        "`input_ids` is a list of tensors; give a dict of tensors by their names",
    ),
}


@pytest.mark.parametrize("case", _WRONG)
def test_what_cannot_be_is_refused_in_one_line(model, case):
    inputs, message = _WRONG[case]
    with pytest.raises(ValueError, match=f"^.*{message}") as error:
        model(inputs)
    assert "\n" not in str(error.value)


def test_inputs_side_by_side_are_told_the_dict(model, batch):
    ids, mask = batch["input_ids"], batch["input_mask"]
    with pytest.raises(ValueError, match="in one dict, .*Received the arguments input_ids, attention_mask.$"):
        model(input_ids=ids, attention_mask=mask)
    with pytest.raises(ValueError, match="in one dict, .*Received the argument attention_mask.$"):
        model(ids, attention_mask=mask)
    with pytest.raises(ValueError, match="in one dict, .*Received 2 of them.$"):
        model(ids, mask)
    with pytest.raises(ValueError, match="Received neither"):
        model()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64"])
def test_integers_of_every_kind_are_ids(model, batch, dtype):
    expected = _pooled(model, batch)
    typed = {name: value.astype(dtype) for name, value in batch.items()}
    np.testing.assert_array_equal(_pooled(model, typed), expected)
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


def test_training_a_beam_without_the_right_starts_is_refused(small_config, batch):
    model = make_finetuning_model(small_config, "span_beam")
    with pytest.raises(ValueError, match="training needs `start_positions`"):
        model(batch, training=True)


@pytest.mark.parametrize("number", [0, -1, "3", 2.0])
def test_a_head_without_a_number_of_classes_is_refused(small_config, number):
    with pytest.raises(ValueError, match="^`num_labels` must be a whole number of at least 1. Received"):
        make_finetuning_model(small_config, "classification", number)


def test_a_dropout_of_all_or_more_is_refused(small_config):
    for rate in (1.0, 1.5, -0.1):
        with pytest.raises(ValueError, match=r"dropout must lie in \[0, 1\). Received"):
            make_finetuning_model(small_config, "classification", 2, classifier_dropout_prob=rate)


@pytest.mark.parametrize("config", ["albert-base-v2", None])
def test_a_name_in_place_of_a_config_is_refused(config):
    with pytest.raises(ValueError, match="^`config` must be an AlbertConfig .*from_json_file reads a file.$"):
        AlbertModel(config)


def test_a_dtype_is_one_that_models_compute_in_and_stays(small_config, model):
    for name in ("float64", "float16"):
        with pytest.raises(ValueError, match=f"one of float32, mixed_bfloat16, mixed_float16, .* Received {name}.$"):
            AlbertModel(small_config, dtype=name)
    model.dtype_policy = "float32"
    with pytest.raises(ValueError, match="^The dtype of a model is that of its layers.* dtype='mixed_bfloat16'"):
        model.dtype_policy = "mixed_bfloat16"
    assert model.dtype_policy.name == "float32"


def test_text_and_other_objects_are_refused(model):
    with pytest.raises(ValueError, match="`input_ids` must be an array, a tensor or lists of numbers. Received text"):
        model("some text")
    with pytest.raises(ValueError, match="`input_mask` must be an array, a tensor or lists of numbers. Received a set"):
        model({"input_ids": [[2, 3]], "input_mask": {1}})
