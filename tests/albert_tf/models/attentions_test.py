"""`output_attentions`: the probabilities of every head against kernels/formulas.py, masks, the cost unasked."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.kernels import View, formulas
from albert_tf.layers.attention import SelfAttention
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPretraining

SHAPES = {
    "all shared": {},
    "two groups": {"num_hidden_layers": 3, "num_hidden_groups": 2},
    "two inner blocks": {"inner_group_num": 2},
    "nothing shared": {"parameter_sharing": "none"},
    "attention shared": {"parameter_sharing": "attention"},
    "feed-forward shared, in bfloat16": {"parameter_sharing": "ffn", "dtype": "mixed_bfloat16"},
}
# Of the way of "nothing shared" and "two inner blocks" through the same lines.
ALSO_COVERED = ("two groups", "attention shared")


def _model(small_config, dtype="float32", **changes):
    return AlbertModel(dataclasses.replace(small_config, initializer_range=0.4, **changes), dtype=dtype)


def _expected(model, hidden, mask):
    """The probabilities of each application of a block, by the formula; and its output, by the block itself."""
    heads, view = model.config.num_attention_heads, View.of(mask)
    for layer in range(model.config.num_hidden_layers):
        for block in model.encoder.blocks_of_layer(layer):
            parts = [
                formulas.project_heads(hidden, tf.cast(kernel.value, hidden.dtype), bias.value, heads, 1)[0]
                for kernel, bias in zip(block.attention.kernels, block.attention.biases)
            ]
            bias = formulas.attention_bias(mask)
            probabilities = formulas.attention_probabilities(*parts[:2], bias)
            # What is looked at is what the values are mixed by.
            mixed = formulas.merge_heads(tf.matmul(probabilities, tf.cast(parts[2], "float32")))
            used = formulas.attention(*parts, bias)
            np.testing.assert_allclose(mixed, tf.cast(used, "float32"), atol=1e-5 if hidden.dtype == "float32" else 0.1)
            yield probabilities
            hidden = block(hidden, view=view)


@pytest.mark.parametrize(
    "shape",
    [pytest.param(shape, marks=pytest.mark.slow) if shape in ALSO_COVERED else shape for shape in SHAPES],
)
def test_they_are_those_of_the_formula_and_change_nothing_else(shape, small_config, batch):
    model = _model(small_config, **SHAPES[shape])
    plain, outputs = model(batch), model(batch, output_attentions=True)
    assert set(outputs) - set(plain) == {"attentions"}
    for name in ("sequence_output", "pooled_output", "embedding_output"):
        np.testing.assert_array_equal(outputs[name], plain[name])
    assert len(outputs["hidden_states"]) == len(plain["hidden_states"])
    expected = list(_expected(model, outputs["hidden_states"][0], batch["input_mask"]))
    assert isinstance(outputs["attentions"], tuple) and len(outputs["attentions"]) == len(expected)
    is_padding = np.broadcast_to(batch["input_mask"][:, None, None, :] == 0, outputs["attentions"][0].shape)
    for found, wanted in zip(outputs["attentions"], expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=0.02 if "bfloat16" in shape else 1e-6)
        assert found.dtype == "float32" and not np.asarray(found)[is_padding].any()
        np.testing.assert_allclose(np.sum(found, axis=-1), 1.0, atol=1e-5)


def test_nothing_is_computed_for_them_unasked(small_config, batch, monkeypatch):
    monkeypatch.setattr(SelfAttention, "probabilities", lambda *_: pytest.fail("nobody asked for them"))
    assert "attentions" not in _model(small_config)(batch)


def test_they_are_of_all_positions_whatever_is_read_of_the_last_layer(small_config, batch):
    model = AlbertForPretraining(dataclasses.replace(small_config, initializer_range=0.4))
    batch = {**batch, "masked_lm_positions": np.array([[1, 4], [2, 6], [1, 1]])}
    some = model(batch, read_only_predictions=True, output_attentions=True)["attentions"]
    looped = AlbertForPretraining(model.config, constant_graph=True)
    looped.set_weights(model.get_weights())
    for outputs in (some, looped(batch, output_attentions=True)["attentions"]):
        for found, wanted in zip(outputs, model(batch, output_attentions=True)["attentions"], strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.slow
def test_dropout_comes_after_them(small_config, batch):
    model = _model(small_config, attention_probs_dropout_prob=0.5, hidden_dropout_prob=0.0)
    first = model(batch, output_attentions=True)["attentions"][0]
    np.testing.assert_allclose(model(batch, training=True, output_attentions=True)["attentions"][0], first, atol=1e-6)


def test_sequences_of_one_row_do_not_see_each_other(small_config, batch):
    ids = np.where(np.arange(12) < 5, 1, 2)[None].repeat(3, axis=0) * batch["input_mask"]
    attentions = _model(small_config)({**batch, "sequence_ids": ids}, output_attentions=True)["attentions"]
    apart = (ids[:, None, :, None] != ids[:, None, None, :]) & (ids[:, None, :, None] > 0)
    assert not np.asarray(attentions[1])[np.broadcast_to(apart, attentions[1].shape)].any()


def test_without_padding_there_are_none(small_config, batch):
    with pytest.raises(ValueError, match="`output_attentions` is of all positions. Received skip_padding=True"):
        _model(small_config)(batch, skip_padding=True, output_attentions=True)
