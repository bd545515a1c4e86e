"""Inputs and outputs of each head against what the models say of themselves."""

import keras
import numpy as np
import pytest

from albert_tf.inputs.finetuning_features import HEADS
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.portable.interface import make_interface
from albert_tf.portable.verification import sample_inputs

LABELS, BEAM = 3, 5


@pytest.fixture
def interface_of(portable_config):
    """A function of a head and what is fixed that makes its interface."""

    def make(head, **fixed):
        labels = {"regression": 1}.get(head, LABELS)
        return make_interface(head, portable_config, num_labels=labels, beam=BEAM, **fixed)

    return make


@pytest.mark.parametrize("head", HEADS)
def test_inputs_and_outputs_are_those_of_the_model(head, interface_of, portable_config):
    model = make_finetuning_model(portable_config, head, LABELS)
    interface = interface_of(head, batch=3, length=16)
    (inputs,) = sample_inputs(interface, portable_config)
    outputs = model(inputs)
    assert set(outputs) == {form.name for form in interface.outputs}
    for form in interface.outputs:
        sizes = [{"options": 3}.get(axis, axis) for axis in form.axes]
        assert list(outputs[form.name].shape) == sizes, form.name
        assert keras.backend.standardize_dtype(outputs[form.name].dtype) == form.dtype


def test_free_axes_have_names_and_fixed_ones_numbers(interface_of):
    (ids, *_), (logits,) = interface_of("token_classification").inputs, interface_of("token_classification").outputs
    assert (ids.axes, logits.axes) == (("batch", "length"), ("batch", "length", LABELS))
    fixed = interface_of("token_classification", batch=2, length=8)
    assert fixed.inputs[0].to_dict() == {"name": "input_ids", "dtype": "int32", "shape": [2, 8]}


def test_a_beam_is_no_wider_than_a_fixed_length(interface_of):
    assert interface_of("span_beam", length=3).outputs[0].axes == ("batch", 3)
    assert interface_of("span_beam").outputs[0].axes == ("batch", "beam")


def test_pretraining_without_order_and_an_encoder_without_a_pooler_have_one_output(interface_of):
    assert [form.name for form in interface_of("pretraining", has_order=False).outputs] == ["masked_lm_logits"]
    assert [form.name for form in interface_of("encoder", has_pooler=False).outputs] == ["sequence_output"]


def test_no_head_of_that_name(interface_of):
    with pytest.raises(ValueError, match="Received head='poetry'"):
        interface_of("poetry")


def test_samples_have_padding_and_stay_in_range(interface_of, portable_config):
    batches = sample_inputs(interface_of("pretraining"), portable_config)
    assert len(batches) == 3
    for batch in batches:
        assert batch["input_mask"].min() == 0
        assert batch["input_ids"].max() < portable_config.vocab_size
        assert batch["masked_lm_positions"].max() < batch["input_ids"].shape[1]
        assert {array.dtype for array in batch.values()} == {np.dtype("int32")}
