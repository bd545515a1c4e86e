"""Exits as ONNX against all exits of the model computed in full and the rule on them; what is left out is counted."""

import dataclasses
import json

import keras
import numpy as np
import pytest

from albert_tf.heads.exits import ExitRule
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.first_layers import first_layers
from albert_tf.portable.export import make_file
from albert_tf.portable.interface import make_interface
from albert_tf.portable.verification import largest_error
from albert_tf.serving.portable_runners import openvino_runner

pytestmark = pytest.mark.parity
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed; pip install 'albert_tf[parity]'")

LABELS = {"classification": 3, "multi_label": 3, "regression": 1}
RULES = {
    "confidence": ExitRule("classification", confidence=0.9),
    "later confidence": ExitRule("classification", confidence=0.9, min_layers=2),
    "patience": ExitRule("classification", patience=1),
    "later patience": ExitRule("classification", patience=1, min_layers=3),
    "labels": ExitRule("multi_label", patience=1),
    "sure_labels": ExitRule("multi_label", confidence=0.6),
    "mean": ExitRule("classification", confidence=0.7, pooling="mean"),
    "mean, later patience": ExitRule("classification", patience=1, min_layers=3, pooling="mean"),
    "number": ExitRule("regression", patience=1, difference=0.6),
}
SHARED, UNSHARED = {}, {"parameter_sharing": "none"}


@pytest.fixture(scope="module")
def make_model(portable_config):
    """A function of a rule and changes of the config to a model with exits, whose answers change between layers."""

    def make(rule, **changes):
        keras.utils.set_random_seed(1)
        sizes = {"num_hidden_layers": 5, "num_hidden_groups": 1, "initializer_range": 0.5}
        config = dataclasses.replace(portable_config, **sizes | changes)
        return make_finetuning_model(config, rule.head, LABELS[rule.head], early_exit=True, exit_pooling=rule.pooling)

    return make


def write(model, rule, precision="float32", **shape):
    """(contents of the file, function that runs it, its interface)."""
    interface = make_interface(rule.head, model.config, num_labels=LABELS[rule.head], has_exits=True, **shape)
    return *make_file("onnx", model, interface, precision, rule=rule), interface


def all_logits(model, inputs):
    outputs = model(inputs, all_exits=True)
    return np.concatenate([outputs["exit_logits"], outputs["logits"][:, None]], axis=1)


def inputs_of(config, batch, length):
    rng = np.random.default_rng(batch)
    lengths = rng.integers(1, length + 1, batch)
    ids = rng.integers(config.vocab_size, size=(batch, length))
    values = {"input_ids": ids, "input_mask": np.arange(length) < lengths[:, None], "segment_ids": ids % 2}
    return {name: value.astype("int32") for name, value in values.items()}


@pytest.mark.parametrize("changes", [SHARED, UNSHARED, {"num_hidden_layers": 6, "num_hidden_groups": 3}])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_each_text_has_the_answer_and_the_layers_of_the_exit_it_leaves_by(rule, changes, make_model):
    model = make_model(rule, **changes)
    contents, run, _ = write(model, rule)
    for one in (run, openvino_runner(contents)):
        left = []
        for batch, length in ((1, 7), (17, 12)):
            inputs = inputs_of(model.config, batch, length)
            logits, found = all_logits(model, inputs), one(inputs)
            layers = rule.layers_of(logits)
            assert found["layers"].dtype == np.int32
            assert found["layers"].tolist() == layers.tolist()
            np.testing.assert_allclose(found["logits"], logits[np.arange(batch), layers - 1], atol=2e-5, rtol=1e-5)
            left += layers.tolist()
        assert len(set(left)) > 1


@pytest.mark.parametrize("changes", [SHARED, UNSHARED])
@pytest.mark.parametrize("kind", ["confidence", "patience"])
def test_layers_that_no_text_needs_are_not_computed_and_texts_that_left_are_not_in_them(
    kind, changes, make_model, tmp_path
):
    rule = RULES[kind]
    model = make_model(rule, **changes)
    contents, _, _ = write(model, rule)
    inputs = inputs_of(model.config, 17, 12)
    layers = rule.layers_of(all_logits(model, inputs))
    chosen = np.flatnonzero(layers < model.config.num_hidden_layers)
    inputs, layers = {name: array[chosen] for name, array in inputs.items()}, layers[chosen]
    options = onnxruntime.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "profile")
    session = onnxruntime.InferenceSession(contents, options, providers=["CPUExecutionProvider"])
    session.run(None, inputs)
    with open(session.end_profiling()) as file:
        events = [event["args"] for event in json.load(file) if event["name"].endswith("kernel_time")]
    # Of attention: [b, N, S, S], and [b, N, S] of [CLS] alone.
    shapes = [next(iter(event["input_type_shape"][0].values())) for event in events if event["op_name"] == "Softmax"]
    firsts, others = ([shape[0] for shape in shapes if len(shape) == axes] for axes in (3, 4))
    inside = [int(np.sum(layers >= layer)) for layer in range(1, max(layers) + 2)]
    if kind == "confidence":
        assert (firsts, others) == ([], inside[:-1])
    else:
        # Nobody can leave after the first layer; from the second on [CLS] comes first, the rest for those that stay.
        assert (firsts, others) == (inside[1:-1], [inside[0], *inside[2:-1]])
    assert max(layers) < model.config.num_hidden_layers


@pytest.mark.parametrize("precision", ["float16", "bfloat16", "int8"])
@pytest.mark.parametrize("changes", [SHARED, UNSHARED])
def test_fewer_bytes_are_near_to_the_exit_that_was_taken(precision, changes, make_model):
    rule = RULES["confidence"]
    model = make_model(rule, **changes)
    _, run, interface = write(model, rule, precision)

    def expected(inputs):
        return model(dict(inputs), all_exits=True)

    most = {"float16": 0.1, "bfloat16": 0.3, "int8": 2.0}[precision]
    assert 0 < largest_error(run, expected, interface, model.config, most, rule) < most
    with pytest.raises(RuntimeError, match="classification: logits differs"):
        largest_error(run, expected, interface, model.config, 1e-6, rule)


def test_another_rule_is_another_file_and_is_noticed(make_model):
    model = make_model(RULES["patience"])
    _, run, interface = write(model, RULES["patience"])

    def expected(inputs):
        return model(dict(inputs), all_exits=True)

    assert largest_error(run, expected, interface, model.config, 1e-4, RULES["patience"]) < 1e-4
    with pytest.raises(RuntimeError, match="classification: layers differs"):
        largest_error(run, expected, interface, model.config, 1e-4, RULES["confidence"])


@pytest.mark.parametrize("pooling", ["pooled", "mean"])
def test_the_first_layers_alone_read_what_their_exit_reads(pooling, make_model):
    rule = ExitRule("classification", confidence=0.7, pooling=pooling)
    model = make_model(rule)
    first = first_layers(model, 2)
    interface = make_interface(rule.head, first.config, num_labels=3)
    inputs = inputs_of(model.config, 3, 8)
    expected = all_logits(model, inputs)[:, 1]
    for kind in ("onnx", "litert"):
        _, run = make_file(kind, first, interface, "float32")
        np.testing.assert_allclose(run(inputs)["logits"], expected, atol=2e-5, rtol=1e-5)


def test_a_fixed_shape_has_exits_too(make_model):
    rule = RULES["confidence"]
    model = make_model(rule)
    _, run, interface = write(model, rule, batch=3, length=8)
    assert [form.axes for form in interface.outputs] == [(3, 3), (3,)]
    inputs = inputs_of(model.config, 3, 8)
    assert run(inputs)["layers"].tolist() == rule.layers_of(all_logits(model, inputs)).tolist()
