"""Nodes and initializers of ONNX against NumPy, in each precision: products, lookups, what is written once."""

import numpy as np
import pytest

from albert_tf.portable import onnx_graph
from albert_tf.portable.interface import Interface, TensorForm
from albert_tf.portable.onnx_graph import OnnxGraph
from albert_tf.runtime.errors import InputError
from albert_tf.serving.portable_runners import onnx_runner

pytestmark = pytest.mark.parity
onnx = pytest.importorskip("onnx", reason="onnx is not installed; pip install 'albert_tf[parity]'")

RNG = np.random.default_rng(0)
KERNEL, TABLE = RNG.normal(size=(6, 4)).astype("float32"), RNG.normal(size=(5, 6)).astype("float32")
BIAS = np.arange(4, dtype="float32")
WEIGHTS = {"kernel": KERNEL, "other": 10 * KERNEL, "table": TABLE, "bias": BIAS}
X = RNG.normal(size=(2, 3, 6)).astype("float32")
ERRORS = {"float32": 1e-6, "float16": 5e-3, "int8": 0.1}


def finish(graph, result, axes, **inputs):
    """The bytes of a graph with one result, and that result for these inputs."""
    forms = [TensorForm(name, str(array.dtype), array.shape) for name, array in inputs.items()]
    interface = Interface("test", tuple(forms), (TensorForm("result", "float32", axes),))
    contents = graph.to_model(interface, {"result": result}, ("albert_tf", "0"))
    return contents, onnx_runner(contents)(inputs)["result"]


@pytest.mark.parametrize("precision", ERRORS)
def test_a_product_with_a_bias(precision):
    graph = OnnxGraph(WEIGHTS, precision)
    _, found = finish(graph, graph.product("x", graph.kernel("kernel"), graph.vector("bias")), (2, 3, 4), x=X)
    np.testing.assert_allclose(found, X @ KERNEL + BIAS, atol=ERRORS[precision])


@pytest.mark.parametrize("precision", ERRORS)
def test_columns_of_unlike_size_side_by_side_keep_their_scales(precision):
    graph = OnnxGraph(WEIGHTS, precision)
    both = graph.side_by_side([graph.kernel("kernel"), graph.kernel("other")])
    _, found = finish(graph, graph.product("x", both), (2, 3, 8), x=X)
    np.testing.assert_allclose(found[..., :4], X @ KERNEL, atol=ERRORS[precision])
    np.testing.assert_allclose(found[..., 4:], X @ (10 * KERNEL), atol=10 * ERRORS[precision])


@pytest.mark.parametrize("precision", ERRORS)
def test_rows_of_a_kernel(precision):
    graph = OnnxGraph(WEIGHTS, precision)
    _, found = finish(graph, graph.product("x", graph.rows(graph.kernel("kernel"), 2, 6)), (2, 3, 4), x=X[..., 2:])
    np.testing.assert_allclose(found, X[..., 2:] @ KERNEL[2:], atol=ERRORS[precision])


@pytest.mark.parametrize("precision", ERRORS)
def test_a_table_is_looked_up_and_multiplied_by_and_written_once(precision):
    ids = np.array([[4, 0, 1]], "int32")
    graph = OnnxGraph(WEIGHTS, precision)
    rows = graph.lookup(graph.table("table"), "ids")
    contents, found = finish(graph, graph.product(rows, graph.transposed(graph.table("table"))), (1, 3, 5), ids=ids)
    np.testing.assert_allclose(found, TABLE[ids] @ TABLE.T, atol=3 * ERRORS[precision])
    initializers = onnx.load_from_string(contents).graph.initializer
    (table,) = [one for one in initializers if one.name == "table"]
    assert len(table.raw_data) == TABLE.size * {"float32": 4, "float16": 2, "int8": 1}[precision]


def test_bytes_at_their_largest_do_not_saturate():
    """On processors that add two products of bytes up in 16 bits, 127 in place of _INT8_MOST loses a third here."""
    graph = OnnxGraph({"kernel": np.ones((64, 2), "float32")}, "int8")
    x = np.ones((1, 64), "float32")
    _, found = finish(graph, graph.product("x", graph.kernel("kernel")), (1, 2), x=x)
    np.testing.assert_allclose(found, 64.0, rtol=1e-2)


def test_a_row_far_off_the_others_and_one_of_zeros_take_nothing_from_them():
    x = np.concatenate([X, 1000 * X[:1], 0 * X[:1]])
    graph = OnnxGraph({"kernel": KERNEL}, "int8")
    _, found = finish(graph, graph.product("x", graph.kernel("kernel")), (4, 3, 4), x=x)
    np.testing.assert_allclose(found[:2], X @ KERNEL, atol=ERRORS["int8"])
    assert (found[3] == 0).all()


def test_a_column_of_zeros_stays_zeros():
    kernel = KERNEL.copy()
    kernel[:, 1] = 0
    graph = OnnxGraph({"kernel": kernel}, "int8")
    _, found = finish(graph, graph.product("x", graph.kernel("kernel")), (2, 3, 4), x=X)
    assert (found[..., 1] == 0).all()
    assert (found[..., 0] != 0).any()


def test_what_float16_cannot_hold_is_refused_by_its_name():
    graph = OnnxGraph({"kernel": np.full((2, 2), 1e5, "float32")}, "float16")
    with pytest.raises(InputError, match="precision=float16: kernel has values beyond"):
        graph.kernel("kernel")


def test_weights_that_no_file_can_hold_are_refused(monkeypatch):
    monkeypatch.setattr(onnx_graph, "_LARGEST_FILE", 16 << 20)
    graph = OnnxGraph(WEIGHTS, "float32")
    with pytest.raises(InputError, match="the weights take 0.0 GiB, a file of ONNX holds less than 2 GiB"):
        finish(graph, graph.product("x", graph.kernel("kernel")), (2, 3, 4), x=X)
