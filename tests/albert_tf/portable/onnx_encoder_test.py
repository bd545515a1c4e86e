"""The encoder as ONNX against AlbertModel: every way of sharing, every activation; each weight is written once."""

import dataclasses

import numpy as np
import pytest

from albert_tf.config import ACTIVATIONS
from albert_tf.exports.layer_outputs import stacked_layers
from albert_tf.exports.settings import LAYER_OUTPUTS
from albert_tf.models.named_weights import named_weights
from albert_tf.portable.interface import ENCODER, make_interface
from albert_tf.portable.onnx_heads import onnx_model
from albert_tf.portable.verification import sample_inputs
from albert_tf.serving.portable_runners import onnx_runner

pytestmark = pytest.mark.parity
onnx = pytest.importorskip("onnx", reason="onnx is not installed; pip install 'albert_tf[parity]'")

SHARING = [
    {"parameter_sharing": "all"},
    {"parameter_sharing": "attention"},
    {"parameter_sharing": "ffn"},
    {"parameter_sharing": "none"},
    {"num_hidden_groups": 2},
    {"num_hidden_groups": 2, "parameter_sharing": "attention", "num_hidden_layers": 5},
    {"num_hidden_groups": 3, "parameter_sharing": "ffn", "num_hidden_layers": 5},
    {"num_hidden_groups": 3, "inner_group_num": 2, "num_hidden_layers": 4},
    {"inner_group_num": 2, "parameter_sharing": "none"},
]


def both(model, precision="float32"):
    """The contents of the encoder's file, and for each batch (what it gives, what the model gives)."""
    interface = make_interface(ENCODER, model.config)
    weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
    contents = onnx_model(weights, model.config, interface, precision, ("albert_tf", "0"))
    run, results = onnx_runner(contents), []
    for inputs in sample_inputs(interface, model.config):
        outputs = model.albert(inputs)
        found = run(inputs)
        results.append([(found[name], np.asarray(outputs[name])) for name in ("sequence_output", "pooled_output")])
    return contents, [pair for pairs in results for pair in pairs]


@pytest.mark.parametrize("changes", SHARING, ids=lambda changes: " ".join(map(str, changes.values())))
def test_every_way_of_sharing_gives_what_the_model_gives(changes, portable_config, random_model):
    model = random_model(dataclasses.replace(portable_config, **changes))
    contents, pairs = both(model)
    for found, wanted in pairs:
        np.testing.assert_allclose(found, wanted, atol=2e-5)
    initializers = [one.name for one in onnx.load_from_string(contents).graph.initializer]
    weights = [name for name in named_weights(model) if name.startswith("albert/")]
    assert sorted(name for name in initializers if "constant" not in name) == sorted(weights)


@pytest.mark.parametrize("changes", SHARING[::4], ids=lambda changes: " ".join(map(str, changes.values())))
def test_every_layer_and_every_head_where_they_are_asked_for(changes, portable_config, random_model):
    model = random_model(dataclasses.replace(portable_config, **changes))
    interface = make_interface(ENCODER, model.config, layer_outputs=LAYER_OUTPUTS)
    weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
    run = onnx_runner(onnx_model(weights, model.config, interface, "float32", ("albert_tf", "0")))
    for inputs in sample_inputs(interface, model.config):
        found, wanted = run(inputs), stacked_layers(model.albert(inputs, output_attentions=True), LAYER_OUTPUTS)
        for name in LAYER_OUTPUTS:
            np.testing.assert_allclose(found[name], wanted[name], atol=2e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation, portable_config, random_model):
    model = random_model(dataclasses.replace(portable_config, hidden_act=activation))
    for found, wanted in both(model)[1]:
        np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_embeddings_as_wide_as_the_encoder_have_no_projection(portable_config, random_model):
    config = dataclasses.replace(portable_config, embedding_size=portable_config.hidden_size, type_vocab_size=1)
    for found, wanted in both(random_model(config))[1]:
        np.testing.assert_allclose(found, wanted, atol=2e-5)


@pytest.mark.parametrize(("precision", "error"), [("bfloat16", 0.1), ("float16", 0.01), ("int8", 0.5)])
def test_fewer_bytes_are_a_little_less_exact(precision, error, portable_config, random_model):
    model = random_model(portable_config)
    largest = max(float(np.abs(found - wanted).max()) for found, wanted in both(model, precision)[1])
    assert 1e-5 < largest < error


def test_the_file_asks_for_no_more_than_the_opset_that_it_names(portable_config, random_model):
    loaded = onnx.load_from_string(both(random_model(portable_config))[0])
    assert [(one.domain, one.version) for one in loaded.opset_import] == [("", 20)]
    assert {node.domain for node in loaded.graph.node} == {""}
    used = {node.op_type for node in loaded.graph.node}
    assert {"LayerNormalization", "Gelu", "Softmax", "MatMul"} <= used


def test_openvino_reads_the_file(portable_config, random_model):
    openvino = pytest.importorskip("openvino", reason="openvino is not installed; pip install 'albert_tf[parity]'")
    model = random_model(portable_config)
    contents, _ = both(model)
    core = openvino.Core()
    # Its own choice of precision on processors that have bfloat16 is not what is compared.
    compiled = core.compile_model(core.read_model(contents), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for inputs in sample_inputs(make_interface(ENCODER, model.config), model.config):
        found = compiled(inputs)
        outputs = model.albert(inputs)
        for name in ("sequence_output", "pooled_output"):
            np.testing.assert_allclose(found[name], np.asarray(outputs[name]), atol=1e-4)
