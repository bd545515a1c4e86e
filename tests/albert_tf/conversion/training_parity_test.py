"""50 steps of training beside transformers in torch: the same batches, clipping and AdamW; losses and weights after.

Their loss and gradients are their own; AdamW is its formula, written once more in torch. Batches have masks with holes,
since a wrong mask shows in what is learnt. They draw no piece 0, whose embedding gets no gradient from their lookup.
"""

import re

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.conversion.hugging_face import HUGGING_FACE, save_hugging_face
from albert_tf.finetuning.steps import FinetuningSteps
from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT, LABEL
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.named_weights import named_weights
from albert_tf.optimization.build import build_optimizer
from albert_tf.pretraining.steps import PretrainingSteps
from albert_tf.training.strategy import make_strategy

pytestmark = pytest.mark.parity

STEPS, BATCH, LENGTH, PREDICTIONS = 50, 8, 17, 4
RATE = 3e-4


def _batches(seed):
    """Pieces of one half of the vocabulary or of the other, as the label says, one label in five wrong."""
    rng = np.random.default_rng(seed)
    for _ in range(STEPS):
        halves = np.arange(BATCH) % 2
        mask = (rng.random((BATCH, LENGTH)) < 0.8).astype("int32")
        mask[:2] = np.arange(LENGTH) < 11
        positions = np.stack([rng.choice(np.flatnonzero(row), PREDICTIONS, replace=False) for row in mask])
        yield {
            "input_ids": (rng.integers(5, 53, (BATCH, LENGTH)) + 48 * halves[:, np.newaxis]).astype("int32"),
            "input_mask": mask,
            "segment_ids": rng.integers(0, 2, (BATCH, LENGTH)).astype("int32"),
            "positions": np.sort(positions).astype("int32"),
            "label": (halves ^ (rng.random(BATCH) < 0.2)).astype("int32"),
        }


class _TorchAdamW:
    """Clipping to a global norm of 1, and the official AdamW."""

    def __init__(self, model, torch):
        self._parameters, self._torch = dict(model.named_parameters()), torch
        self._state = {name: [torch.zeros_like(value)] * 2 for name, value in self._parameters.items()}

    def step(self):
        torch = self._torch
        gradients = {name: value.grad for name, value in self._parameters.items() if value.grad is not None}
        norm = torch.sqrt(sum((gradient.double() ** 2).sum() for gradient in gradients.values()))
        with torch.no_grad():
            for name, gradient in gradients.items():
                gradient = gradient / max(float(norm), 1.0)
                mean, square = self._state[name]
                self._state[name] = [0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2]
                mean, square = self._state[name]
                update = mean / (square.sqrt() + 1e-6)
                if not re.search("bias|LayerNorm|layer_norm", name):
                    update = update + 0.01 * self._parameters[name]
                self._parameters[name] -= RATE * update
        for value in self._parameters.values():
            value.grad = None


def _their_losses(model, torch, inputs):
    """The losses of training their model in double precision, which leaves all rounding to ours."""
    model, losses = model.double().train(), []
    optimizer = _TorchAdamW(model, torch)
    for arguments in inputs:
        loss = model(**{name: torch.tensor(value).long() for name, value in arguments.items()}).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _our_losses(steps, batches):
    strategy, progress, losses = steps.strategy, steps.start(), []
    dataset = tf.data.Dataset.from_tensor_slices(
        {name: np.stack([batch[name] for batch in batches]) for name in batches[0]}
    )
    iterator = iter(strategy.experimental_distribute_dataset(dataset))
    for _ in batches:
        progress, _, metrics, usable = steps.take(iterator, tf.constant(1), progress)
        assert bool(usable)
        losses.append(float(metrics[0]))
    return losses


def _optimizer(model):
    optimizer = build_optimizer("adamw", RATE)
    optimizer.build(list(named_weights(model).values()))
    return optimizer


def _assert_same(model, theirs, ours, expected):
    assert np.mean(expected[-5:]) < np.mean(expected[:5]) - 0.03, "nothing was learnt"
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-4)
    written = HUGGING_FACE.encode(model.config, {name: value.numpy() for name, value in named_weights(model).items()})
    found = {name: value.detach().numpy() for name, value in theirs.named_parameters()}
    assert set(found) == set(written)
    errors = {name: np.abs(value - written[name]).max() for name, value in found.items()}
    assert max(errors.values()) < 1e-4, errors


def _arguments(batch):
    names = {"input_ids": "input_ids", "attention_mask": "input_mask", "token_type_ids": "segment_ids"}
    return {theirs: batch[ours] for theirs, ours in names.items()}


def test_50_steps_of_pre_training_are_those_of_transformers(random_model, transformers, torch, tmp_path):
    model = random_model()
    save_hugging_face(model, str(tmp_path / "theirs"))
    theirs = transformers.AlbertForPreTraining.from_pretrained(str(tmp_path / "theirs"), classifier_dropout_prob=0.0)
    ours, inputs = [], []
    for batch in _batches(1):
        labels = np.full((BATCH, LENGTH), -100)
        ids = np.take_along_axis(batch["input_ids"], batch["positions"], axis=1)
        np.put_along_axis(labels, batch["positions"], ids, axis=1)
        masked = batch["input_ids"].copy()
        np.put_along_axis(masked, batch["positions"], 4, axis=1)
        batch["input_ids"] = masked
        inputs.append(_arguments(batch) | {"labels": labels, "sentence_order_label": batch["label"]})
        ours.append(
            {name: batch[name] for name in ("input_ids", "input_mask", "segment_ids")}
            | {"masked_lm_positions": batch["positions"], "masked_lm_ids": ids, "sentence_order_labels": batch["label"]}
            | {"masked_lm_weights": np.ones((BATCH, PREDICTIONS), "float32")}
        )
    expected = _their_losses(theirs, torch, inputs)
    steps = PretrainingSteps(make_strategy("one_device"), model, _optimizer(model))
    _assert_same(model, theirs, _our_losses(steps, ours), expected)


def test_50_steps_of_fine_tuning_are_those_of_transformers(random_model, transformers, torch, tmp_path):
    model = AlbertForSequenceClassification(random_model().config, num_labels=2, classifier_dropout_prob=0.0)
    start = named_weights(random_model())
    for name, variable in named_weights(model).items():
        if name in start:
            variable.assign(start[name])
    save_hugging_face(model, str(tmp_path / "theirs"))
    theirs = transformers.AlbertForSequenceClassification.from_pretrained(str(tmp_path / "theirs"))
    assert theirs.config.classifier_dropout_prob == 0.0
    batches = list(_batches(2))
    expected = _their_losses(theirs, torch, [_arguments(batch) | {"labels": batch["label"]} for batch in batches])
    steps = FinetuningSteps(make_strategy("one_device"), model, "classification", _optimizer(model))
    weights = {EXAMPLE_WEIGHT: np.ones(BATCH, "float32")}
    ours = [
        {name: batch[name] for name in ("input_ids", "input_mask", "segment_ids")} | {LABEL: batch["label"], **weights}
        for batch in batches
    ]
    _assert_same(model, theirs, _our_losses(steps, ours), expected)
