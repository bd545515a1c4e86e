"""Low-rank updates of kernels: gradients, merged weights, and a run that trains them."""

import dataclasses
import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.checkpoints.tensor_files import load_tensors
from albert_tf.finetuning.finetune import run
from albert_tf.finetuning.freezing import FREEZABLE, freeze, is_lora_target
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.low_rank import LowRankUpdates
from albert_tf.models.named_weights import named_weights
from albert_tf.runtime.errors import FlagError

KERNELS = ("query_kernel", "key_kernel", "value_kernel", "intermediate/kernel", "output/kernel")


@pytest.fixture(scope="module")
def updates(small_config):
    """(model, updates of rank 2 with a factor of 3), which the tests share."""
    model = make_finetuning_model(small_config, "classification", 2)
    freeze(model, FREEZABLE)
    return model, LowRankUpdates(model, is_lora_target, rank=2, alpha=6.0, seed=1)


def test_the_kernels_of_the_block_start_as_they_were(updates):
    model, low_rank = updates
    before = {name: np.asarray(one) for name, one in named_weights(model).items()}
    low_rank.set_bases()
    for name, variable in named_weights(model).items():
        np.testing.assert_array_equal(variable, before[name], err_msg=name)
    names = [name.partition("/")[2] for name in low_rank.bases]
    assert len(names) == 6
    assert all(name.startswith("albert/encoder/block_0_0/") and name.endswith(KERNELS) for name in names)
    paths = [variable.path for variable in low_rank.trained.values()]
    assert paths == [f"{name}_lora_{which}" for which in "ab" for name in names]
    assert set(low_rank.updated()) - set(low_rank.trained) == {
        *("albert/pooler/kernel", "albert/pooler/bias", "classifier/kernel", "classifier/bias")
    }


def test_the_gradients_are_those_of_the_product(updates):
    _, low_rank = updates
    rng = np.random.default_rng(0)
    for variable in low_rank.trained.values():
        variable.assign(rng.normal(size=variable.shape))
    low_rank.write()
    count = len(low_rank.bases)
    a, b = (list(low_rank.trained.values())[part] for part in (slice(count), slice(count, None)))
    weights = [tf.constant(rng.normal(size=target.shape), tf.float32) for target in low_rank.targets]
    with tf.GradientTape() as tape:
        products = [base + 3.0 * (left.value @ right.value) for base, left, right in zip(low_rank.bases.values(), a, b)]
        loss = sum(tf.reduce_sum(weight * product**2) for weight, product in zip(weights, products, strict=True))
    expected = tape.gradient(loss, [variable.value for variable in (*a, *b)])
    for target, product in zip(low_rank.targets, products, strict=True):
        np.testing.assert_allclose(target, product, rtol=1e-6)
    found = low_rank.gradients([2 * weight * product for weight, product in zip(weights, products, strict=True)])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_freezing_besides_is_refused(finetuning_settings):
    with pytest.raises(FlagError, match="--lora_rank freezes embeddings and encoder by itself"):
        dataclasses.replace(finetuning_settings, lora_rank=2, freeze="embeddings")


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["adamw", "lamb"])
def test_a_run_trains_the_updates_alone_and_resumes_as_it_was(finetuning_settings, optimizer):
    settings = dataclasses.replace(
        finetuning_settings, lora_rank=2, learning_rate=0.02, keep_checkpoint_max=0, optimizer=optimizer
    )
    results = run(settings)
    last = os.path.join(settings.output_dir, "checkpoint-00000012")
    weights, stored = (load_tensors(os.path.join(last, name)) for name in ("model", "optimizer"))
    updated = {name.partition("/")[2] for name in stored if name.startswith("lora_base/")}
    for name in updated:
        made = stored[f"lora_base/{name}"] + 8.0 * stored[f"lora_a/{name}"] @ stored[f"lora_b/{name}"]
        np.testing.assert_allclose(weights[name], made, atol=1e-6)
        assert np.abs(weights[name] - stored[f"lora_base/{name}"]).max() > 1e-4
    first = load_tensors(os.path.join(settings.output_dir, "checkpoint-00000004", "model"))
    changed = {name for name in weights if not np.array_equal(first[name], weights[name])}
    assert changed == updated | {name for name in weights if name.startswith(("albert/pooler", "classifier"))}
    moments = {name.partition("/")[2] for name in stored if name.startswith("adam_m")}
    assert moments == (changed - updated) | {f"lora_{which}/{name}" for which in "ab" for name in updated}
    shutil.rmtree(last)
    assert run(settings)["scores"] == results["scores"]
    again = load_tensors(os.path.join(last, "model")) | load_tensors(os.path.join(last, "optimizer"))
    for name, value in (weights | stored).items():
        np.testing.assert_array_equal(value, again[name], err_msg=name)
    assert albert_tf.Predictor(settings.output_dir).predict(["ba"])
