"""The model and both optimizers on Keras's JAX backend: the same numbers, and no tensorflow in the process."""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining

SCRIPT = """
import json, sys
import numpy as np
import keras
from albert_tf.config import AlbertConfig
from albert_tf import losses
from albert_tf.models.named_weights import assign_weights, named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.adamw import AdamW
from albert_tf.optimization.lamb import LAMB

given = np.load(sys.argv[1])
model = AlbertForPretraining(AlbertConfig.from_dict(json.loads(sys.argv[2])))
assign_weights(model, {name.removeprefix("w:"): given[name] for name in given if name.startswith("w:")}, "test")
inputs = {"input_ids": given["ids"], "masked_lm_positions": given["positions"]}
outputs = model(inputs)
seed = np.array([1, 2], "uint32")
dropped = model(inputs, training=True, dropout_seed=seed)
again = model(inputs, training=True, dropout_seed=seed)
variables = list(named_weights(model).values())
for optimizer in (LAMB(learning_rate=0.1), AdamW(learning_rate=0.1)):
    optimizer.build(variables)
    optimizer.apply([keras.ops.ones(variable.shape) for variable in variables])
assert keras.backend.backend() == "jax"
print(json.dumps({
    "tensorflow": [name for name in sys.modules if name.partition(".")[0] == "tensorflow"],
    "logits": np.asarray(outputs["masked_lm_logits"]).tolist(),
    "same_dropout": bool((np.asarray(dropped["pooled_output"]) == np.asarray(again["pooled_output"])).all()),
    "dropout_differs": float(np.abs(np.asarray(dropped["pooled_output"]) - np.asarray(outputs["pooled_output"])).max()),
    "pooler": np.asarray(named_weights(model)["albert/pooler/kernel"]).tolist(),
}))
"""


def _run_on_jax(script, arrays, config):
    """The JSON that a script prints, run with the JAX backend on a file of arrays and a config."""
    done = subprocess.run(
        [sys.executable, "-c", script, str(arrays), json.dumps(config.to_dict())],
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parity
def test_jax_gives_the_same_numbers_and_loads_no_tensorflow(small_config, tmp_path):
    pytest.importorskip("jax")
    import keras

    from albert_tf.optimization.adamw import AdamW
    from albert_tf.optimization.lamb import LAMB

    model = AlbertForPretraining(small_config)
    inputs = {"input_ids": np.arange(12).reshape(2, 6), "masked_lm_positions": np.array([[1, 2], [3, 4]])}
    weights = {f"w:{name}": value.numpy() for name, value in named_weights(model).items()}
    np.savez(tmp_path / "given.npz", ids=inputs["input_ids"], positions=inputs["masked_lm_positions"], **weights)
    found = _run_on_jax(SCRIPT, tmp_path / "given.npz", small_config)
    assert found["tensorflow"] == []
    np.testing.assert_allclose(found["logits"], model(inputs)["masked_lm_logits"], atol=1e-5)
    assert found["same_dropout"]
    assert found["dropout_differs"] > 1e-4
    variables = list(named_weights(model).values())
    for optimizer in (LAMB(learning_rate=0.1), AdamW(learning_rate=0.1)):
        optimizer.build(variables)
        optimizer.apply([keras.ops.ones(variable.shape) for variable in variables])
    np.testing.assert_allclose(found["pooler"], named_weights(model)["albert/pooler/kernel"].numpy(), atol=1e-5)


GRADIENTS_SCRIPT = """
import json, sys
import numpy as np
import jax, keras
from jax import numpy as jnp
from albert_tf.config import AlbertConfig
from albert_tf.models.named_weights import assign_weights, named_weights
from albert_tf.models.pretraining import AlbertForPretraining

given = np.load(sys.argv[1])
inputs = {name.removeprefix("in:"): given[name] for name in given if name.startswith("in:")}
expected = {name.removeprefix("g:"): given[name] for name in given if name.startswith("g:")}
differences = {}
for way in ({}, {"remat": True}, {"constant_graph": True}, {"remat": True, "constant_graph": True}):
    model = AlbertForPretraining(AlbertConfig.from_dict(json.loads(sys.argv[2])), **way)
    assign_weights(model, {name.removeprefix("w:"): given[name] for name in given if name.startswith("w:")}, "test")
    names = list(named_weights(model))
    weights = [variable.value for variable in model.trainable_variables]
    others = [variable.value for variable in model.non_trainable_variables]
    for training in (True, False):
        def loss(weights):
            outputs, _ = model.stateless_call(weights, others, inputs, training=training)
            return sum(jnp.sum(jnp.sin(outputs[name])) for name in ("masked_lm_logits", "sentence_order_logits"))
        for compiled in (True,) if way else (True, False):
            gradient = jax.jit(jax.grad(loss)) if compiled else jax.grad(loss)
            found = dict(zip(names, gradient(weights)))
            floor = 0.01 * max(np.abs(value).max() for value in expected.values())
            differences[f"{sorted(way)} training={training} compiled={compiled}"] = max(
                float(np.abs(found[name] - value).max() / max(np.abs(value).max(), floor))
                for name, value in expected.items()
            )
print(json.dumps(differences))
"""


@pytest.mark.parity
def test_jax_has_the_same_gradients_in_training_and_outside_of_it(small_config, tmp_path):
    pytest.importorskip("jax")
    import tensorflow as tf

    changes = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.2}
    config = dataclasses.replace(small_config, **changes)
    model = AlbertForPretraining(config)
    rng = np.random.default_rng(0)
    inputs = {
        "input_ids": rng.integers(60, size=(3, 16)),
        "input_mask": (np.arange(16) < np.array([[16], [9], [5]])).astype("int32"),
        "masked_lm_positions": np.array([[1, 15], [2, 8], [4, 0]]),
    }
    variables = named_weights(model)
    with tf.GradientTape() as tape:
        outputs = model(inputs, training=True)
        names = ("masked_lm_logits", "sentence_order_logits")
        loss = sum(tf.reduce_sum(tf.sin(outputs[name])) for name in names)
    found = tape.gradient(loss, [variable.value for variable in variables.values()])
    stored = {f"g:{name}": tf.convert_to_tensor(value).numpy() for name, value in zip(variables, found, strict=True)}
    stored |= {f"w:{name}": variable.numpy() for name, variable in variables.items()}
    np.savez(tmp_path / "given.npz", **stored, **{f"in:{name}": value for name, value in inputs.items()})
    differences = _run_on_jax(GRADIENTS_SCRIPT, tmp_path / "given.npz", config)
    assert len(differences) == 10
    assert max(differences.values()) < 1e-5, differences
