"""ONNX files by OpenVINO and by onnxruntime: the same numbers, the same calls, whichever is there."""

import sys
import threading

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.serving import portable_runners
from albert_tf.serving.portable_model import PortableModel
from albert_tf.serving.portable_runners import best_onnx_runner, onnx_runner, openvino_runner


@pytest.mark.parametrize(
    ("installed", "precision", "has_branches", "expected"),
    [
        ("openvino onnxruntime", "float32", False, "openvino"),
        ("openvino onnxruntime", "bfloat16", False, "openvino"),
        ("openvino onnxruntime", "float16", False, "openvino"),
        ("openvino onnxruntime", "int8", False, "onnxruntime"),
        ("onnxruntime", "float32", False, "onnxruntime"),
        ("onnxruntime", "bfloat16", False, "onnxruntime"),
        ("openvino onnxruntime", "float32", True, "onnxruntime"),
        ("openvino", "float32", True, "openvino"),
        ("openvino onnxruntime", "float16", True, "openvino"),
        ("openvino onnxruntime", "bfloat16", True, "openvino"),
    ],
)
def test_openvino_runs_what_is_there_for_it(installed, precision, has_branches, expected, monkeypatch):
    monkeypatch.setattr(portable_runners, "is_installed", lambda name: name in installed.split())
    monkeypatch.setattr(portable_runners, "openvino_runner", lambda *args: ("openvino", args))
    monkeypatch.setattr(portable_runners, "onnx_runner", lambda *args: ("onnxruntime", args))
    name, args = best_onnx_runner("file", 2, "it", precision, has_branches)
    assert name == expected
    assert args == (("file", 2, "it", precision) if expected == "openvino" else ("file", 2, "it"))


def test_without_either_the_pip_line_is_named(monkeypatch):
    monkeypatch.setattr(portable_runners, "is_installed", lambda name: False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"a model needs onnxruntime: pip install 'albert_tf\[onnx\]'"):
        best_onnx_runner("file", needed_by="a model")


@pytest.mark.parity
@pytest.mark.parametrize(("precision", "atol"), [("float32", 1e-4), ("float16", 0.02), ("bfloat16", 0.3)])
def test_both_compute_the_same(precision, atol, portable_export):
    file = portable_export("classification", "onnx", precision=precision) + "/model.onnx"
    with open(file, "rb") as opened:
        ours, theirs = openvino_runner(opened.read(), 1, None, precision), onnx_runner(file, 1)
    rng = np.random.default_rng(0)
    # Shapes that change, as texts do.
    for rows, length in ((1, 7), (3, 12), (2, 7), (1, 1)):
        inputs = {"input_ids": rng.integers(5, 100, (rows, length), dtype=np.int32)}
        inputs |= {"input_mask": np.ones_like(inputs["input_ids"]), "segment_ids": np.zeros_like(inputs["input_ids"])}
        found, expected = ours(inputs), theirs(inputs)
        assert expected.keys() <= found.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, atol=atol)


@pytest.mark.parity
def test_threads_share_one_runner_and_results_stay(portable_export):
    model = PortableModel(portable_export("classification", "onnx"), num_threads=1)
    assert model([[5, 6]]).keys() == {"logits"}
    batches = [np.full((1 + number % 3, 5 + number % 4), 7 + number) for number in range(12)]
    expected = [model(batch)["logits"] for batch in batches]
    kept = [array.copy() for array in expected]
    found = [None] * len(batches)

    def ask(number):
        found[number] = model(batches[number])["logits"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, array in enumerate(found):
        np.testing.assert_allclose(array, expected[number], atol=1e-6)
        np.testing.assert_array_equal(expected[number], kept[number])
