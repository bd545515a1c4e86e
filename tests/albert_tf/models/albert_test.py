"""AlbertModel: parameter counts of the paper, what layers share, inputs left out, padding, dropout, serialisation."""

import keras
import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.kernels import View
from albert_tf.models.albert import AlbertModel
from albert_tf.models.named_weights import assign_weights, named_weights
from albert_tf.models.pretraining import AlbertForPretraining

SIZES = {
    "base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
    "large": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
    "xlarge": {"hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 8192},
    "xxlarge": {"hidden_size": 4096, "num_hidden_layers": 12, "num_attention_heads": 64, "intermediate_size": 16384},
}


def _count(model_class=AlbertModel, **sizes) -> int:
    # Only shapes are wanted: no memory is spent on 223 million weights.
    with keras.StatelessScope(initialize_variables=False):
        count = model_class(AlbertConfig(vocab_size=30_000, **sizes)).count_params()
    # Keras would give all of them values at the next end of such a scope, which may be in another test.
    keras.utils.clear_session(free_memory=False)
    return count


@pytest.mark.parametrize(
    ("size", "encoder", "with_heads"),
    [
        ("base", 11_683_584, 11_813_810),
        ("large", 17_683_968, 17_847_474),
        ("xlarge", 58_724_864, 59_021_490),
        ("xxlarge", 222_595_584, 223_158_450),
    ],
)
def test_parameter_counts_to_the_last_digit(size, encoder, with_heads):
    assert _count(**SIZES[size]) == encoder
    assert _count(AlbertForPretraining, **SIZES[size]) == with_heads


@pytest.mark.parametrize(
    ("sharing", "factorised", "full"),
    [("all", 11.7, 31.1), ("attention", 63.6, 83.1), ("ffn", 37.7, 57.1), ("none", 89.7, 109.1)],
)
def test_parameter_sharing_makes_the_counts_of_the_paper(sharing, factorised, full):
    # Paper, table 4, in millions; its ffn-shared 38M and attention-shared 64M are these, rounded.
    assert round(_count(**SIZES["base"], parameter_sharing=sharing) / 1e6, 1) == factorised
    assert round(_count(**SIZES["base"], embedding_size=768, parameter_sharing=sharing) / 1e6, 1) == full


def _blocks(config, **changes):
    return AlbertModel(AlbertConfig.from_dict({**config.to_dict(), **changes})).encoder.blocks


def test_one_block_object_serves_every_layer(small_config):
    assert [len(row) for row in _blocks(small_config)] == [1]


def test_groups_take_layers_by_integer_division(small_config):
    encoder = AlbertModel(
        AlbertConfig.from_dict({**small_config.to_dict(), "num_hidden_layers": 22, "num_hidden_groups": 22})
    ).encoder
    # int(15 / 22 * 22) is 14 in floating point: the official formula's rounding fault.
    assert [encoder.group_of_layer(layer) for layer in range(22)] == list(range(22))


def test_attention_sharing_shares_attention_only(three_layers):
    blocks = [row[0] for row in _blocks(three_layers, parameter_sharing="attention")]
    assert len({id(block.attention) for block in blocks}) == 1
    assert len({id(block.feed_forward) for block in blocks}) == 3


def test_ffn_sharing_within_two_groups(three_layers):
    blocks = [row[0] for row in _blocks(three_layers, parameter_sharing="ffn", num_hidden_groups=2)]
    assert len({id(block.attention) for block in blocks}) == 3
    assert blocks[0].feed_forward is blocks[1].feed_forward
    assert blocks[1].feed_forward is not blocks[2].feed_forward


def test_inner_blocks_are_applied_in_every_layer(small_config):
    config = AlbertConfig.from_dict({**small_config.to_dict(), "inner_group_num": 2, "num_hidden_layers": 1})
    model = AlbertModel(config)
    first, second = model.encoder.blocks[0]
    inputs = {"input_ids": np.ones((1, 4), "int32")}
    outputs = model(inputs)
    view = View.of(np.ones((1, 4)))
    expected = second(first(outputs["hidden_states"][0], view=view), view=view)
    np.testing.assert_allclose(outputs["sequence_output"], expected, atol=1e-6)


def test_shapes_of_all_outputs(three_layers):
    outputs = AlbertModel(three_layers)({"input_ids": np.ones((2, 7), "int32")})
    assert outputs["embedding_output"].shape == (2, 7, 8)
    assert [state.shape for state in outputs["hidden_states"]] == [(2, 7, 16)] * 4
    assert outputs["sequence_output"].shape == (2, 7, 16)
    assert outputs["pooled_output"].shape == (2, 16)


def test_equal_widths_have_no_projection(small_config):
    config = AlbertConfig.from_dict({**small_config.to_dict(), "embedding_size": 16})
    model = AlbertModel(config)
    assert model.encoder.embedding_projection is None
    outputs = model({"input_ids": np.ones((2, 7), "int32")})
    np.testing.assert_array_equal(outputs["hidden_states"][0], outputs["embedding_output"])


def test_mask_and_segments_left_out_are_ones_and_zeros(small_config):
    model = AlbertModel(small_config)
    ids = np.arange(10, dtype="int32").reshape(2, 5)
    whole = {"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
    np.testing.assert_array_equal(model({"input_ids": ids})["pooled_output"], model(whole)["pooled_output"])


def test_padding_does_not_reach_the_tokens(small_config):
    model = AlbertModel(small_config)
    ids = np.array([[2, 9, 8, 3]], "int32")
    padded = {"input_ids": np.pad(ids, ((0, 0), (0, 6))), "input_mask": np.pad(np.ones_like(ids), ((0, 0), (0, 6)))}
    alone = model({"input_ids": ids})["sequence_output"]
    np.testing.assert_allclose(model(padded)["sequence_output"][:, :4], alone, atol=1e-6)


def test_a_sequence_longer_than_the_positions_is_refused(small_config):
    with pytest.raises(ValueError, match="17 tokens and max_position_embeddings=16"):
        AlbertModel(small_config)({"input_ids": np.ones((1, 17), "int32")})


def test_dropout_is_a_function_of_its_seed(small_config):
    model = AlbertModel(small_config)
    inputs = {"input_ids": np.ones((2, 8), "int32")}

    def pooled(**kwargs):
        return np.asarray(model(inputs, **kwargs)["pooled_output"])

    seed, other = np.array([1, 2], "int32"), np.array([1, 3], "int32")
    np.testing.assert_array_equal(pooled(training=True, dropout_seed=seed), pooled(training=True, dropout_seed=seed))
    assert np.abs(pooled(training=True, dropout_seed=seed) - pooled(training=True, dropout_seed=other)).max() > 1e-3
    np.testing.assert_array_equal(pooled(training=False, dropout_seed=seed), pooled())
    # Without a seed every call draws the next one.
    assert np.abs(pooled(training=True) - pooled(training=True)).max() > 1e-3


def test_a_saved_model_is_the_same_model(small_config, tmp_path):
    config = AlbertConfig.from_dict(
        {**small_config.to_dict(), "parameter_sharing": "attention", "num_hidden_groups": 2, "inner_group_num": 2}
    )
    model = AlbertForPretraining(config)
    inputs = {"input_ids": np.arange(12, dtype="int32").reshape(2, 6), "masked_lm_positions": np.ones((2, 2), "int32")}
    outputs = model(inputs)
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    fresh = AlbertForPretraining.from_config(model.get_config())
    fresh.load_weights(tmp_path / "model.weights.h5")
    for twin in (loaded, fresh):
        assert twin.config == config
        for name in ("masked_lm_logits", "sentence_order_logits"):
            np.testing.assert_array_equal(twin(inputs)[name], outputs[name])


def test_weight_names_do_not_depend_on_the_model_s_name(small_config):
    first, second = AlbertForPretraining(small_config), AlbertForPretraining(small_config, name="another")
    assert list(named_weights(first)) == list(named_weights(second))
    assert "albert/encoder/block_0_0/attention/query_kernel" in named_weights(first)


def test_weights_that_do_not_fit_are_all_named_and_none_is_assigned(small_config):
    model = AlbertForPretraining(small_config)
    before = {name: variable.numpy() for name, variable in named_weights(model).items()}
    wrong = {name: value + 1 for name, value in before.items()}
    wrong["surplus"] = wrong.pop("masked_lm/output_bias")
    wrong["albert/pooler/bias"] = np.zeros(3)
    with pytest.raises(ValueError, match="file does not fit") as error:
        assign_weights(model, wrong, source="file")
    for fault in (
        "missing masked_lm/output_bias",
        "unexpected surplus",
        "albert/pooler/bias is [3], the model's is [16]",
    ):
        assert fault in str(error.value)
    for name, variable in named_weights(model).items():
        np.testing.assert_array_equal(variable.numpy(), before[name])


@pytest.mark.slow
def test_fit_trains_the_model(classifier_around_albert):
    ids = np.random.default_rng(0).integers(5, 60, (64, 8))
    model = classifier_around_albert
    # Without XLA, which would compile for a minute.
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    history = model.fit(ids, ids[:, 1] % 2, epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
