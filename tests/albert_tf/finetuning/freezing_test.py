"""Frozen parts of a model: no moments, the same bits at the end, and a run that resumes as it was."""

import dataclasses
import os
import shutil

import numpy as np
import pytest

from albert_tf.checkpoints.tensor_files import load_tensors
from albert_tf.finetuning.finetune import run
from albert_tf.finetuning.freezing import freeze
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import named_weights, trained_weights
from albert_tf.runtime.errors import InputError


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (("embeddings",), ("albert/encoder/block_0_0/", "albert/pooler/", "classifier/")),
        (("encoder",), ("albert/embeddings/", "albert/encoder/embedding_hidden", "albert/pooler/", "classifier/")),
        (("embeddings", "encoder"), ("albert/pooler/", "classifier/")),
    ],
)
def test_what_is_not_named_is_trained(small_config, words, left):
    model = make_finetuning_model(small_config, "classification", 2)
    freeze(model, words)
    trained = trained_weights(model)
    assert list(trained) == [name for name in named_weights(model) if name.startswith(left)]
    assert all(any(name.startswith(prefix) for name in trained) for prefix in left)


def test_a_part_that_is_none_is_refused(finetuning_settings):
    with pytest.raises(
        InputError, match="--freeze takes embeddings and encoder, with a comma between. Received 'head'"
    ):
        dataclasses.replace(finetuning_settings, freeze="embeddings,head")


@pytest.mark.slow
def test_frozen_weights_stay_bitwise_cost_no_moments_and_resume_as_they_were(finetuning_settings):
    first = dataclasses.replace(finetuning_settings, output_dir=finetuning_settings.output_dir + "-first")
    run(dataclasses.replace(first, num_train_steps=1))
    settings = dataclasses.replace(
        finetuning_settings,
        init_checkpoint=first.output_dir,
        freeze="embeddings,encoder",
        keep_checkpoint_max=0,
    )
    run(settings)
    before = load_tensors(os.path.join(first.output_dir, "checkpoint-00000001", "model"))
    last = os.path.join(settings.output_dir, "checkpoint-00000012")
    after, moments = (load_tensors(os.path.join(last, name)) for name in ("model", "optimizer"))
    changed = {name for name in after if not np.array_equal(before[name], after[name])}
    assert changed == {name for name in after if name.startswith(("albert/pooler", "classifier"))}
    assert {name.partition("/")[2] for name in moments} == changed
    shutil.rmtree(last)
    run(settings)
    for name, value in load_tensors(os.path.join(last, "model")).items():
        np.testing.assert_array_equal(value, after[name], err_msg=name)
