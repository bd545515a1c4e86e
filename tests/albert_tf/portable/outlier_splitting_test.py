"""Units whose weights stand out are doubled: the model says the same, and loses less where its weights are int8."""

import dataclasses

import numpy as np
import pytest

from albert_tf.models.named_weights import named_weights
from albert_tf.portable.outlier_splitting import split_outliers

SECOND = "feed_forward/output/kernel"


def arrays(model):
    return {name: np.asarray(variable) for name, variable in named_weights(model).items()}


def assign(model, changes):
    for name, value in changes.items():
        named_weights(model)[name].assign(value)


def rounded(kernel):
    """A kernel as int8 with a scale for each column has it."""
    scale = np.max(np.abs(kernel), axis=0) / 127
    return np.rint(kernel / scale) * scale


def outputs(model):
    ids = np.random.default_rng(0).integers(100, size=(3, 20), dtype="int32")
    found = model({"input_ids": ids, "masked_lm_positions": ids[:, :4] % 20})
    return np.concatenate([np.ravel(found[name]) for name in ("masked_lm_logits", "sentence_order_logits")])


@pytest.fixture
def model(portable_config, random_model):
    """Unshared layers, in two of which units have weights of up to thirty times the usual size."""
    config = dataclasses.replace(portable_config, parameter_sharing="none", intermediate_size=256)
    model = random_model(config)
    seconds = [name for name in arrays(model) if name.endswith(SECOND)]
    kernels = {name: arrays(model)[name].copy() for name in seconds[:2]}
    for kernel, (unit, column) in zip(kernels.values(), ((3, 5), (8, 0)), strict=True):
        kernel[unit, column] *= 30 * kernel.std() / abs(kernel[unit, column])
    assign(model, kernels)
    return model


def test_a_model_without_outliers_stays_as_it_is(random_model, portable_config):
    model = random_model(portable_config)
    assert split_outliers(model) is model


def test_the_model_with_more_units_computes_the_same(model):
    wider = split_outliers(model)
    assert type(wider) is type(model)
    assert wider.config.intermediate_size == model.config.intermediate_size + 32
    np.testing.assert_allclose(outputs(wider), outputs(model), rtol=1e-4, atol=1e-5)


def test_no_weight_stands_out_any_more_and_int8_loses_less(model):
    wanted, wider, errors = outputs(model), split_outliers(model), []
    for one in (model, wider):
        kernels = {name: value for name, value in arrays(one).items() if name.endswith(SECOND)}
        assign(one, {name: rounded(value) for name, value in kernels.items()})
        errors.append(np.sqrt(np.mean((outputs(one) - wanted) ** 2)))
    assert all(np.max(np.abs(value) / value.std(axis=0)) < 7 for value in kernels.values())
    assert errors[1] < 0.85 * errors[0]
