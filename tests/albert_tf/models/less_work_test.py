"""Ways to compute a step with less work, memory or graph, against the plain way: losses and gradients are the same."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf import losses
from albert_tf.config import AlbertConfig
from albert_tf.kernels.batch_halves import SMALLEST_BATCH
from albert_tf.models.albert import AlbertModel
from albert_tf.models.named_weights import assign_weights, named_weights
from albert_tf.models.pretraining import AlbertForPretraining

B, S, P = 3, 16, 4
SHAPES = {
    "one group": {"num_hidden_layers": 2},
    "two inner blocks": {"num_hidden_layers": 2, "inner_group_num": 2},
    "two groups": {"num_hidden_layers": 3, "num_hidden_groups": 2},
    "nothing shared": {"num_hidden_layers": 2, "parameter_sharing": "none"},
    "attention shared": {"num_hidden_layers": 2, "parameter_sharing": "attention"},
}
# Those whose gradients are traced, which takes seconds: the others in `make test-slow`.
TRACED = [name if name == "one group" else pytest.param(name, marks=pytest.mark.slow) for name in SHAPES]


def _config(small_config, dropout=0.0, **changes):
    changes |= {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout, "initializer_range": 0.2}
    return AlbertConfig.from_dict({**small_config.to_dict(), **changes})


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(0)
    return {
        "input_ids": tf.constant(rng.integers(60, size=(B, S)), tf.int32),
        "input_mask": tf.constant(np.arange(S) < np.array([[16], [9], [5]]), tf.int32),
        "segment_ids": tf.constant(rng.integers(2, size=(B, S)), tf.int32),
        "masked_lm_positions": tf.constant([[1, 4, 15, 0], [2, 8, 0, 0], [4, 0, 0, 0]], tf.int32),
    }


def _model(config, like=None, **arguments):
    model = AlbertForPretraining(config, **arguments)
    if like is not None:
        assign_weights(model, {name: value.numpy() for name, value in named_weights(like).items()}, "test")
    return model


def _gradients(model, batch, seed=(1, 2), **arguments):
    """Total loss and gradients, from a traced function as in training."""

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            outputs = model(batch, training=True, dropout_seed=tf.constant(seed), **arguments)
            weights = tf.cast(batch["masked_lm_positions"] > 0, tf.float32)
            loss, _ = losses.masked_lm_loss(outputs["masked_lm_logits"], batch["masked_lm_positions"], weights)
            order_loss, _ = losses.classification_loss(outputs["sentence_order_logits"], tf.constant([0, 1, 1]))
            total = loss + order_loss
        variables = [variable.value for variable in named_weights(model).values()]
        return total, [tf.convert_to_tensor(gradient) for gradient in tape.gradient(total, variables)]

    loss, gradients = step()
    return float(loss), dict(zip(named_weights(model), (gradient.numpy() for gradient in gradients), strict=True))


def _assert_same(found, expected, tolerance=1e-5):
    assert found[0] == pytest.approx(expected[0], rel=tolerance)
    for name, gradient in expected[1].items():
        scale = max(np.abs(gradient).max(), 1.0)
        np.testing.assert_allclose(found[1][name], gradient, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize("shape", TRACED)
@pytest.mark.slow
def test_reading_only_the_predictions_gives_the_same_outputs_and_gradients(shape, small_config, batch):
    model = _model(_config(small_config, **SHAPES[shape]))
    whole, part = model(batch), model(batch, read_only_predictions=True)
    for name in ("masked_lm_logits", "sentence_order_logits", "pooled_output"):
        np.testing.assert_allclose(part[name], whole[name], atol=1e-5, err_msg=name)
    assert part["sequence_output"].shape == (B, P, 16)
    _assert_same(_gradients(model, batch, read_only_predictions=True), _gradients(model, batch))


def test_skipping_padding_gives_the_same_outputs(small_config, batch):
    model = AlbertModel(_config(small_config))
    whole, part = model(batch), model(batch, skip_padding=True)
    np.testing.assert_allclose(part["pooled_output"], whole["pooled_output"], atol=1e-6)
    mask = np.asarray(batch["input_mask"])[:, :, None]
    np.testing.assert_allclose(part["sequence_output"], whole["sequence_output"] * mask, atol=1e-5)
    read = {"positions": batch["masked_lm_positions"], "skip_padding": True}
    found = model(batch, **read)["sequence_output"]
    expected = model(batch, positions=batch["masked_lm_positions"])["sequence_output"]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    full = {"input_ids": batch["input_ids"]}
    np.testing.assert_allclose(
        model(full, skip_padding=True)["sequence_output"], model(full)["sequence_output"], atol=1e-6
    )


# Holes: also sequences whose first tokens are padding.
_MASKS = {
    "nothing": np.zeros((0, S)),
    "one": np.arange(S) < np.array([[7]]),
    "more than groups": np.arange(S) < np.array([[3], [16], [1], [9], [9], [2], [12], [4], [16]]),
    "holes": np.random.default_rng(1).integers(2, size=(6, S)) | (np.arange(S) == S // 2),
    "left padding": np.arange(S) >= np.array([[0], [3], [15], [8], [1]]),
    "[CLS] masked": np.arange(S) > 0 * np.ones((5, 1)),
    "random": np.random.default_rng(3).integers(2, size=(7, S)),
    "all padding": np.zeros((2, S)),
    "some all padding": np.arange(S) < np.array([[0], [9], [0], [16], [4], [0]]),
    "a half all padding": np.repeat([[1], [0]], SMALLEST_BATCH // S, axis=0) * np.ones(S),
    "halves": np.arange(S) < np.random.default_rng(2).integers(1, S + 1, size=(SMALLEST_BATCH // S + 1, 1)),
}


@pytest.mark.parametrize("constant_graph", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_any_mask_can_be_skipped(constant_graph, small_config):
    model = AlbertModel(_config(small_config), constant_graph=constant_graph)
    unknown = tf.TensorSpec([None, None], tf.int32)
    skipping = tf.function(
        lambda ids, mask: model({"input_ids": ids, "input_mask": mask}, skip_padding=True),
        input_signature=[unknown, unknown],
        autograph=False,
    )
    for name, mask in _MASKS.items():
        mask = mask.astype("int32")
        ids = np.random.default_rng(2).integers(60, size=mask.shape).astype("int32")
        expected, found = model({"input_ids": ids, "input_mask": mask}), skipping(ids, mask)
        sequence = expected["sequence_output"] * mask[:, :, None]
        np.testing.assert_allclose(found["sequence_output"], sequence, atol=1e-5, err_msg=name)
        np.testing.assert_allclose(found["pooled_output"], expected["pooled_output"], atol=1e-5, err_msg=name)


def test_a_batch_of_no_rows_gives_outputs_of_no_rows(small_config):
    model, none = AlbertModel(_config(small_config)), np.zeros((0, S), "int32")
    outputs = model({"input_ids": none, "input_mask": none}, skip_padding=True)
    assert outputs["sequence_output"].shape == (0, S, 16)
    assert outputs["pooled_output"].shape == (0, 16)


@pytest.mark.parametrize("mask", ["holes", "left padding", "random", "some all padding"])
def test_what_is_read_in_the_padding_is_computed(mask, small_config):
    model = AlbertModel(_config(small_config))
    mask = _MASKS[mask].astype("int32")
    rng = np.random.default_rng(4)
    batch = {"input_ids": rng.integers(60, size=mask.shape), "input_mask": mask}
    expected = np.asarray(model(batch)["sequence_output"])
    wanted = rng.integers(2, size=mask.shape)
    found = np.asarray(model(batch, skip_padding=True, wanted=wanted)["sequence_output"])
    read = (mask > 0) | (wanted > 0)
    np.testing.assert_allclose(found[read], expected[read], atol=1e-5)
    positions = rng.integers(S, size=(len(mask), 3))
    found = model(batch, skip_padding=True, positions=positions)["sequence_output"]
    np.testing.assert_allclose(found, np.take_along_axis(expected, positions[:, :, None], axis=1), atol=1e-5)


@pytest.mark.parametrize("shape", [*SHAPES, "one layer"])
@pytest.mark.parametrize("constant_graph", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_halves_of_a_batch_give_what_the_whole_does(shape, constant_graph, small_config):
    changes = SHAPES.get(shape, {"num_hidden_layers": 1})
    model = AlbertModel(_config(small_config, **changes), constant_graph=constant_graph)
    mask = _MASKS["halves"].astype("int32")
    batch = {"input_ids": np.random.default_rng(2).integers(60, size=mask.shape), "input_mask": mask}
    expected, found = model(batch), model(batch, skip_padding=True)
    np.testing.assert_allclose(found["sequence_output"], expected["sequence_output"] * mask[:, :, None], atol=1e-5)
    np.testing.assert_allclose(found["pooled_output"], expected["pooled_output"], atol=1e-5)
    read = np.zeros((len(mask), 2), "int32")
    found = model(batch, positions=read, skip_padding=True)
    np.testing.assert_allclose(found["sequence_output"][:, 1], expected["sequence_output"][:, 0], atol=1e-5)


def test_no_positions_leave_the_pooled_output(small_config, batch):
    model = AlbertModel(_config(small_config))
    pooled = model(batch, positions=np.zeros((B, 0), "int32"))["pooled_output"]
    np.testing.assert_allclose(pooled, model(batch)["pooled_output"], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_another_way_gives_the_same_gradients_and_dropout(shape, small_config, batch):
    config = _config(small_config, dropout=0.1, **SHAPES[shape])
    plain = _model(config)
    expected = _gradients(plain, batch, read_only_predictions=True)
    for way in ("remat", "constant_graph"):
        other = _model(config, plain, **{way: True})
        _assert_same(_gradients(other, batch, read_only_predictions=True), expected)


def test_training_and_evaluation_compute_the_same(small_config, batch):
    # Without dropout they differ only in how the element-wise chains are run.
    model = _model(_config(small_config))
    trained, evaluated = model(batch, training=True), model(batch)
    np.testing.assert_allclose(trained["masked_lm_logits"], evaluated["masked_lm_logits"], atol=1e-5)


@pytest.mark.slow
def test_the_graph_does_not_grow_with_the_layers(small_config, batch):
    def nodes(layers, **arguments):
        model = _model(_config(small_config, num_hidden_layers=layers), **arguments)
        traced = tf.function(lambda: model(batch, training=True)["pooled_output"]).get_concrete_function()
        return len(traced.graph.as_graph_def().node)

    assert nodes(6, constant_graph=True) == nodes(3, constant_graph=True)
    assert nodes(6) > nodes(3)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["mixed_bfloat16", pytest.param("mixed_float16", marks=pytest.mark.slow)])
def test_low_precision_keeps_weights_and_outputs_in_float32(precision, small_config, batch):
    config = _config(small_config, hidden_act="gelu")
    wide = _model(config)
    narrow = _model(config, wide, dtype=precision)
    assert {variable.dtype for variable in named_weights(narrow).values()} == {"float32"}
    outputs = narrow(batch, training=True)
    assert outputs["hidden_states"][1].dtype == precision.removeprefix("mixed_")
    for name in ("masked_lm_logits", "sentence_order_logits", "pooled_output"):
        assert outputs[name].dtype == "float32"
    loss, gradients = _gradients(narrow, batch, read_only_predictions=True)
    wide_loss, wide_gradients = _gradients(wide, batch, read_only_predictions=True)
    assert loss == pytest.approx(wide_loss, rel=0.02)
    for name, gradient in wide_gradients.items():
        # The same number added to all keys changes no softmax: that gradient is 0 but for rounding.
        size = 1.0 if name.endswith("key_bias") else max(np.linalg.norm(gradient), 1e-2)
        assert np.linalg.norm(gradients[name] - gradient) < 0.1 * size, name


def test_the_ways_survive_serialisation(small_config):
    config = {"config": small_config.to_dict(), "remat": True, "constant_graph": True, "dtype": "mixed_bfloat16"}
    model = AlbertForPretraining.from_config(AlbertForPretraining(**config).get_config())
    assert model.dtype_policy.name == "mixed_bfloat16"
    assert model.albert.encoder.remat
    assert model.albert.encoder.constant_graph
    assert model.albert.encoder.blocks[0][0].attention.compute_dtype == "bfloat16"
    keras.backend.clear_session()
