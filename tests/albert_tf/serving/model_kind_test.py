"""Recognising a model by what lies in its folder; nothing, or a part of a model, is said in one line."""

import pytest

from albert_tf.exports.export_file import write_export
from albert_tf.runtime.errors import InputError
from albert_tf.serving.model_kind import CHECKPOINT, PORTABLE, SAVED_MODEL, kind_of, models_of


@pytest.fixture
def portable(tmp_path):
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "model.onnx").write_bytes(b"a model")
    write_export(str(tmp_path / "served"), {"model_format": "onnx"}, place="")
    return tmp_path / "served"


def test_each_kind_is_known_by_its_files(portable, tmp_path):
    for name, file in (("saved", "saved_model.pb"), ("theirs", "config.json"), ("run", "checkpoint-00000001")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_bytes(b"")
    # As on the hub, where an ONNX file of somebody lies beside the weights.
    (tmp_path / "theirs" / "model.onnx").write_bytes(b"")
    (tmp_path / "model.ckpt-best.index").write_bytes(b"")
    kinds = {"served": PORTABLE, "saved": SAVED_MODEL, "theirs": CHECKPOINT, "run": CHECKPOINT}
    kinds |= {"model.ckpt-best": CHECKPOINT}
    assert {name: kind_of(str(tmp_path / name)) for name in kinds} == kinds
    assert kind_of(f"{portable}/") == PORTABLE
    assert kind_of("hf://somebody/albert") == CHECKPOINT


def test_several_models_have_commas_between_also_of_published_names(portable):
    for first in ("hf://somebody/albert@refs/pr/1", "official://albert_base_v2", str(portable)):
        assert models_of(f"{first},{portable}") == [first, str(portable)]


def test_a_damaged_export_is_still_one(portable):
    (portable / "export.json").write_text("{")
    assert kind_of(str(portable)) == PORTABLE


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "nowhere: no model here: there is nothing; give an export"),
        ("empty", "empty: no model here: there is an empty folder"),
        ("alone", "alone/model.tflite has no export.json of export_model beside it"),
        ("alone/model.tflite", "alone/model.tflite has no export.json of export_model beside it"),
        ("served/model.onnx", "is a part of an export; give its folder, .*served$"),
    ],
)
def test_what_is_no_model_is_one_line_that_says_what_is_there(path, message, portable, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "model.tflite").write_bytes(b"")
    with pytest.raises(InputError, match=message) as error:
        kind_of(str(tmp_path / path))
    assert "\n" not in str(error.value)
