"""Checkpoints that a pre-training starts from: of another run, of one group, of the official code."""

import dataclasses

import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import initialise, load_pretrained
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.pretraining.pretrain import run
from albert_tf.runtime.errors import InputError

STEPS = 12


@pytest.mark.slow
def test_a_run_starts_from_the_best_checkpoint_of_another(finished, tmp_path, read_weights):
    pretrained = load_pretrained(finished.output_dir)
    model = pretrained.model
    assert pretrained.vocabulary is None
    for name, value in named_weights(model).items():
        np.testing.assert_array_equal(value.numpy(), read_weights(finished.output_dir, STEPS)[name])
    second = dataclasses.replace(
        finished,
        output_dir=str(tmp_path / "second"),
        init_checkpoint=finished.output_dir,
        num_train_steps=1,
        num_warmup_steps=1,
    )
    run(second)
    # The first step of a warm-up has learning rate 0: the weights are still those it started from.
    for name, value in named_weights(model).items():
        np.testing.assert_array_equal(value.numpy(), read_weights(second.output_dir, 1)[name])


def test_groups_start_from_group_0(finished, three_layers, read_weights):
    config = AlbertConfig.from_dict({**three_layers.to_dict(), "num_hidden_groups": 3})
    model = AlbertForPretraining(config)
    with pytest.raises(InputError, match="missing albert/encoder/block_1_0"):
        initialise(model, finished.output_dir)
    initialise(model, finished.output_dir, from_group0=True)
    weights = named_weights(model)
    source = read_weights(finished.output_dir, STEPS)
    for group in range(3):
        name = "feed_forward/output/kernel"
        np.testing.assert_array_equal(
            weights[f"albert/encoder/block_{group}_0/{name}"].numpy(), source[f"albert/encoder/block_0_0/{name}"]
        )


def test_an_official_checkpoint_starts_a_run(shared):
    prefix = str(shared / "reference/official/groups2/model.ckpt")
    config = AlbertConfig.from_json_file(str(shared / "reference/official/groups2/albert_config.json"))
    model = AlbertForPretraining(config)
    initialise(model, prefix)
    stored = np.load(shared / "reference/official/groups2/parity.npz")
    np.testing.assert_array_equal(
        named_weights(model)["sentence_order/classifier/kernel"].numpy(),
        stored["var/cls/seq_relationship/output_weights"].T,
    )
