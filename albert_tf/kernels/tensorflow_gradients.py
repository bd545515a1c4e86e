"""Custom gradients that are forgotten together with the graph they belong to, for TensorFlow.

TensorFlow registers each custom gradient of a graph by a name of its own, for ever, and with it the graph and whatever
variables it reads: a program that trains one model after another would keep them all. Here the registry has weak
references, and the graph holds the gradient.
"""

import functools
import weakref

import tensorflow as tf
from tensorflow.python.framework import ops as tensorflow_ops

_ATTRIBUTE = "_gradient_op_type"
# Not public: where a later TensorFlow has it elsewhere, gradients are kept as TensorFlow keeps them.
_REGISTERED = getattr(getattr(tensorflow_ops, "gradient_registry", None), "_registry", {})


def forget_with_graph(results):
    """Lets the gradient of what tf.custom_gradient returned live as long as the graph that its results are in.

    Args:
        results: tensors in any structure, of a custom gradient; elsewhere, and outside of graphs, nothing happens.

    Returns:
        results.
    """
    operation = None if tf.executing_eagerly() else tf.nest.flatten(results)[0].op
    if operation is not None and _ATTRIBUTE in operation.node_def.attr:
        name = operation.get_attr(_ATTRIBUTE).decode()
        entry = _REGISTERED.get(name, {})
        gradient = entry.get("type")
        if gradient is not None:
            reference = weakref.ref(gradient, lambda _: _REGISTERED.pop(name, None))
            entry["type"] = lambda *arguments: reference()(*arguments)
            operation.albert_tf_gradient = gradient
    return results


def custom_gradient(function):
    """tf.custom_gradient of a function without keyword arguments, forgotten with the graph."""
    function = tf.custom_gradient(function)
    return functools.wraps(function)(lambda *arguments: forget_with_graph(function(*arguments)))


def remat(function):
    """The function, computed again when its gradient is there, instead of keeping what that needs.

    Args:
        function: of float tensors to one float tensor. What it refers to beside its arguments gets no gradient.

    Returns:
        function of the same.
    """

    @custom_gradient
    def recomputed(first, *more):
        def gradient(upstream):
            # Without waiting for the gradient both computations would be made one. A compiled step knows no control
            # dependencies, so what is computed first depends on a number of it: zero, or NaN as that is.
            with tf.control_dependencies([upstream]), tf.GradientTape() as tape:
                number = tf.reduce_sum(tf.reshape(upstream, [-1])[:1])
                number = tf.where(tf.math.is_nan(number), number, tf.zeros([], number.dtype))
                arguments = [first + tf.cast(number, first.dtype), *map(tf.identity, more)]
                tape.watch(arguments)
                output = function(*arguments)
            return tape.gradient(output, arguments, upstream)

        return function(first, *more), gradient

    return recomputed
