"""The weights of a whole model that decay, and the learning rate of a weight that several patterns fit."""

import numpy as np
import pytest

from albert_tf.models.finetuning import AlbertForSpan
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer


@pytest.mark.parametrize("name", ["lamb", "adamw"])
@pytest.mark.parametrize("make", [AlbertForPretraining, lambda config: AlbertForSpan(config, beam=True)])
def test_kernels_and_tables_decay_and_neither_biases_nor_norms(small_config, make, name):
    weights = named_weights(make(small_config))
    optimizer = build_optimizer(name, 0.1)
    optimizer.build(list(weights.values()))
    decayed = {name for place, name in enumerate(weights) if optimizer.decays(place)}
    assert decayed == {name for name in weights if name.rpartition("/")[2].endswith(("kernel", "embeddings"))}
    for name, variable in weights.items():
        variable.assign(np.ones(variable.shape))
    # Without a gradient only the decay is left.
    optimizer.apply([np.zeros(variable.shape, "float32") for variable in weights.values()])
    moved = {name for name, variable in weights.items() if (variable.numpy() != 1).any()}
    assert moved == decayed


def test_the_first_pattern_that_fits_decides_the_rate(small_config):
    weights = named_weights(AlbertForPretraining(small_config))
    for variable in weights.values():
        variable.assign(np.zeros(variable.shape))
    factors = [("attention", 0.5), ("query", 0.0), ("masked_lm", 0.25)]
    optimizer = build_optimizer("adamw", 1.0, factors)
    optimizer.apply([np.ones(variable.shape, "float32") for variable in weights.values()], list(weights.values()))
    whole = -weights["albert/pooler/bias"].numpy()[0]
    assert whole > 1
    for name, factor in (("albert/encoder/block_0_0/attention/query_bias", 0.5), ("masked_lm/output_bias", 0.25)):
        np.testing.assert_allclose(weights[name].numpy(), -factor * whole, rtol=1e-5)
