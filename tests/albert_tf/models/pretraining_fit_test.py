"""Keras's compile, fit and evaluate of AlbertForPretraining, against the sums of albert_tf.losses."""

import keras
import numpy as np
import pytest
from random_records import PREDICTIONS, SEQUENCE_LENGTH

from albert_tf import losses
from albert_tf.inputs.pretraining_dataset import make_dataset
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.lamb import LAMB
from albert_tf.runtime.errors import InputError

B, S, P = 8, 12, 3


@pytest.fixture
def batch(small_config):
    rng = np.random.default_rng(0)
    return {
        "input_ids": rng.integers(5, small_config.vocab_size, (B, S), dtype=np.int32),
        "input_mask": np.ones((B, S), np.int32),
        "segment_ids": np.repeat([[0] * 6 + [1] * 6], B, axis=0).astype(np.int32),
        "masked_lm_positions": np.repeat([[1, 4, 0]], B, axis=0).astype(np.int32),
        "masked_lm_ids": rng.integers(5, small_config.vocab_size, (B, P), dtype=np.int32),
        "masked_lm_weights": np.repeat([[1, 1, 0]], B, axis=0).astype(np.float32),
        "sentence_order_labels": rng.integers(0, 2, B, dtype=np.int32),
    }


@pytest.fixture
def model(small_config):
    return AlbertForPretraining(small_config)


@pytest.mark.parametrize("names", [("masked_lm", "sentence_order"), "masked_lm", "sentence_order"])
def test_the_loss_is_the_mean_over_masked_tokens_and_over_pairs(model, batch, names):
    outputs = model(batch)
    total, _, count = losses.masked_lm_sums(
        outputs["masked_lm_logits"], batch["masked_lm_ids"], batch["masked_lm_weights"]
    )
    order, pairs = losses.classification_loss(outputs["sentence_order_logits"], batch["sentence_order_labels"])
    wanted = ("masked_lm" in names) * float(total / count) + ("sentence_order" in names) * float(order / pairs)
    model.compile("sgd", loss=names)
    found = model.evaluate(batch, batch_size=B, verbose=0, return_dict=True)
    assert found["loss"] == pytest.approx(wanted, abs=1e-5)
    assert set(found) == {"loss"} | {f"{name}_accuracy" for name in ([names] if isinstance(names, str) else names)}


def test_accuracy_counts_masked_tokens_and_not_their_padding(model, batch):
    likeliest = keras.ops.convert_to_numpy(model(batch)["masked_lm_logits"]).argmax(axis=-1)
    batch["masked_lm_ids"] = np.where([[True, False, True]], likeliest, (likeliest + 1) % 60).astype(np.int32)
    model.compile("sgd")
    found = model.evaluate(batch, batch_size=B, verbose=0, return_dict=True)
    assert found["masked_lm_accuracy"] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("name", ["example_weights", "sequence_weights"])
def test_rows_that_only_fill_the_batch_up_are_no_pairs(model, batch, name):
    real = B - 3
    model.compile("sgd")
    wanted = model.evaluate({key: value[:real] for key, value in batch.items()}, batch_size=B, verbose=0)
    for value in batch.values():
        value[real:] = 0
    weights = (np.arange(B) < real).astype(np.float32)
    found = model.evaluate({**batch, name: weights}, batch_size=B, verbose=0)
    assert found == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("steps", [1, 3])
def test_a_part_of_a_stream_is_measured_as_so_many_steps_of_it(model, write_records, steps):
    stream = make_dataset(write_records("stream", 20), 4, SEQUENCE_LENGTH, PREDICTIONS)
    model.compile("sgd")
    found = model.evaluate(stream.take(steps), verbose=0)
    assert found == pytest.approx(model.evaluate(stream, steps=steps, verbose=0), abs=1e-6)


@pytest.mark.slow
def test_fit_learns_a_batch_by_heart(model, batch):
    model.compile(LAMB(0.03))
    losses_of_epochs = model.fit(batch, batch_size=B, epochs=30, verbose=0).history["loss"]
    assert losses_of_epochs[-1] < 0.8 * losses_of_epochs[0]


@pytest.mark.slow
def test_what_is_left_out_of_the_loss_stays_as_it_is(model, batch):
    before = np.array(model.sentence_order.classifier.kernel)
    model.compile("sgd", loss="masked_lm")
    model.fit(batch, batch_size=B, verbose=0)
    np.testing.assert_array_equal(np.array(model.sentence_order.classifier.kernel), before)


def test_making_a_model_ready_changes_nothing_of_what_is_saved(model):
    names = [variable.path for variable in model.weights]
    model.compile("adam")
    assert [variable.path for variable in model.weights] == names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loss": "mse"}, "`loss` must be one or both of masked_lm, sentence_order. Received 'mse'"),
        ({"loss": None}, "`loss` must be one or both"),
        ({"loss": {"masked_lm": "mse"}}, "`loss` must be one or both"),
        ({"metrics": ["accuracy"]}, "need no metrics"),
    ],
)
def test_another_loss_and_metrics_are_refused(model, arguments, message):
    with pytest.raises(InputError, match=message):
        model.compile("adam", **arguments)


def test_a_batch_without_answers_is_told_of(model, batch):
    model.compile("adam")
    with pytest.raises(InputError, match="has masked_lm_ids, masked_lm_weights, sentence_order_labels too"):
        model.fit({name: batch[name] for name in ("input_ids", "masked_lm_positions")}, batch_size=B, verbose=0)
    with pytest.raises(InputError, match="fit and evaluate take no y"):
        model.fit(batch, batch["sentence_order_labels"], batch_size=B, verbose=0)


def test_weights_and_answers_beside_the_batch_are_refused(model, batch):
    model.compile("adam")
    for given in ({"sample_weight": np.zeros(B)}, {"class_weight": {0: 1.0}}):
        with pytest.raises(InputError, match=f"take no y and no weights. Received {next(iter(given))}"):
            model.fit(batch, batch_size=B, verbose=0, **given)
    with pytest.raises(InputError, match="take no y"):
        model.evaluate(batch, sample_weight=np.zeros(B), verbose=0)


def test_ids_that_are_no_answer_have_no_weight_and_impossible_ones_make_the_loss_nan(model, batch):
    model.compile("sgd", loss="masked_lm")
    wanted = model.evaluate(batch, batch_size=B, verbose=0, return_dict=True)
    batch["masked_lm_ids"][batch["masked_lm_weights"] == 0] = -100
    batch["masked_lm_weights"][:] = 1
    assert model.evaluate(batch, batch_size=B, verbose=0, return_dict=True) == pytest.approx(wanted, abs=1e-6)
    batch["masked_lm_ids"][0, 0] = 60
    assert np.isnan(model.evaluate(batch, batch_size=B, verbose=0, return_dict=True)["loss"])


@pytest.mark.slow
def test_a_model_that_keras_saves_goes_on(model, batch, tmp_path):
    model.compile(LAMB(0.01), loss="masked_lm")
    model.fit(batch, batch_size=B, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert type(again.optimizer) is LAMB
    assert int(again.optimizer.iterations) == 1
    wanted = model.evaluate(batch, batch_size=B, verbose=0, return_dict=True)
    assert again.evaluate(batch, batch_size=B, verbose=0, return_dict=True) == pytest.approx(wanted, abs=1e-6)
    again.fit(batch, batch_size=B, verbose=0)
