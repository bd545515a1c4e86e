"""Positions and embeddings that are given, in place of those that a model takes by itself."""

import numpy as np
import pytest

# Of the fixture `batch`.
B, S = 3, 12


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
def test_one_row_of_positions_serves_all_sequences(model, batch, skip_padding, pooled):
    expected = pooled(model, batch, skip_padding=skip_padding)
    counted = {**batch, "position_ids": np.arange(S)[None]}
    np.testing.assert_allclose(pooled(model, counted, skip_padding=skip_padding), expected, atol=1e-6)
    shifted = {**batch, "position_ids": np.arange(S)[None] + 2}
    assert np.abs(pooled(model, shifted) - expected).max() > 1e-3


def test_positions_given_allow_a_longer_sequence(model):
    ids = np.arange(40).reshape(2, 20)
    assert model({"input_ids": ids, "position_ids": np.arange(20)[None] % 16})["sequence_output"].shape == (2, 20, 16)


@pytest.mark.parametrize("skip_padding", [False, True])
def test_embeddings_stand_for_those_of_the_words(model, batch, skip_padding, pooled):
    ids = batch.pop("input_ids")
    words = np.asarray(model.embeddings.word_embeddings)[ids]
    expected = pooled(model, {**batch, "input_ids": ids}, skip_padding=skip_padding)
    found = pooled(model, {**batch, "inputs_embeds": words}, skip_padding=skip_padding)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(pooled(model, {"inputs_embeds": words}), pooled(model, {"input_ids": ids}), atol=1e-6)
