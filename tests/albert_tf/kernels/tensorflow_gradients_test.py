"""Memory of a program that trains one model after another: nothing of the first is kept."""

import gc
import weakref

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.kernels.tensorflow_gradients import custom_gradient
from albert_tf.models.albert import AlbertModel


def _run_a_step(config, arguments):
    """The gradient's size, and what must be freed, weakly."""
    model = AlbertModel(config, **arguments)
    variables = [variable.value for variable in model.trainable_variables]

    @tf.function(autograph=False)
    def step(input_ids):
        with tf.GradientTape() as tape:
            outputs = model({"input_ids": input_ids}, training=True, dropout_seed=tf.constant([1, 2]))
            loss = tf.reduce_sum(outputs["pooled_output"])
        return tf.linalg.global_norm(tape.gradient(loss, variables))

    input_ids = tf.constant([[1, 2, 3, 4], [4, 3, 2, 1]])
    norm = float(step(input_ids))
    graph = step.get_concrete_function(input_ids).graph
    return norm, {"graph": weakref.ref(graph), "weight": weakref.ref(variables[0])}


@pytest.mark.parametrize(
    "arguments",
    [{}, *(pytest.param({way: True}, marks=pytest.mark.slow) for way in ("remat", "constant_graph"))],
    ids=str,
)
@pytest.mark.slow
def test_a_model_and_its_step_are_freed(small_config, arguments):
    norm, references = _run_a_step(small_config, arguments)
    assert norm > 0
    gc.collect()
    assert [name for name, reference in references.items() if reference() is not None] == []


def test_the_gradient_lives_as_long_as_the_graph():
    @custom_gradient
    def twice(x):
        return 2 * x, lambda upstream: 5 * upstream

    called = tf.function(twice, autograph=False)

    @tf.function(autograph=False)
    def differentiated(x):
        gc.collect()
        return tf.gradients(called(x), x)

    one = tf.constant(1.0)
    called(one)
    np.testing.assert_array_equal(differentiated(one), [5.0])


def test_a_gradient_without_a_graph():
    square = custom_gradient(lambda x: (x * x, lambda upstream: 7 * upstream))
    three = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(three)
        result = square(three)
    assert (float(result), float(tape.gradient(result, three))) == (9.0, 7.0)
