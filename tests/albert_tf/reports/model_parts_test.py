"""Parameters by part, from the config, beside those of the model itself."""

import dataclasses

import pytest

from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.reports.model_parts import count_parts, count_pretraining_heads


@pytest.mark.parametrize(
    "changes",
    [
        {"parameter_sharing": "attention", "num_hidden_groups": 2, "inner_group_num": 2},
        {"parameter_sharing": "none", "embedding_size": 16},
    ],
    ids=["attention", "none"],
)
def test_the_parts_add_up_to_the_model(small_config, changes):
    config = dataclasses.replace(small_config, num_hidden_layers=2, **changes)
    model = AlbertForPretraining(config)
    model({"input_ids": [[1, 2]], "masked_lm_positions": [[0]]})
    parts = count_parts(config) | count_pretraining_heads(config)
    assert sum(parts.values()) == model.count_params()
    assert parts["projection (E × H)"] == (0 if config.embedding_size == config.hidden_size else 8 * 16 + 16)
