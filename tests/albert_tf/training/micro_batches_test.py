"""A step by hand: micro-batches, clipping, the scale of the loss, what is not finite; on a model of four numbers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.optimization.adamw import AdamW
from albert_tf.training import loss_scale
from albert_tf.training.batches import cut_rows
from albert_tf.training.strategy import make_strategy
from albert_tf.training.tensorflow_steps import TensorFlowSteps

X = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 4.0], [3.0, 0.0, 8.0], [6.0, 0.0, 0.0]], "float32")
# The gradient of every row's sum of products, and of the bias, over four rows.
GRADIENT, OF_BIAS = X.sum(axis=0) / 4, 1.0
NORM = float(np.sqrt((GRADIENT**2).sum() + OF_BIAS**2))
FINE, BAD_LOSS, BAD_GRADIENT = 0, 1, 2


class _Descent(AdamW):
    """w - rate * gradient, and nothing else."""

    def update_step(self, gradient, variable, learning_rate):
        variable.assign_sub(learning_rate * gradient)


@tf.custom_gradient
def _spoil(x, is_bad):
    return x, lambda upstream: (tf.where(is_bad, np.nan, upstream), None)


class _LinearSteps(TensorFlowSteps):
    metrics = ("loss", "rows", "gradient_norm")

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.evaluated = []

    def _counts(self, batch):
        return [tf.cast(tf.shape(batch["x"])[0], tf.float32)]

    def _losses(self, batch, counts, seed):
        kernel, bias = (variable.value for variable in self.model.trainable_variables)
        kernel = _spoil(kernel, tf.reduce_any(batch["fault"] == BAD_GRADIENT))
        loss = tf.reduce_sum(batch["x"] @ kernel + bias) / counts[0]
        loss += tf.stop_gradient(tf.where(tf.reduce_any(batch["fault"] == BAD_LOSS), np.nan, 0.0))
        return loss, tf.stack([loss, tf.cast(tf.shape(batch["x"])[0], tf.float32)])

    def _evaluate_share(self, batch):
        self.evaluated.append(batch["x"].shape[0])
        return tf.stack([tf.reduce_sum(batch["x"]), tf.cast(tf.shape(batch["x"])[0], tf.float32)])


def _steps(**settings):
    model = keras.layers.Dense(1, kernel_initializer="zeros")
    model.build((None, 3))
    optimizer = _Descent(learning_rate=1.0)
    optimizer.build(model.trainable_variables)
    return _LinearSteps(make_strategy("one_device"), model, optimizer, **{"max_gradient_norm": 100.0, **settings})


def _take(steps, faults=(FINE,), count=1, progress=None):
    """The result of Steps.take on batches with these faults, repeated without end."""
    batches = [{"x": tf.constant(X), "fault": tf.fill([4], fault)} for fault in faults]
    stacked = {name: tf.stack([batch[name] for batch in batches]) for name in batches[0]}
    dataset = tf.data.Dataset.from_tensor_slices(stacked).repeat()
    iterator = iter(steps.strategy.distribute_datasets_from_function(lambda _: dataset))
    return steps.take(iterator, tf.constant(count), progress or steps.start())


def _moved(steps):
    """The amounts that were taken off the kernel and the bias."""
    return [-variable.numpy().ravel() for variable in steps.model.trainable_variables]


def _assert_moved(steps, kernel, bias):
    moved = _moved(steps)
    np.testing.assert_allclose(moved[0], kernel, rtol=1e-5)
    np.testing.assert_allclose(moved[1], [bias], rtol=1e-5)


@pytest.mark.parametrize(
    "how", [*({"gradient_accumulation_steps": parts} for parts in (1, 2, 4)), {"batch_halves": True}]
)
def test_parts_add_up_to_the_whole_batch(how):
    steps = _steps(**how)
    _, taken, last, goes_on = _take(steps)
    _assert_moved(steps, GRADIENT, OF_BIAS)
    # Each has a share of the loss, which is 0 before the first step, and of what else is reported.
    np.testing.assert_allclose(last, [0.0, 4.0, NORM], rtol=1e-6)
    assert (int(taken), bool(goes_on)) == (1, True)
    _, _, last, _ = _take(steps)
    np.testing.assert_allclose(last[0], -(NORM**2), rtol=1e-5)


@pytest.mark.parametrize(("halves", "rows", "parts"), [(True, 4, [2, 2]), (True, 3, [3]), (False, 4, [4])])
def test_an_evaluation_adds_up_the_halves_of_an_even_batch(halves, rows, parts):
    steps = _steps(batch_halves=halves)
    np.testing.assert_array_equal(steps.evaluate({"x": tf.constant(X[:rows])}), [X[:rows].sum(), rows])
    assert steps.evaluated == parts


def test_rows_that_follow_one_another_are_one_micro_batch():
    np.testing.assert_array_equal(cut_rows(tf.range(8), 2), [[0, 1, 2, 3], [4, 5, 6, 7]])
    rows = tf.reshape(tf.range(12), [6, 2])
    np.testing.assert_array_equal(cut_rows(rows, 3)[1], rows[2:4])


def test_gradients_are_clipped_by_the_norm_of_all_of_them():
    steps = _steps(max_gradient_norm=2.0)
    last = _take(steps)[2]
    # The norm that is reported is that before clipping.
    assert float(last[-1]) == pytest.approx(NORM)
    _assert_moved(steps, GRADIENT * 2.0 / NORM, OF_BIAS * 2.0 / NORM)


@pytest.mark.parametrize("parts", [1, 2])
def test_the_scale_of_the_loss_changes_no_step(parts):
    steps = _steps(scale_loss=True, max_gradient_norm=2.0, gradient_accumulation_steps=parts)
    scale = loss_scale.LossScale(np.float32(1024), np.int32(5), np.int32(0))
    progress, _, last, _ = _take(steps, progress=steps.start(scale))
    assert [float(last[0]), float(last[-1])] == [0.0, pytest.approx(NORM)]
    _assert_moved(steps, GRADIENT * 2.0 / NORM, OF_BIAS * 2.0 / NORM)
    # A report keeps it.
    assert [part.numpy() for part in progress.cleared().scale] == [1024, 6, 0]


def test_the_gradients_are_those_of_the_scaled_loss():
    steps = _steps(scale_loss=True)
    batch = {"x": tf.constant(X), "fault": tf.zeros([4], tf.int32)}
    gradients, shares = steps._forward_backward(batch, [tf.constant(4.0)], tf.constant([0, 0]), tf.constant(8.0))
    np.testing.assert_allclose(tf.reshape(gradients[0], [-1]), 8.0 * GRADIENT, rtol=1e-6)
    assert float(shares[0]) == 0.0


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("fault", [BAD_LOSS, BAD_GRADIENT])
def test_a_step_that_is_not_finite_moves_nothing_ends_the_call_and_counts_as_a_step(fault, parts):
    steps = _steps(gradient_accumulation_steps=parts)
    progress, taken, last, goes_on = _take(steps, faults=(FINE, fault, FINE), count=3)
    assert (int(taken), bool(goes_on)) == (2, False)
    _assert_moved(steps, GRADIENT, OF_BIAS)
    assert not np.isfinite(last.numpy()).all()
    # Two steps of the learning rate, one that is in the means.
    assert int(steps.optimizer.iterations.numpy()) == 2
    assert float(progress.counted) == 1
    assert progress.means() == [0.0, 4.0, pytest.approx(NORM)]


def test_as_many_steps_are_taken_as_asked():
    steps = _steps()
    progress, taken, _, _ = _take(steps, count=3)
    assert (int(taken), float(progress.counted), int(steps.optimizer.iterations.numpy())) == (3, 3, 3)
    _assert_moved(steps, 3 * GRADIENT, 3 * OF_BIAS)
