"""LiteRT files of several heads, run by ai-edge-litert, against the model; their sizes, shapes and operations."""

import dataclasses

import numpy as np
import pytest

from albert_tf.exports.served_copy import serving_copy
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.portable import litert_file
from albert_tf.portable.export import compute
from albert_tf.portable.interface import ENCODER, PRETRAINING, make_interface
from albert_tf.portable.litert_file import litert_model
from albert_tf.portable.verification import largest_error
from albert_tf.runtime.errors import InputError
from albert_tf.serving.portable_runners import litert_runner

pytestmark = pytest.mark.parity
litert = pytest.importorskip(
    "ai_edge_litert.interpreter", reason="ai-edge-litert is not installed; pip install 'albert_tf[parity]'"
)

ERRORS = {"float32": 2e-5, "float16": 0.05, "int8": 1.0}


def convert(model, interface, precision="float32"):
    return litert_model(
        serving_copy(model), lambda copy, inputs: compute(copy, inputs, interface), interface, precision
    )


def error_of(contents, model, interface, tolerance):
    run = litert_runner(contents)
    return largest_error(run, lambda inputs: compute(model, inputs, interface), interface, model.config, tolerance)


@pytest.mark.parametrize("precision", ERRORS)
def test_the_heads_of_pretraining_in_every_precision(precision, portable_config, random_model):
    model = random_model(portable_config)
    interface = make_interface(PRETRAINING, model.config)
    assert error_of(convert(model, interface, precision), model, interface, ERRORS[precision]) < ERRORS[precision]


@pytest.mark.parametrize("head", ["multiple_choice", "span", "span_beam", "token_classification", "span_categories"])
def test_a_head_in_float32(head, portable_config):
    model = make_finetuning_model(portable_config, head, 3)
    interface = make_interface(head, model.config, num_labels=3, beam=5)
    assert error_of(convert(model, interface), model, interface, 1e-4) < 2e-5


@pytest.mark.parametrize(
    "changes",
    [
        {"parameter_sharing": "attention"},
        {"parameter_sharing": "ffn", "hidden_act": "gelu_erf"},
        {"parameter_sharing": "none", "hidden_act": "relu"},
        {"num_hidden_groups": 2, "inner_group_num": 2},
    ],
    ids=lambda changes: " ".join(map(str, changes.values())),
)
def test_every_way_of_sharing_gives_what_the_model_gives(changes, portable_config, random_model):
    model = random_model(dataclasses.replace(portable_config, **changes))
    interface = make_interface(ENCODER, model.config)
    assert error_of(convert(model, interface), model, interface, 1e-4) < 1e-4


def test_groups_of_blocks_are_stored_once_each(portable_config, random_model):
    wide = dataclasses.replace(portable_config, hidden_size=64, intermediate_size=256, num_hidden_layers=4)
    sizes = {}
    for groups in (1, 2, 4):
        model = random_model(dataclasses.replace(wide, num_hidden_groups=groups))
        interface = make_interface(ENCODER, model.config)
        contents = convert(model, interface)
        assert error_of(contents, model, interface, 1e-4) < 1e-4
        sizes[groups] = len(contents)
    block = 4 * (4 * 64 * 64 + 2 * 64 * 256)
    assert sizes[2] - sizes[1] == pytest.approx(block, rel=0.2)
    assert sizes[4] - sizes[2] == pytest.approx(2 * block, rel=0.2)


def test_a_fixed_shape_is_the_files_own_and_no_operation_is_tensorflows(portable_config):
    model = make_finetuning_model(portable_config, "classification", 2)
    interface = make_interface("classification", model.config, num_labels=2, batch=2, length=8)
    interpreter = litert.Interpreter(model_content=convert(model, interface, "int8"))
    assert {tuple(one["shape_signature"]) for one in interpreter.get_input_details()} == {(2, 8)}
    assert {one["dtype"] for one in interpreter.get_input_details()} == {np.int32}
    assert not [one["op_name"] for one in interpreter._get_ops_details() if one["op_name"].startswith("Flex")]


def test_weights_that_no_file_can_hold_are_refused(portable_config, random_model, monkeypatch):
    monkeypatch.setattr(litert_file, "_LARGEST_FILE", 16 << 20)
    model = random_model(portable_config)
    with pytest.raises(InputError, match="a file of LiteRT holds less than 2 GiB"):
        convert(model, make_interface(ENCODER, model.config))
