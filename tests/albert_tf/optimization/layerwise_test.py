"""Learning rates by depth: the factors worked out by hand, and what one step of AdamW makes of them."""

import dataclasses

import numpy as np
import pytest

from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.named_weights import named_weights
from albert_tf.optimization.build import build_optimizer, layerwise_factors


@pytest.mark.parametrize("optimizer", ["adamw", "lamb"])
@pytest.mark.parametrize(
    "changes, expected",
    [
        ({}, {"classifier/bias": 1, "pooler/bias": 1, "block_0_0/attention/key_bias": 0.5, "word_emb": 0.25}),
        (
            {"num_hidden_groups": 3},
            {"block_2_0/attention/key_bias": 0.5, "block_0_0/attention/key_bias": 0.125, "mapping_in/bias": 0.0625},
        ),
        ({"parameter_sharing": "none"}, {"block_2_0/attention/key_bias": 0.5, "position_emb": 0.0625}),
    ],
)
def test_each_depth_below_the_head_learns_slower(three_layers, changes, expected, optimizer):
    moved = []
    for decay in (1.0, 0.5):
        model = AlbertForSequenceClassification(dataclasses.replace(three_layers, **changes))
        weights = named_weights(model)
        for variable in weights.values():
            variable.assign(np.full(variable.shape, 0.5))
        made = build_optimizer(optimizer, 0.01, layerwise_factors(model.config, decay))
        made.apply([np.ones(variable.shape, "float32") for variable in weights.values()], list(weights.values()))
        moved.append({name: 0.5 - variable.numpy().ravel()[0] for name, variable in weights.items()})
    for part, factor in expected.items():
        (name,) = [name for name in moved[0] if part in name]
        assert moved[1][name] == pytest.approx(factor * moved[0][name], rel=1e-4)


def test_a_decay_of_one_leaves_every_rate_alone(small_config):
    assert layerwise_factors(small_config, 1.0) == []
    optimizer = build_optimizer("lamb", 0.01, [("a", 0.5)])
    again = type(optimizer).from_config(optimizer.get_config())
    assert again.learning_rate_factors == (("a", 0.5),)
