"""The trust ratios of a report against LAMB's own, and the matrix-product peak against nonsense."""

import numpy as np
import tensorflow as tf

from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.training.diagnostics import TrustRatios
from albert_tf.training.machine import measure_matmul_peak


def test_a_ratio_is_what_lamb_multiplies_the_next_update_with(small_config):
    model, optimizer = AlbertForPretraining(small_config), build_optimizer("lamb", 1.0)
    weights = named_weights(model)
    optimizer.build(list(weights.values()))
    ratios = TrustRatios(model, optimizer)
    rng = np.random.default_rng(0)
    name = "albert/encoder/block_0_0/attention/query_kernel"
    mean, square = (dict(zip(weights, part, strict=True))[name] for part in optimizer.moments())
    mean.assign(rng.normal(size=mean.shape))
    square.assign(rng.uniform(size=square.shape))
    before = weights[name].numpy()
    update = mean.numpy() / (np.sqrt(square.numpy()) + 1e-6) + 0.01 * before
    expected = np.linalg.norm(before) / np.linalg.norm(update)
    found = ratios.now()
    np.testing.assert_allclose(found[name], expected, rtol=1e-5)
    # Neither biases nor LayerNorm have a ratio, and a weight of zeros has 1.
    assert not any("bias" in name or "layer_norm" in name for name in found)
    weights[name].assign(np.zeros(before.shape))
    assert ratios.now()[name] == 1.0


def test_the_peak_is_that_of_a_computer():
    peak = measure_matmul_peak(tf.distribute.OneDeviceStrategy("/cpu:0"))
    assert 1e8 < peak < 1e15
