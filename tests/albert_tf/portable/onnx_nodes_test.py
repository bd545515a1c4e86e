"""Loops and branches of ONNX by what they compute; what is made of weights alone stands outside of them."""

import numpy as np
import pytest

from albert_tf.portable.interface import Interface, TensorForm
from albert_tf.portable.onnx_graph import OnnxGraph
from albert_tf.serving.portable_runners import onnx_runner

pytestmark = pytest.mark.parity
onnx = pytest.importorskip("onnx", reason="onnx is not installed; pip install 'albert_tf[parity]'")

COLUMN = [TensorForm("", "float32", ("some",))]
X = np.array([1, 2, 5, 7], "float32")


def finish(graph, result):
    """(the file as a message, its one result for X)."""
    forms = (TensorForm("x", "float32", ("length",)),), (TensorForm("result", "float32", ("left",)),)
    contents = graph.to_model(Interface("test", *forms), {"result": result}, ("albert_tf", "0"))
    return onnx.load_from_string(contents), onnx_runner(contents)({"x": X})["result"]


def test_a_loop_goes_on_while_it_is_asked_to_and_its_values_may_shrink():
    graph = OnnxGraph({"bias": np.ones(1, "float32")}, "float32")

    def step(number, state):
        less = graph.add("Sub", state[0], graph.vector("bias"))
        kept = graph.add("Compress", less, graph.add("Greater", less, graph.constant(1.0, "float32")), axis=0)
        last = graph.add("Cast", graph.add("Squeeze", graph.add("Shape", kept)), to=graph.bool)
        return last, [kept]

    (result,) = graph.loop(3, ["x"], COLUMN, step)
    _, found = finish(graph, result)
    # 0 1 4 6, then 3 5, then 2 4: three turns, though a value would be left for more.
    assert found.tolist() == [2, 4]


@pytest.mark.parametrize(("least", "wanted"), [(100.0, [1, 2, 5, 7]), (-1.0, [2, 3, 6, 8])])
def test_a_branch_is_taken_where_its_condition_holds(least, wanted):
    graph = OnnxGraph({"bias": np.ones(1, "float32")}, "float32")
    largest = graph.add("ReduceMax", "x", graph.constant([0]), keepdims=0)
    condition = graph.add("Greater", largest, graph.constant(least, "float32"))
    (result,) = graph.choose(condition, COLUMN, lambda: [graph.add("Add", "x", graph.vector("bias"))], ["x"])
    assert finish(graph, result)[1].tolist() == wanted


def test_what_is_made_of_weights_stands_outside_once_and_what_is_not_inside():
    graph = OnnxGraph({"a": np.ones(4, "float32"), "b": np.ones(4, "float32")}, "float32")

    def then():
        both = graph.once("Add", graph.vector("a"), graph.vector("b"))
        inside = graph.once("Add", "x", both)
        assert graph.once("Add", "x", both) == inside
        return [graph.add("Mul", inside, both)]

    always = graph.add("Greater", graph.add("Size", "x"), graph.constant(0))
    (first,) = graph.choose(always, COLUMN, then, ["x"])
    (second,) = graph.choose(always, COLUMN, then, ["x"])
    model, found = finish(graph, graph.add("Add", first, second))
    assert found.tolist() == (4 * (X + 2)).tolist()
    assert [node.op_type for node in model.graph.node].count("Add") == 2
    for node in model.graph.node:
        if node.op_type == "If":
            branch = next(attribute.g for attribute in node.attribute if attribute.name == "then_branch")
            assert [inner.op_type for inner in branch.node] == ["Add", "Mul"]
