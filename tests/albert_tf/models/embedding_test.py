"""Vectors of a batch by a Keras model: the pooling of what the encoder gives, whatever stands on it."""

import numpy as np
import pytest

from albert_tf.heads.pooling import Pooling
from albert_tf.models.albert import AlbertModel
from albert_tf.models.embedding import embed
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError

IDS = np.random.default_rng(0).integers(5, 60, (2, 6)).astype(np.int32)
MASK = np.array([[1] * 6, [1] * 4 + [0] * 2], np.int32)


@pytest.fixture(scope="module")
def model(small_config):
    return AlbertForPretraining(small_config)


def test_a_vector_is_the_pooling_of_the_encoders_output(model):
    outputs = {
        name: np.asarray(model.albert({"input_ids": IDS, "input_mask": MASK})[name])
        for name in ("sequence_output", "pooled_output")
    }
    for mode, normalize in (("mean", True), ("cls", False), ("pooled", True)):
        expected = Pooling(mode, normalize).pool({**outputs, "input_mask": MASK})
        found = embed(model, {"input_ids": IDS, "attention_mask": MASK}, mode, normalize)
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-6)
    # Without a mask there is no padding.
    whole = embed(model.albert, IDS)
    np.testing.assert_allclose(np.asarray(whole)[0], np.asarray(embed(model, IDS[:1]))[0], atol=1e-6)


def test_what_load_found_is_the_default(model, monkeypatch):
    monkeypatch.setattr(model, "pooling", Pooling("cls", False), raising=False)
    np.testing.assert_array_equal(np.asarray(embed(model, IDS)), np.asarray(embed(model, IDS, "cls", False)))


def test_no_model_and_no_pooler_are_one_line(small_config):
    with pytest.raises(
        InputError, match="`model` must be a model of a checkpoint; Embedder asks exports. Received int"
    ):
        embed(3, IDS)
    with pytest.raises(InputError, match="--pooling=pooled: the model has no pooler"):
        embed(AlbertModel(small_config, pooler=False), IDS, "pooled")
