"""LAMB and AdamW against 200 steps of the official optimizers, and one step worked out by hand."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.optimization.adamw import AdamW
from albert_tf.optimization.build import build_optimizer
from albert_tf.optimization.lamb import LAMB
from albert_tf.runtime.errors import InputError


def _variables(values):
    """Keras variables whose paths are the given names."""
    variables = {}
    for name, value in values.items():
        *scopes, leaf = name.split("/")
        with contextlib.ExitStack() as stack:
            for scope in scopes:
                stack.enter_context(keras.name_scope(scope))
            variables[name] = keras.Variable(value, name=leaf)
    return variables


@pytest.mark.slow
@pytest.mark.parametrize(("optimizer_class", "file"), [(LAMB, "lamb"), (AdamW, "adamw")])
def test_200_steps_equal_the_official_ones(shared, optimizer_class, file):
    stored = np.load(shared / f"reference/{file}_200_steps.npz")
    names = [name.removeprefix("init/") for name in stored.files if name.startswith("init/")]
    variables = _variables({name: stored[f"init/{name}"] for name in names})
    assert all(variable.path == name for name, variable in variables.items())
    rates = stored["lr"]
    optimizer = optimizer_class(learning_rate=0.0)
    optimizer.build(list(variables.values()))
    worst = 0.0
    for step, rate in enumerate(rates):
        optimizer.learning_rate = float(rate)
        optimizer.apply([keras.ops.convert_to_tensor(stored[f"grad/{name}"][step]) for name in names])
        for name, variable in variables.items():
            worst = max(worst, np.abs(variable.numpy() - stored[f"var/{name}"][step + 1]).max())
    assert worst < 1e-6
    for name, mean, square in zip(names, *optimizer.moments(), strict=True):
        np.testing.assert_allclose(mean.numpy(), stored[f"final/{name}/adam_m"], atol=1e-6)
        np.testing.assert_allclose(square.numpy(), stored[f"final/{name}/adam_v"], atol=1e-6)


def test_first_lamb_step_by_hand():
    # m = .1 * 2, v = .001 * 4, m / sqrt(v) = 3.1623; with decay u = 3.1623 + .01 * 3 = 3.1923 in both elements.
    # norm(w) / norm(u) = 3 / 3.1923, so that w moves by lr * 3, whatever the gradient.
    kernel, bias = _variables({"dense/kernel": np.full(2, 3.0, "f4"), "dense/bias": np.full(2, 3.0, "f4")}).values()
    optimizer = LAMB(learning_rate=0.1)
    optimizer.build([kernel, bias])
    optimizer.apply([keras.ops.full((2,), 2.0), keras.ops.full((2,), 2.0)])
    np.testing.assert_allclose(kernel.numpy(), 3.0 - 0.1 * 3.0, rtol=1e-5)
    # The bias has neither decay nor ratio.
    np.testing.assert_allclose(bias.numpy(), 3.0 - 0.1 * (0.2 / (np.sqrt(0.004) + 1e-6)), rtol=1e-5)


def test_zero_weights_have_a_trust_ratio_of_one():
    (kernel,) = _variables({"dense/kernel": np.zeros(2, "f4")}).values()
    optimizer = LAMB(learning_rate=0.1)
    optimizer.build([kernel])
    optimizer.apply([keras.ops.full((2,), 2.0)])
    np.testing.assert_allclose(kernel.numpy(), -0.1 * 0.2 / (np.sqrt(0.004) + 1e-6), rtol=1e-5)


@pytest.mark.parametrize("size", [1e-3, 1.0, 300.0])
def test_the_trust_ratio_has_no_bound(size):
    # Whatever their size, weights move by lr times their norm, in the update's direction.
    (kernel,) = _variables({"dense/kernel": np.full(2, size, "f4")}).values()
    optimizer = LAMB(learning_rate=0.1)
    optimizer.build([kernel])
    optimizer.apply([keras.ops.full((2,), 2.0)])
    np.testing.assert_allclose(kernel.numpy(), 0.9 * size, rtol=1e-5)


def test_a_config_makes_the_same_optimizer():
    optimizer = LAMB(learning_rate=0.5, weight_decay_rate=0.3, exclude_from_weight_decay=["gamma"])
    twin = LAMB.from_config(optimizer.get_config())
    assert twin.get_config() == optimizer.get_config()


def test_exclusions_given_as_one_string_are_refused():
    with pytest.raises(ValueError, match="list of regular expressions"):
        LAMB(exclude_from_weight_decay="bias")


def test_a_misspelt_optimizer_is_refused():
    with pytest.raises(InputError, match="lamb, adamw, muon. Received 'lamp'"):
        build_optimizer("lamp", 0.001)


def _adamw_step(start, compiled):
    """A variable, and a function of a gradient and a learning rate that updates it."""
    (kernel,) = _variables({"dense/kernel": start}).values()
    optimizer = AdamW()
    optimizer.build([kernel])
    return kernel, tf.function(
        lambda gradient, rate: optimizer.update_step(gradient, kernel, rate), jit_compile=compiled
    )


def test_an_adamw_step_that_xla_compiles_is_the_same_without_float64():
    start, arguments = np.full((2, 3), 3.0, "f4"), (tf.fill([2, 3], 2.0), tf.constant(0.1))
    plain, step = _adamw_step(start, compiled=False)
    step(*arguments)
    # m = .1 * 2, v = .001 * 4, and the decay is .01 of what stood there.
    by_hand = 3.0 - 0.1 * (0.2 / (np.sqrt(0.004) + 1e-6) + 0.01 * 3.0)
    np.testing.assert_allclose(plain.numpy(), np.full((2, 3), by_hand), rtol=1e-5)
    kernel, step = _adamw_step(start, compiled=True)
    step(*arguments)
    np.testing.assert_allclose(kernel.numpy(), plain.numpy(), rtol=1e-6)
    assert "f64[" not in step.experimental_get_compiler_ir(*arguments)(stage="hlo")
