"""Steps of packed rows: their sizes, the same learning as of one example in a row, and runs that go on."""

import dataclasses
import logging
import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.pretraining_dataset import make_dataset, open_records
from albert_tf.inputs.row_packing import Packing
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.pretraining.pretrain import run
from albert_tf.pretraining.step_shapes import StepShapes
from albert_tf.pretraining.steps import PretrainingSteps
from albert_tf.runtime.errors import InputError
from albert_tf.training.strategy import make_strategy

B, S, P = 12, 16, 4
# With room for all.
PACKING = Packing(B, B, 1, 3, 8)


@pytest.fixture
def packed(settings, write_unmasked_records):
    """Settings of a run that packs its rows."""
    return dataclasses.replace(
        settings, input_file=write_unmasked_records("unmasked", 50)[0], pack_sequences=True, ngram="1"
    )


@pytest.fixture
def one_step(small_config, write_unmasked_records):
    """A function of a packing and of model arguments, to metrics and weights after a step from the same weights."""
    config = dataclasses.replace(
        small_config, num_hidden_layers=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    (path,) = write_unmasked_records("records", 40)

    def take(packing, accumulation=1, **ways):
        tf.keras.utils.set_random_seed(3)
        model = AlbertForPretraining(config, **ways)
        optimizer = build_optimizer("adamw", 0.01)
        optimizer.build(list(named_weights(model).values()))
        strategy = make_strategy("one_device")
        steps = PretrainingSteps(strategy, model, optimizer, gradient_accumulation_steps=accumulation)
        metrics = steps.train(iter(make_dataset(path, B, S, P, packing=packing)), 3)
        return metrics, {name: np.asarray(value) for name, value in named_weights(model).items()}

    return take


@pytest.mark.parametrize(
    ("ways", "accumulation"), [({}, 1), ({"remat": True}, 1), ({"constant_graph": True}, 1), ({}, 3)]
)
@pytest.mark.slow
def test_packed_rows_teach_what_the_same_examples_teach(one_step, ways, accumulation):
    expected, weights = one_step(None)
    found, packed_weights = one_step(PACKING, accumulation, **ways)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    for name, value in weights.items():
        np.testing.assert_allclose(packed_weights[name], value, atol=2e-4, err_msg=name)


def test_every_way_of_reading_a_packed_row_gives_what_its_examples_give(small_config, write_unmasked_records):
    (path,) = write_unmasked_records("records", 40)
    # Of weights so large that every token tells in every other.
    model = AlbertForPretraining(dataclasses.replace(small_config, initializer_range=0.5))
    alone = model(next(iter(make_dataset(path, B, S, P))))
    batch = next(iter(make_dataset(path, B, S, P, packing=PACKING)))
    there = np.asarray(batch["sequence_weights"]) > 0
    order = np.sort(np.asarray(alone["sentence_order_logits"])[:, 0])
    for ways in ({}, {"read_only_predictions": True}):
        outputs = model(batch, **ways)
        assert outputs["pooled_output"].shape == (B, 3, small_config.hidden_size)
        found = np.sort(np.asarray(outputs["sentence_order_logits"])[there][:, 0])
        np.testing.assert_allclose(found, order, atol=1e-5)


def test_sequences_of_a_row_go_not_without_padding(small_config):
    ids = np.ones((1, 4), "int32")
    with pytest.raises(ValueError, match="`skip_padding` is for one sequence in a row"):
        AlbertForPretraining(small_config).albert({"input_ids": ids, "sequence_ids": ids}, skip_padding=True)


def test_the_stages_of_a_packed_run_have_as_many_examples_as_their_rows_hold(packed, write_unmasked_records):
    (path,) = write_unmasked_records("many", 300, seed=5)
    settings = dataclasses.replace(packed, input_file=path, train_batch_size=64, length_schedule="8:0.5,16:0.5")
    records = open_records(path, S, P, 60)
    one, two = (StepShapes(settings, records, shares) for shares in (1, 2))
    first, last = one.stages
    rows, length, predictions = one.of(last)
    assert (rows, length) == (64, S)
    assert last.batch_size > 80
    assert predictions >= P
    assert one.of(first)[:2] == (128, 8)
    assert one.packing(last).steps == 16
    assert [one.steps_into_window(step) for step in (0, 5, 6, 7, 11)] == [0, 5, 0, 1, 5]
    assert f"a step has {last.batch_size} examples in 64 rows of 16 tokens" in one.describe(last)
    _, last = two.stages
    assert two.packing(last).rows == 32
    assert last.batch_size == 2 * two.packing(last).examples
    assert two.of(last)[0] == 64


def test_without_packing_every_example_has_a_row(packed):
    settings = dataclasses.replace(packed, pack_sequences=False)
    shapes = StepShapes(settings, open_records(settings.input_file, S, P, 60), 1)
    (stage,) = shapes.stages
    assert shapes.packing(stage) is None
    assert shapes.steps_into_window(7) == 0
    assert shapes.of(stage) == (settings.train_batch_size, S, 3)


@pytest.mark.faults
def test_the_steps_of_a_stage_are_traced_as_in_a_run_that_begins_with_it(packed, monkeypatch):
    traced, own = [], PretrainingSteps._train_replica

    def noting(self, batch, scale):
        traced.append(tuple(batch["input_ids"].shape))
        return own(self, batch, scale)

    monkeypatch.setattr(PretrainingSteps, "_train_replica", noting)
    run(dataclasses.replace(packed, batch_schedule="4:0.5,8:0.5"))
    assert set(traced) == {(4, S), (8, S)}


@pytest.mark.faults
def test_a_packed_run_is_the_same_run_where_it_is_cut_off(packed, read_weights, read_log, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    settings = dataclasses.replace(packed, length_schedule="8:0.5,16:0.5", masked_lm_prob="0.3")
    run(settings)
    assert "examples in 16 rows of 8 tokens" in caplog.text
    whole = read_weights(settings.output_dir)
    lines = [line for line in read_log(settings.output_dir) if line["kind"] == "train"]
    assert lines[-1]["examples_seen"] > 6 * 16 + 6 * 8
    assert lines[-1]["step"] == 12
    for step in (8, 12):
        shutil.rmtree(os.path.join(settings.output_dir, f"checkpoint-{step:08d}"))
    run(settings)
    for name, value in read_weights(settings.output_dir).items():
        np.testing.assert_array_equal(value, whole[name], err_msg=name)


def test_records_with_masks_cannot_be_packed(settings):
    with pytest.raises(InputError, match="^--length_schedule, --masked_lm_prob, --ngram and --pack_sequences want"):
        run(dataclasses.replace(settings, pack_sequences=True))
