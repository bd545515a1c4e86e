"""The settings of an export in any format: which precision is for which, and what a SavedModel has no use for."""

import pytest

from albert_tf.exports.settings import ExportSettings
from albert_tf.portable.settings import FORMATS, TOLERANCES, ModelExportSettings
from albert_tf.runtime.errors import InputError

PLACES = {"init_checkpoint": "run", "output_dir": "out"}


@pytest.mark.parametrize(("name", "precision"), [("saved_model", "float32"), ("onnx", "float32"), ("litert", "int8")])
def test_each_format_has_a_precision_of_its_own_where_none_is_given(name, precision):
    assert ModelExportSettings(format=name, **PLACES).chosen_precision == precision


def test_what_is_not_read_by_programs_without_tensorflow_is_refused_with_what_is():
    for name, wrong in (("saved_model", "float16"), ("litert", "bfloat16"), ("saved_model", "int8")):
        with pytest.raises(InputError, match=f"precision must be one of .* with --format={name}. Received '{wrong}'"):
            ModelExportSettings(format=name, precision=wrong, **PLACES)
    allowed = {
        "saved_model": ("float32", "bfloat16"),
        "onnx": tuple(TOLERANCES),
        "litert": ("float32", "float16", "int8"),
    }
    assert allowed.keys() == set(FORMATS)
    for name, precisions in allowed.items():
        assert [ModelExportSettings(format=name, precision=one, **PLACES).chosen_precision for one in precisions] == [
            *precisions
        ]


@pytest.mark.parametrize("given", [{"head": "encoder"}, {"batch_size": 1}, {"fixed_length": True}])
def test_a_saved_model_takes_no_shape_and_no_head(given):
    (name,) = given
    with pytest.raises(InputError, match=f"{name} is for --format=onnx"):
        ModelExportSettings(format="saved_model", **PLACES, **given)
    assert getattr(ModelExportSettings(format="onnx", **PLACES, **given), name)


def test_layers_are_for_a_saved_model_and_for_the_encoder_as_onnx():
    asked = {"output_hidden_states": True, "output_attentions": True, **PLACES}
    assert ModelExportSettings(format="onnx", head="encoder", **asked).layer_outputs == ("hidden_states", "attentions")
    assert ModelExportSettings(format="saved_model", **asked).for_saved_model().output_attentions
    for name, head in (("onnx", None), ("onnx", "pretraining"), ("litert", "encoder")):
        with pytest.raises(
            InputError, match=f"^--output_hidden_states is for .* Received --format={name}, --head={head}"
        ):
            ModelExportSettings(format=name, head=head, **asked)


def test_a_batch_has_at_least_one_sequence():
    with pytest.raises(InputError, match="batch_size must be at least 1. Received 0"):
        ModelExportSettings(format="onnx", batch_size=0, **PLACES)


def test_the_settings_of_a_saved_model_are_the_same_but_for_its_format():
    settings = ModelExportSettings(format="saved_model", precision="bfloat16", max_seq_length=9, **PLACES)
    wanted = ExportSettings(precision="bfloat16", max_seq_length=9, **PLACES)
    assert settings.for_saved_model() == wanted
