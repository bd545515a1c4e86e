"""Every head as ONNX, exported from a checkpoint, against the model that the checkpoint holds."""

import numpy as np
import pytest
from export_fixtures import HEADS_ASKED

from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.portable.export import compute, export_model
from albert_tf.portable.interface import make_interface
from albert_tf.portable.settings import ModelExportSettings
from albert_tf.serving.portable_runners import onnx_runner

pytestmark = pytest.mark.parity
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed; pip install 'albert_tf[parity]'")

HEADS = [*HEADS_ASKED, "pretraining"]


@pytest.fixture
def export(checkpoints, tmp_path):
    """A function of a checkpoint's name and settings: the largest error, and a function that runs the file."""

    def run(name, **changes):
        settings = ModelExportSettings(
            init_checkpoint=checkpoints[name], output_dir=tmp_path / "out", format="onnx", **changes
        )
        return export_model(settings), onnx_runner((tmp_path / "out" / "model.onnx").read_bytes())

    return run


@pytest.mark.parametrize("head", HEADS)
def test_a_head_gives_what_the_model_gives_for_other_inputs_than_those_it_was_checked_with(head, export, checkpoints):
    error, run = export(head)
    assert error < 2e-5
    pretrained = load_pretrained(checkpoints[head])
    task, rng = pretrained.task, np.random.default_rng(7)
    labels = 0 if task is None else task.num_labels
    interface = make_interface(task.head if task else head, pretrained.model.config, num_labels=labels, beam=5)
    shape = (4, 2, 11) if head == "multiple_choice" else (4, 11)
    inputs = {"input_ids": rng.integers(120, size=shape, dtype="int32")}
    inputs |= {"input_mask": (rng.random(shape) < 0.7).astype("int32"), "segment_ids": inputs["input_ids"] % 2}
    more = {"p_mask": inputs["segment_ids"], "masked_lm_positions": rng.integers(11, size=(4, 3), dtype="int32")}
    inputs |= {form.name: more[form.name] for form in interface.inputs if form.name in more}
    found, wanted = run(inputs), compute(pretrained.model, inputs, interface)
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], np.asarray(value), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("precision", ["float16", "int8"])
@pytest.mark.parametrize("head", HEADS)
def test_a_head_in_fewer_bytes_is_near_to_the_model(head, precision, export):
    error, _ = export(head, precision=precision)
    assert 0 < error < {"float16": 0.05, "int8": 1.0}[precision]


@pytest.mark.parametrize("head", ["classification", "span_beam", "multiple_choice"])
def test_a_fixed_shape_takes_that_shape_alone(head, export):
    error, run = export(head, batch_size=2, fixed_length=True, max_seq_length=16)
    assert error < 2e-5
    with pytest.raises(Exception, match="Got: 5 Expected: 16"):
        run(_ones((2, 3, 5) if head == "multiple_choice" else (2, 5), head))


def test_the_encoder_of_a_model_with_a_head(export):
    _, run = export("classification", head="encoder")
    outputs = run(_ones((1, 5), "encoder"))
    assert {name: value.shape[0] for name, value in outputs.items()} == {"sequence_output": 1, "pooled_output": 1}


def test_no_words_asked_for_are_no_error(export):
    _, run = export("pretraining")
    inputs = _ones((1, 5), "pretraining") | {"masked_lm_positions": np.zeros((1, 0), "int32")}
    assert run(inputs)["masked_lm_logits"].shape == (1, 0, 120)


def _ones(shape, head):
    inputs = {name: np.ones(shape, "int32") for name in ("input_ids", "input_mask", "segment_ids")}
    return inputs | ({"p_mask": np.zeros(shape, "int32")} if head == "span_beam" else {})
