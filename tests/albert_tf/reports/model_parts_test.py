"""Parameters by part, from the config, beside those of the model itself."""

import dataclasses

from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.reports.model_parts import count_parts, count_pretraining_heads


def test_the_parts_add_up_to_the_model(small_config):
    changes = {"parameter_sharing": "attention", "num_hidden_groups": 2, "inner_group_num": 2}
    config = dataclasses.replace(small_config, **changes)
    model = AlbertForPretraining(config)
    model({"input_ids": [[1, 2]], "masked_lm_positions": [[0]]})
    parts = count_parts(config) | count_pretraining_heads(config)
    assert sum(parts.values()) == model.count_params()


def test_blocks_that_are_shared_count_once(small_config):
    shared = [*count_parts(dataclasses.replace(small_config, num_hidden_layers=6)).values()]
    for sharing, times in {"attention": (1, 6), "ffn": (6, 1), "none": (6, 6)}.items():
        config = dataclasses.replace(small_config, num_hidden_layers=6, parameter_sharing=sharing)
        counts = [*count_parts(config).values()]
        assert counts[3:] == [shared[3] * times[0], shared[4] * times[1]]
        assert counts[:3] == shared[:3]
    # Without a projection where it would change nothing.
    wide = dataclasses.replace(small_config, embedding_size=small_config.hidden_size)
    assert count_parts(wide)["projection (E × H)"] == 0
