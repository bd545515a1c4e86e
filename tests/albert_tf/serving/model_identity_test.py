"""A model is the same one for as long as its weights are, wherever it lies."""

import json
import shutil

import pytest

from albert_tf.serving.model_identity import identify_model


def test_an_export_is_known_by_the_file_that_has_all_checksums(exported, exports, tmp_path):
    copy = shutil.copytree(exported, tmp_path / "copy")
    assert identify_model(str(copy)) == identify_model(str(exported))
    assert list(identify_model(str(copy))) == ["export.json"]
    assert identify_model(str(copy)) != identify_model(exports["finetuned"])


def test_a_run_is_known_by_the_checkpoint_that_stands_for_it(export_checkpoint, tmp_path):
    run = shutil.copytree(export_checkpoint, tmp_path / "run")
    before = identify_model(str(run))
    (run / "train_log.jsonl").write_text("{}\n")
    assert identify_model(str(run)) == before == identify_model(str(run / "checkpoint-00000001"))
    assert list(before) == ["checkpoint.json"]


def test_what_other_programs_wrote_is_known_by_its_files(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"a")
    (tmp_path / "inner").mkdir()
    before = identify_model(str(tmp_path))
    assert list(before) == ["model.safetensors"]
    (tmp_path / "model.safetensors").write_bytes(b"b")
    assert identify_model(str(tmp_path)) != before
    (tmp_path / "model.ckpt-best.index").write_bytes(b"c")
    assert list(identify_model(str(tmp_path / "model.ckpt-best"))) == ["model.ckpt-best.index"]


def test_the_modules_of_sentence_transformers_count_and_what_people_read_does_not(tmp_path):
    modules = [{"path": ""}, {"path": "2_Dense"}, {"path": "../above"}, {"path": "missing"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "2_Dense").mkdir()
    (tmp_path / "2_Dense" / "model.safetensors").write_bytes(b"a")
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"b")
    before = identify_model(str(tmp_path))
    assert list(before) == ["modules.json", "2_Dense/model.safetensors"]
    (tmp_path / "README.md").write_text("a card")
    assert identify_model(str(tmp_path)) == before
    (tmp_path / "2_Dense" / "model.safetensors").write_bytes(b"c")
    assert identify_model(str(tmp_path)) != before


@pytest.mark.parametrize("contents", ["", "{}", "[1]", '[{"path": 5}]', '[{"path": null}]'])
def test_a_list_of_modules_that_is_none_is_for_others_to_complain_of(tmp_path, contents):
    (tmp_path / "modules.json").write_text(contents)
    assert list(identify_model(str(tmp_path))) == ["modules.json"]
