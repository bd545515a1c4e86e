"""Inputs that no model takes: each is refused in one line, which names it."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.finetuning import make_finetuning_model

# Of the fixture `model`.
E = 8

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


def test_training_a_beam_without_the_right_starts_is_refused(small_config, batch):
    model = make_finetuning_model(small_config, "span_beam")
    with pytest.raises(ValueError, match="training needs `start_positions`"):
        model(batch, training=True)


def test_text_and_other_objects_are_refused(model):
    with pytest.raises(ValueError, match="`input_ids` must be an array, a tensor or lists of numbers. Received text"):
        model("some text")
    with pytest.raises(ValueError, match="`input_mask` must be an array, a tensor or lists of numbers. Received a set"):
        model({"input_ids": [[2, 3]], "input_mask": {1}})
