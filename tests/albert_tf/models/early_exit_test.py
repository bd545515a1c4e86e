"""A model that texts leave early, beside its exits computed in full and the rule on them; its first layers alone."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.exports.served_copy import serving_copy
from albert_tf.heads.exits import ExitRule
from albert_tf.models.early_exit import EarlyExit, WholeBatchExit
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.first_layers import first_layers
from albert_tf.runtime.errors import InputError

_BATCHES = ((1, 7), (9, 12))


@pytest.fixture
def make_model(small_config):
    """A function of changes to the config to a model with exits whose answers change from layer to layer."""

    def make(pooling="pooled", **changes):
        keras.utils.set_random_seed(1)
        sizes = {"num_hidden_layers": 4, "num_hidden_groups": 1, "initializer_range": 0.5}
        config = dataclasses.replace(small_config, attention_probs_dropout_prob=0.0, **sizes | changes)
        return make_finetuning_model(config, "classification", 3, early_exit=True, exit_pooling=pooling)

    return make


def _inputs(config, batch, length):
    rng = np.random.default_rng(batch)
    lengths = rng.integers(1, length + 1, batch)
    ids = rng.integers(config.vocab_size, size=(batch, length))
    values = {"input_ids": ids, "input_mask": np.arange(length) < lengths[:, None], "segment_ids": np.zeros_like(ids)}
    return {name: tf.constant(value, tf.int32) for name, value in values.items()}


def _all_logits(model, inputs):
    outputs = model(inputs, all_exits=True)
    return np.concatenate([outputs["exit_logits"], outputs["logits"][:, None]], axis=1)


# Sharing of parameters and rule of each; the first ones always with both ways of leaving, the others where time allows.
_RULES = [
    ("all", ExitRule("classification", confidence=0.9)),
    ("none", ExitRule("classification", patience=1, min_layers=3)),
    ("all", ExitRule("classification", patience=1, pooling="mean")),
    ("all", ExitRule("classification", patience=1)),
    ("all", ExitRule("classification", confidence=0.9, min_layers=3)),
    ("none", ExitRule("classification", confidence=0.7, min_layers=2, pooling="mean")),
    ("none", ExitRule("classification", patience=1)),
]


@pytest.mark.parametrize(
    ("sharing", "rule", "kind"),
    [
        *((*case, kind) for case in _RULES[:3] for kind in (EarlyExit, WholeBatchExit)),
        *((*case, EarlyExit) for case in _RULES[3:5]),
        *(pytest.param(*case, WholeBatchExit, marks=pytest.mark.slow) for case in _RULES[3:]),
        *(pytest.param(*case, EarlyExit, marks=pytest.mark.slow) for case in _RULES[5:]),
    ],
)
def test_each_text_has_the_answer_and_the_layers_of_the_exit_it_leaves_by(make_model, sharing, rule, kind):
    model = make_model(rule.pooling, parameter_sharing=sharing)
    early = kind(serving_copy(model), rule)
    names = tuple(_inputs(model.config, 1, 1))
    specs = [tf.TensorSpec([None, None], tf.int32)] * 3
    run = tf.function(lambda *parts: early(dict(zip(names, parts))), input_signature=specs, autograph=False)
    for batch, length in _BATCHES:
        inputs = _inputs(model.config, batch, length)
        logits = _all_logits(model, inputs)
        layers = rule.layers_of(logits)
        found = run(*inputs.values())
        assert found["layers"].numpy().tolist() == layers.tolist()
        np.testing.assert_allclose(found["logits"], logits[np.arange(batch), layers - 1], atol=1e-5)
    assert len(set(layers.tolist())) > 1


@pytest.mark.parametrize("sharing", ["all", "none"])
def test_no_branch_has_an_effect_for_which_one_half_of_the_batch_would_wait_for_the_other(make_model, sharing):
    model = make_model(parameter_sharing=sharing)
    early = EarlyExit(serving_copy(model), ExitRule("classification", patience=1))
    names = tuple(_inputs(model.config, 1, 1))
    specs = [tf.TensorSpec([None, None], tf.int32)] * 3
    run = tf.function(lambda *parts: early(dict(zip(names, parts))), input_signature=specs, autograph=False)
    graph = run.get_concrete_function().graph.as_graph_def()
    kinds = [node.op for function in graph.library.function for node in function.node_def]
    assert "StatelessIf" in kinds
    # The loop over the halves itself reads the embeddings.
    assert not {"If", "While"} & set(kinds)
    assert [node.op for node in graph.node].count("While") == 1


@pytest.mark.parametrize("pooling", ["pooled", "mean"])
@pytest.mark.parametrize("changes", [{}, {"parameter_sharing": "attention"}])
def test_the_first_layers_are_a_model_that_ends_at_their_exit(make_model, changes, pooling):
    model = make_model(pooling, **changes)
    inputs = _inputs(model.config, 3, 6)
    logits = _all_logits(model, inputs)
    np.testing.assert_allclose(model(inputs)["logits"], logits[:, -1], atol=1e-5)
    assert first_layers(model, 4) is model
    for count in (1, 3):
        found = first_layers(model, count)
        assert (found.exits, found.config.num_hidden_layers) == (None, count)
        np.testing.assert_allclose(found(inputs)["logits"], logits[:, count - 1], atol=1e-5)
        np.testing.assert_allclose(found(inputs, skip_padding=True)["logits"], logits[:, count - 1], atol=1e-5)


def test_exits_read_the_mean_over_a_text_without_its_padding(make_model):
    model = make_model("mean")
    inputs = _inputs(model.config, 3, 6)
    states = model.albert(inputs)["hidden_states"]
    mask = inputs["input_mask"].numpy()
    for number, head in enumerate(model.exits.heads):
        mean = np.stack([row[:length].mean(axis=0) for row, length in zip(states[number + 1].numpy(), mask.sum(1))])
        expected = mean @ head.kernel.numpy() + head.bias.numpy()
        np.testing.assert_allclose(model(inputs, all_exits=True)["exit_logits"][:, number], expected, atol=1e-5)
    with pytest.raises(InputError, match="`exit_pooling` must be mean or pooled. Received 'cls'"):
        make_model("cls")
    with pytest.raises(InputError, match="`exit_pooling` goes with `early_exit`"):
        make_finetuning_model(model.config, "classification", 3, exit_pooling="mean")


def test_groups_stay_whole(make_model):
    model = make_model(num_hidden_layers=6, num_hidden_groups=2)
    inputs = _inputs(model.config, 2, 5)
    found = first_layers(model, 3)
    assert found.config.num_hidden_groups == 1
    np.testing.assert_allclose(found(inputs)["logits"], _all_logits(model, inputs)[:, 2], atol=1e-5)
    with pytest.raises(InputError, match="--num_layers=4 cuts a group .* it can end after 1, 2, 3, 5, 6 layers"):
        first_layers(model, 4)
    with pytest.raises(InputError, match="between 1 and the model's 6 layers. Received 7"):
        first_layers(model, 7)
