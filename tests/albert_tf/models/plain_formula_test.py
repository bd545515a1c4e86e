"""The model, in training and not, against the plain formula of the paper written once more: outputs and gradients.

The formula is straight TensorFlow on the named weights, without any of the ways to compute less; shapes that the
official code's stored numbers do not have, such as several inner blocks, have no other reference.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining

B, S = 3, 8
SHAPES = {
    "two inner blocks": {"inner_group_num": 2},
    "three inner blocks in two groups": {"inner_group_num": 3, "num_hidden_groups": 2},
    "nothing shared, two inner blocks": {"parameter_sharing": "none", "inner_group_num": 2},
    "attention shared, two inner blocks": {"parameter_sharing": "attention", "inner_group_num": 2},
    "feed-forward shared": {"parameter_sharing": "ffn"},
    "no projection": {"embedding_size": 16},
    "relu, one head": {"hidden_act": "relu", "num_attention_heads": 1},
}


def _dense(x, weights, name, joint="/"):
    return x @ weights[f"{name}{joint}kernel"] + weights[f"{name}{joint}bias"]


def _norm(x, weights, name):
    centred = x - tf.reduce_mean(x, -1, keepdims=True)
    deviation = tf.sqrt(tf.reduce_mean(centred**2, -1, keepdims=True) + 1e-12)
    return centred / deviation * weights[f"{name}/gamma"] + weights[f"{name}/beta"]


def _attention(x, mask, weights, name, heads):
    def head(part, number):
        width = x.shape[-1] // heads
        return _dense(x, weights, f"{name}/{part}", "_")[..., number * width : (number + 1) * width]

    contexts = []
    for number in range(heads):
        query, key, value = (head(part, number) for part in ("query", "key", "value"))
        scores = query @ tf.transpose(key, [0, 2, 1]) / np.sqrt(query.shape[-1])
        contexts.append(tf.nn.softmax(scores + (1 - mask[:, None, :]) * -10000.0) @ value)
    return _norm(x + _dense(tf.concat(contexts, -1), weights, f"{name}/output"), weights, f"{name}/layer_norm")


def _group(layer, config):
    return layer * config.num_hidden_groups // config.num_hidden_layers


def _name(layer, inner, part, config):
    """The name of the attention or feed-forward weights of a layer; where layers share them, that of the first."""
    shared = config.parameter_sharing in ("all", {"attention": "attention", "feed_forward": "ffn"}[part])
    if config.parameter_sharing == "all":
        row = _group(layer, config)
    elif shared:
        row = next(first for first in range(layer + 1) if _group(first, config) == _group(layer, config))
    else:
        row = layer
    return f"albert/encoder/block_{row}_{inner}/{part}"


def _formula(weights, batch, config):
    """(sequence output, pooled output, masked-LM logits, sentence-order logits)."""
    activation = {"gelu": lambda x: tf.nn.gelu(x, approximate=True), "relu": tf.nn.relu}[config.hidden_act]
    mask = tf.cast(batch["input_mask"], tf.float32)
    table = weights["albert/embeddings/word_embeddings"]
    x = tf.gather(table, batch["input_ids"]) + weights["albert/embeddings/position_embeddings"][:S]
    x += tf.gather(weights["albert/embeddings/token_type_embeddings"], batch["segment_ids"])
    x = _norm(x, weights, "albert/embeddings/layer_norm")
    if config.embedding_size != config.hidden_size:
        x = _dense(x, weights, "albert/encoder/embedding_hidden_mapping_in")
    for layer in range(config.num_hidden_layers):
        for inner in range(config.inner_group_num):
            attention, ffn = (_name(layer, inner, part, config) for part in ("attention", "feed_forward"))
            x = _attention(x, mask, weights, attention, config.num_attention_heads)
            hidden = activation(_dense(x, weights, f"{ffn}/intermediate"))
            x = _norm(x + _dense(hidden, weights, f"{ffn}/output"), weights, f"{ffn}/layer_norm")
    pooled = tf.tanh(_dense(x[:, 0], weights, "albert/pooler"))
    gathered = tf.gather(x, batch["masked_lm_positions"], batch_dims=1)
    words = _norm(activation(_dense(gathered, weights, "masked_lm/transform")), weights, "masked_lm/layer_norm")
    logits = words @ tf.transpose(table) + weights["masked_lm/output_bias"]
    return x, pooled, logits, _dense(pooled, weights, "sentence_order/classifier")


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(0)
    # The middle one with holes, the last one with padding on the left.
    mask = [[1] * 8, [1, 0, 1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 1, 1, 1, 1]]
    return {
        "input_ids": tf.constant(rng.integers(60, size=(B, S)), tf.int32),
        "input_mask": tf.constant(mask, tf.int32),
        "segment_ids": tf.constant(rng.integers(2, size=(B, S)), tf.int32),
        "masked_lm_positions": tf.constant([[1, 4], [2, 6], [7, 7]], tf.int32),
    }


def _weighted(outputs):
    """A weighted sum of the outputs, in which every element has a weight of its own."""
    return tf.add_n([tf.reduce_sum(x * np.sin(np.arange(x.shape.num_elements()).reshape(x.shape))) for x in outputs])


@pytest.mark.parametrize(
    ("training", "read_only_predictions"),
    [pytest.param(True, False, marks=pytest.mark.slow), (True, True), (False, False)],
)
@pytest.mark.parametrize(
    "shape",
    [pytest.param(shape, marks=pytest.mark.slow) if shape.startswith(("three", "relu")) else shape for shape in SHAPES],
)
def test_outputs_and_gradients_are_those_of_the_formula(shape, training, read_only_predictions, small_config, batch):
    changes = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, **SHAPES[shape]}
    config = dataclasses.replace(small_config, **changes)
    model = AlbertForPretraining(config)
    rng = np.random.default_rng(1)
    for name, variable in named_weights(model).items():
        variable.assign(float(name.endswith("gamma")) + 0.3 * rng.normal(size=variable.shape))
    weights = {name: variable.value for name, variable in named_weights(model).items()}
    with tf.GradientTape() as tape:
        expected = _formula(weights, batch, config)
        total = _weighted(expected[1:])
    wanted = tape.gradient(total, weights)
    with tf.GradientTape() as tape:
        outputs = model(batch, training=training, read_only_predictions=read_only_predictions)
        names = ("sequence_output", "pooled_output", "masked_lm_logits", "sentence_order_logits")
        found = [outputs[name] for name in names]
        total = _weighted(found[1:])
    gradients = tape.gradient(total, weights)
    for name, ours, theirs in zip(names, found, expected, strict=True):
        if name != "sequence_output" or not read_only_predictions:
            np.testing.assert_allclose(ours, theirs, atol=1e-4, err_msg=name)
    for name, gradient in wanted.items():
        theirs = tf.convert_to_tensor(gradient).numpy()
        ours = tf.convert_to_tensor(gradients[name]).numpy()
        np.testing.assert_allclose(ours, theirs, atol=2e-4 * max(np.abs(theirs).max(), 1.0), err_msg=name)
