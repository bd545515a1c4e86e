"""The signs of a run that is stuck, on models, attention and frequencies of which they are known."""

import dataclasses
import json
import math
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs.pretraining_dataset import open_records
from albert_tf.inputs.reading import Reading
from albert_tf.kernels import View
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.pretraining import diagnosis
from albert_tf.pretraining.diagnosis import (
    Diagnosis,
    Sample,
    attention_entropy,
    estimate_entropy,
    look_at_encoder,
    pooler_saturation,
    position_similarity,
    read_sample,
)
from albert_tf.pretraining.pretrain import run
from albert_tf.pretraining.run import PretrainingRun

STUCK = {"position_similarity": 0.99, "attention_entropy": 0.99, "pooler_saturation": 0.3}
HEALTHY = {"position_similarity": 0.3, "attention_entropy": 0.6, "pooler_saturation": 0.1}


@pytest.fixture
def batch():
    """A batch of two examples, one of them with padding."""
    rng = np.random.default_rng(0)
    return {
        "input_ids": tf.constant(rng.integers(5, 60, (2, 16)), tf.int32),
        "input_mask": tf.constant([[1] * 16, [1] * 9 + [0] * 7]),
        "segment_ids": tf.zeros([2, 16], tf.int32),
    }


def look(model, batch):
    """The figures of look_at_encoder as numbers."""
    return {name: float(figure) for name, figure in look_at_encoder(model, batch).items()}


def _change(model, ending, value):
    for name, variable in named_weights(model).items():
        if name.endswith(ending):
            variable.assign(np.full(variable.shape, value))


def test_one_vector_at_all_positions_has_a_similarity_of_1(small_config, batch):
    model = AlbertForPretraining(small_config)
    before = look(model, batch)
    assert before["position_similarity"] < 0.9
    for table in ("word_embeddings", "position_embeddings"):
        _change(model, f"embeddings/{table}", 0.5)
    _change(model, "embeddings/layer_norm/beta", 0.3)
    _change(model, "embedding_hidden_mapping_in/bias", 0.1)
    assert look(model, batch)["position_similarity"] == pytest.approx(1, abs=1e-5)


def test_similarity_is_the_mean_over_pairs_of_different_tokens():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(2, 5, 7)).astype(np.float32)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    units = hidden / np.linalg.norm(hidden, axis=-1, keepdims=True)
    pairs = [
        units[row, i] @ units[row, j]
        for row in (0, 1)
        for i in range(5)
        for j in range(5)
        if i != j and mask[row, i] * mask[row, j]
    ]
    assert float(position_similarity(hidden, mask)) == pytest.approx(np.mean(pairs), abs=1e-6)
    hidden[1, 3:] = 1e6
    assert float(position_similarity(hidden, mask)) == pytest.approx(np.mean(pairs), abs=1e-6)


def test_queries_of_zero_look_at_all_tokens_alike(small_config, batch):
    model = AlbertForPretraining(small_config)
    _change(model, "attention/query_kernel", 0.0)
    assert look(model, batch)["attention_entropy"] == pytest.approx(1, abs=1e-5)


def test_attention_to_one_token_has_no_entropy(batch):
    mask = batch["input_mask"]
    to_first = tf.one_hot(tf.zeros([2, 3, 16], tf.int32), 16)
    assert float(attention_entropy(to_first, mask)) == pytest.approx(0, abs=1e-6)
    # To two of 9 and of 16 tokens; what padding attends to does not count.
    to_two = np.zeros((2, 3, 16, 16), np.float32)
    to_two[..., :2] = 0.5
    to_two[1, :, 9:] = np.eye(16)[0]
    expected = (16 * math.log(2) / math.log(16) + 9 * math.log(2) / math.log(9)) / 25
    assert float(attention_entropy(to_two, mask)) == pytest.approx(expected, abs=1e-6)


def test_a_pooler_of_large_weights_is_saturated(small_config, batch):
    model = AlbertForPretraining(small_config)
    assert look(model, batch)["pooler_saturation"] == 0
    model.albert.pooler.bias.assign([3.0, -3.0] + [0.0] * 14)
    assert look(model, batch)["pooler_saturation"] == pytest.approx(2 / 16)
    pooled = model.albert(batch)["pooled_output"]
    assert float(pooler_saturation(pooled)) == pytest.approx(2 / 16)


def test_the_encoder_is_looked_at_as_it_computes(three_layers, batch):
    config = dataclasses.replace(three_layers, num_hidden_groups=2, inner_group_num=2, initializer_range=0.5)
    model = AlbertForPretraining(config)
    outputs = model.albert(batch)
    view = View.of(batch["input_mask"])
    figures = look(model, batch)
    assert figures["position_similarity"] == pytest.approx(
        float(position_similarity(outputs["sequence_output"], batch["input_mask"])), abs=1e-5
    )
    # Of a layer's blocks each has its own; layers 0 and 1 are of the first group.
    assert [model.encoder.blocks_of_layer(layer)[1].name for layer in range(3)] == [
        "block_0_1",
        "block_0_1",
        "block_1_1",
    ]
    entropies, hidden = [], outputs["hidden_states"][0]
    for layer in range(3):
        for block in model.encoder.blocks_of_layer(layer):
            entropies.append(_entropy_by_hand(block.attention, hidden.numpy(), batch["input_mask"].numpy()))
            hidden = block(hidden, view=view)
    assert figures["attention_entropy"] == pytest.approx(np.mean(entropies), abs=1e-4)
    looped = AlbertForPretraining(config, constant_graph=True)
    looped.set_weights(model.get_weights())
    assert look(looped, batch) == pytest.approx(figures, abs=1e-5)


def _entropy_by_hand(attention, hidden, mask):
    (query, key, _), (query_bias, key_bias, _) = attention.kernels, attention.biases
    width = attention.config.hidden_size // attention.config.num_attention_heads
    shares = []
    for states, length in zip(hidden, mask.sum(axis=1), strict=True):
        queries = (states[:length] @ query.numpy() + query_bias.numpy()).astype(np.float64)
        keys = (states[:length] @ key.numpy() + key_bias.numpy()).astype(np.float64)
        for head in range(attention.config.num_attention_heads):
            part = slice(head * width, (head + 1) * width)
            weights = np.exp(queries[:, part] @ keys[:, part].T / math.sqrt(width))
            weights /= weights.sum(axis=1, keepdims=True)
            shares.append(-(weights * np.log(weights)).sum(axis=1) / math.log(length))
    return np.concatenate(shares).mean()


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_figures_in_16_bits_are_those_of_32(small_config, batch, dtype):
    config = dataclasses.replace(small_config, initializer_range=0.3)
    model, exact = AlbertForPretraining(config, dtype=dtype), AlbertForPretraining(config)
    model.set_weights(exact.get_weights())
    assert look(model, batch) == pytest.approx(look(exact, batch), abs=0.02)


def test_entropy_of_a_sample_is_that_of_what_it_was_drawn_from():
    # About that of English in 30,000 pieces.
    shares = 1 / (np.arange(1, 30_001) + 2.7) ** 1.05
    shares /= shares.sum()
    entropy = -(shares * np.log(shares)).sum()
    counts = np.random.default_rng(0).multinomial(30_000, shares)
    seen = counts[counts > 0] / 30_000
    assert -(seen * np.log(seen)).sum() < entropy - 0.3
    assert estimate_entropy(counts) == pytest.approx(entropy, abs=0.1)
    assert estimate_entropy(np.array([0, 7000, 7000])) == pytest.approx(math.log(2), abs=1e-3)
    assert estimate_entropy(np.array([0, 9])) == pytest.approx(0, abs=1e-6)
    assert math.isfinite(estimate_entropy(np.ones(5, int)))


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_the_sample_is_of_the_records(write_records, write_unmasked_records, kind):
    path = write_records("train", 50) if kind == "static" else write_unmasked_records("unmasked", 50)[0]
    records = open_records(path, 16, 4, 60)
    sample = read_sample(records, 60, batch_size=64, seed=1)
    assert sample.batch["input_ids"].shape == (8, 16)
    assert 2.5 < sample.unigram_loss < 4.7
    np.testing.assert_array_equal(read_sample(records, 60, 64, seed=1).batch["input_ids"], sample.batch["input_ids"])
    assert read_sample(records, 60, batch_size=2, seed=1).batch["input_ids"].shape == (2, 16)


def test_the_sample_is_as_long_as_the_first_stage_has_it(write_unmasked_records):
    records = open_records(write_unmasked_records("unmasked", 50)[0], 16, 4, 60)
    batch = read_sample(records, 60, 64, 1, Reading(seq_length=8, masked_lm_prob=0.5)).batch
    assert (batch["input_ids"].shape, batch["masked_lm_ids"].shape) == ((8, 8), (8, 4))


def test_a_tpu_has_no_diagnosis():
    strategy = mock.Mock(extended=mock.Mock(worker_devices=("/job:worker/replica:0/task:0/device:TPU:0",)))
    assert PretrainingRun._make_diagnosis(mock.Mock(strategy=strategy)) is None


@pytest.fixture
def said(monkeypatch, caplog):
    """A function of (step, masked_lm_loss, state of the encoder) that returns a diagnosis's warnings at a report."""
    looks = {}
    monkeypatch.setattr(diagnosis, "look_at_encoder", lambda model, batch: dict(looks))
    made = Diagnosis(mock.Mock(variables=[]), Sample({}, unigram_loss=7.0), warmup_end=300)

    def report(step, loss, look, order=0.5):
        looks.update(look)
        caplog.clear()
        made.report(step, {"masked_lm_loss": loss, "sentence_order_accuracy": order})
        return [record.getMessage().split()[0] for record in caplog.records if record.levelname == "WARNING"]

    return report


ALL = ["masked_lm_loss", "position_similarity", "attention_entropy", "pooler_saturation"]


def test_a_warning_is_given_once_and_again_when_it_is_true_anew(said):
    assert said(300, 6.9, STUCK) == ALL
    assert said(400, 6.9, STUCK) == []
    assert said(500, 6.84, HEALTHY) == []
    assert said(600, 6.86, HEALTHY) == ["masked_lm_loss"]
    assert said(700, 8.0, STUCK) == ["position_similarity", "attention_entropy", "pooler_saturation"]
    # A pooler may well stand at its ends where it tells something.
    assert said(800, 6.0, HEALTHY) == []
    assert said(900, 6.0, STUCK, order=0.54) == ["position_similarity", "attention_entropy"]


def test_a_warning_that_stays_true_is_repeated_after_ten_reports(said):
    assert [len(said(300 + 100 * report, 7.1, STUCK)) for report in range(21)] == [4, *[0] * 9] * 2 + [4]


def test_nothing_is_warned_of_in_the_warm_up_nor_of_a_loss_that_is_not_finite(said):
    assert said(250, 9.0, STUCK) == []
    assert said(300, math.nan, HEALTHY) == []


def test_no_run_is_warned_of_in_its_first_steps(monkeypatch, caplog):
    monkeypatch.setattr(diagnosis, "look_at_encoder", lambda model, batch: STUCK)
    made = Diagnosis(mock.Mock(variables=[]), Sample({}, 7.0), warmup_end=0)
    assert made.report(199, {"masked_lm_loss": 9.0}) == {"unigram_loss": 7.0, **STUCK}
    assert "WARNING" not in caplog.text
    # It looks again after 50 steps, whatever the reports.
    assert made.report(210, {"masked_lm_loss": 9.0}) == {"unigram_loss": 7.0}
    assert made.report(249, {"masked_lm_loss": 9.0}) == {"unigram_loss": 7.0, **STUCK}


def test_a_run_without_a_sentence_task_is_not_warned_of_its_pooler(monkeypatch, caplog, settings):
    monkeypatch.setattr(diagnosis, "look_at_encoder", lambda model, batch: STUCK)
    monkeypatch.setattr(diagnosis, "FEWEST_STEPS", 1)
    monkeypatch.setattr(diagnosis, "_STEPS_BETWEEN_LOOKS", 1)
    run(dataclasses.replace(settings, log_steps=1, sentence_task="none"))
    said = [record.getMessage().split()[0] for record in caplog.records if record.levelname == "WARNING"]
    assert "position_similarity" in said
    assert "pooler_saturation" not in said


def test_a_run_logs_the_figures(finished, read_log):
    lines = [line for line in read_log(finished.output_dir) if line["kind"] == "train"]
    assert {"unigram_loss", *STUCK} < set(lines[0])
    assert -1 <= lines[0]["position_similarity"] <= 1
    assert 0 <= lines[0]["attention_entropy"] <= 1 + 1e-6
    assert len({line["unigram_loss"] for line in lines}) == 1


@pytest.mark.faults
def test_diagnosis_changes_nothing_of_a_run(finished, tmp_path, read_weights, monkeypatch):
    monkeypatch.setattr("albert_tf.pretraining.run.PretrainingRun._make_diagnosis", lambda self: None)
    without = dataclasses.replace(finished, output_dir=str(tmp_path / "without"))
    run(without)
    log = (tmp_path / "without/train_log.jsonl").read_text().splitlines()
    assert all("unigram_loss" not in json.loads(line) for line in log)
    expected = read_weights(without.output_dir)
    for name, value in read_weights(finished.output_dir).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
