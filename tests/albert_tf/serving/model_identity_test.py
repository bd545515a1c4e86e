"""A model is the same one for as long as its weights are, wherever it lies."""

import shutil

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
