"""Writing a SavedModel: it stands alone, appears whole or not at all, and refuses what does not fit."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.exports import saved_model, verification
from albert_tf.exports.export_file import gains_by_frozen_weights
from albert_tf.exports.export_source import tokenizer_for
from albert_tf.exports.saved_model import export_saved_model
from albert_tf.exports.settings import ExportSettings
from albert_tf.layers.attention import merge_projections
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning

MAX_SEQ_LENGTH = 20

_STAND_ALONE = """
import json, sys
import tensorflow as tf
import tensorflow_text
loaded = tf.saved_model.load(sys.argv[1])
outputs = loaded.signatures["mlm_from_text"](text=tf.constant(["babe [MASK] dika", "[MASK]"]))
info = loaded.signatures["tokenization_info"]()
print(json.dumps({
    "logits": outputs["mlm_logits"].numpy().tolist(),
    "weights": outputs["mlm_weights"].numpy().tolist(),
    "vocabulary": info["vocab_file"].numpy().decode(),
    "ours": [name for name in sys.modules if name.startswith("albert_tf")],
}))
"""


def folder_contents(folder):
    return sorted(os.listdir(folder))


@pytest.mark.slow
def test_a_moved_export_works_where_only_tensorflow_and_its_text_operations_are_known(
    exported, export_signatures, tmp_path
):
    expected = export_signatures["mlm_from_text"](text=tf.constant(["babe [MASK] dika", "[MASK]"]))
    moved = tmp_path / "elsewhere" / "model"
    shutil.copytree(exported, moved, ignore=shutil.ignore_patterns("assets.extra"), dirs_exist_ok=True)
    result = subprocess.run(
        [sys.executable, "-c", _STAND_ALONE, str(moved)], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    found = json.loads(result.stdout.splitlines()[-1])
    assert found["ours"] == []
    assert found["vocabulary"] == str(moved / "assets" / "small.model")
    assert found["weights"] == [[1.0], [1.0]]
    assert np.array_equal(np.array(found["logits"], np.float32), expected["mlm_logits"])


def test_the_weights_keep_the_names_of_the_checkpoint_but_for_the_merged_projections(exported, export_checkpoint):
    names = [name for name, _ in tf.train.list_variables(str(exported / "variables" / "variables"))]
    stored = [name for name, _ in tf.train.list_variables(f"{export_checkpoint}/checkpoint-00000001/model")]
    suffix = "/.ATTRIBUTES/VARIABLE_VALUE"
    assert sorted(
        name.removeprefix("weights/").removesuffix(suffix).replace(".S", "/") for name in names if suffix in name
    ) == sorted(merge_projections(dict.fromkeys(stored, np.zeros(1))))


def test_what_was_exported_is_written_beside_the_assets(exported, exported_weights, export_tokenizer):
    about = json.loads((exported / "assets.extra" / "export.json").read_text())
    assert about["vocabulary"] == {"file": "small.model", "sha256": export_tokenizer.sha256, "size": 120}
    assert about["cleaning"]["do_lower_case"] is True
    assert (about["max_seq_length"], about["sentence_task"]) == (20, "sop")
    assert AlbertConfig.from_json_file(str(exported / "assets.extra" / "albert_config.json")) == exported_weights.config


@pytest.mark.slow
def test_an_export_in_bfloat16_has_such_weights_and_says_nearly_the_same(
    exported, export_signatures, export_checkpoint, export_vocabulary, tmp_path
):
    folder = tmp_path / "half"
    settings = ExportSettings(
        init_checkpoint=str(export_checkpoint),
        output_dir=str(folder),
        spm_model_file=export_vocabulary,
        max_seq_length=MAX_SEQ_LENGTH,
        precision="bfloat16",
    )
    assert 1e-4 < export_saved_model(settings) < 0.1
    assert (gains_by_frozen_weights(folder), gains_by_frozen_weights(exported)) == (True, False)
    stored = tf.train.load_checkpoint(str(folder / "variables" / "variables")).get_variable_to_dtype_map()
    assert {dtype for name, dtype in stored.items() if name.startswith("weights/")} == {tf.bfloat16}
    texts = tf.constant(["babe [MASK] dika", "[MASK]"])
    found = tf.saved_model.load(str(folder)).signatures["mlm_from_text"](text=texts)
    expected = export_signatures["mlm_from_text"](text=texts)
    for name in ("sequence_output", "pooled_output", "mlm_logits"):
        assert found[name].dtype == tf.float32
        np.testing.assert_allclose(found[name], expected[name], atol=0.05)


@pytest.mark.slow
def test_a_model_without_a_sentence_task_replaces_an_export_and_has_no_sop(
    exported, export_signatures, exported_weights, export_vocabulary, tmp_path, save_checkpoint, monkeypatch
):
    run, output_dir, saved = (
        save_checkpoint(tmp_path / "run", exported_weights, None, "none"),
        tmp_path / "saved_model",
        [],
    )
    shutil.copytree(exported, output_dir)
    (output_dir / "old").write_text("of the export that is replaced")

    def save(module, folder, signatures):  # tracing takes seconds, so an earlier result stands in for this one
        saved.extend(signatures)
        shutil.copytree(exported, folder, ignore=shutil.ignore_patterns("assets.extra"), dirs_exist_ok=True)

    monkeypatch.setattr(saved_model.tf.saved_model, "save", save)
    export_saved_model(
        ExportSettings(
            init_checkpoint=run,
            spm_model_file=export_vocabulary,
            output_dir=f"{output_dir}/",
            max_seq_length=MAX_SEQ_LENGTH,
            overwrite=True,
        )
    )
    assert set(saved) == set(export_signatures) - {"sop", "sop_from_text"}
    assert folder_contents(tmp_path) == ["run", "saved_model"]
    assert folder_contents(output_dir) == folder_contents(exported)


def test_an_export_that_fails_leaves_nothing_and_takes_nothing_away(
    exported, export_checkpoint, export_vocabulary, tmp_path, monkeypatch
):
    output_dir = tmp_path / "saved_model"
    shutil.copytree(exported, output_dir)
    before = (output_dir / "saved_model.pb").read_bytes()

    def fill_the_disk(module, folder, signatures):
        os.makedirs(folder, exist_ok=True)
        raise tf.errors.ResourceExhaustedError(None, None, "{{node S}} no space left [Op:S]\non device")

    monkeypatch.setattr(saved_model.tf.saved_model, "save", fill_the_disk)
    with pytest.raises(OSError, match=r"saved_model: cannot be written: no space left$"):
        export_saved_model(
            ExportSettings(
                init_checkpoint=export_checkpoint,
                spm_model_file=export_vocabulary,
                output_dir=str(output_dir),
                overwrite=True,
            )
        )
    assert folder_contents(tmp_path) == ["saved_model"]
    assert (output_dir / "saved_model.pb").read_bytes() == before


@pytest.mark.faults
def test_a_full_disk_is_one_line_and_leaves_nothing(export_checkpoint, export_vocabulary, tmp_path):
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small tmpfs in a namespace of its own")
    command = (
        f"mount -t tmpfs -o size=100k none {tmp_path}; {sys.executable} -m albert_tf.export_saved_model "
        f"--init_checkpoint={export_checkpoint} --spm_model_file={export_vocabulary} "
        f"--output_dir={tmp_path}/saved_model; "
        f"echo code $?; ls -A {tmp_path}"
    )
    result = subprocess.run(["unshare", "-rm", "sh", "-c", command], capture_output=True, text=True)
    assert result.stdout == "code 1\n"
    complaint = result.stderr.splitlines()[-1]
    assert complaint.startswith(f"export_saved_model: {tmp_path}/saved_model: cannot be written: ")
    assert complaint.endswith("No space left on device")
    assert len(result.stderr.splitlines()) == 3  # the others say what was loaded, and what is being saved


@pytest.mark.slow
def test_a_saved_model_of_other_weights_is_found(export_signatures, exported_weights, export_tokenizer):
    assert verification.largest_error(export_signatures, exported_weights, export_tokenizer, MAX_SEQ_LENGTH) < 1e-5
    bias = exported_weights.masked_lm.output_bias
    before = bias.numpy()
    try:
        bias.assign(before + 0.01)
        with pytest.raises(RuntimeError, match=r"mlm: mlm_logits differs from the model's by up to 0\.01"):
            verification.largest_error(export_signatures, exported_weights, export_tokenizer, MAX_SEQ_LENGTH)
    finally:
        bias.assign(before)


@pytest.mark.slow
def test_a_saved_model_that_cuts_texts_elsewhere_is_found(export_signatures, exported_weights, export_tokenizer):
    with pytest.raises(RuntimeError, match=r"tokens_from_text: \w+ has the shape"):
        verification.largest_error(export_signatures, exported_weights, export_tokenizer, 8)


@pytest.fixture
def refused(export_checkpoint, export_vocabulary, tmp_path):
    """Runs an export with changed settings that must be refused; returns the message."""

    def run(**changes):
        settings = {
            "init_checkpoint": export_checkpoint,
            "spm_model_file": export_vocabulary,
            "output_dir": str(tmp_path / "new" / "saved_model"),
            **changes,
        }
        with pytest.raises(InputError) as error:
            export_saved_model(ExportSettings(**settings))
        assert not (tmp_path / "new").exists()
        assert "\n" not in str(error.value)
        return str(error.value)

    return run


def test_an_output_dir_that_holds_something_is_refused(refused, exported, tmp_path):
    assert "--overwrite replaces it" in refused(output_dir=str(exported))
    assert "holds no export" in refused(output_dir=str(exported / "variables"), overwrite=True)
    (tmp_path / "file").write_text("")
    assert "is a file" in refused(output_dir=str(tmp_path / "file"))
    assert "other than /" in refused(output_dir="/")


def test_a_vocabulary_of_another_size_is_refused(refused, train_vocabulary):
    message = refused(spm_model_file=train_vocabulary(vocab_size=100, seed=0))
    assert "has vocab_size=120; give the vocabulary that it was trained with" in message


def test_another_vocabulary_of_the_same_size_is_refused(refused, train_vocabulary):
    message = refused(spm_model_file=train_vocabulary(vocab_size=120, seed=1))
    assert "was trained with (small.model, SHA-256" in message


def test_a_max_seq_length_that_the_model_cannot_take_is_refused(refused):
    assert "--max_seq_length=25 is more than the model's max_position_embeddings=24" in refused(max_seq_length=25)
    assert "must be at least 4" in refused(max_seq_length=3)
    # Of a fine-tuned model too, which has a length of its own where none is given.
    with pytest.raises(InputError, match="max_seq_length must be at least 1. Received 0"):
        ExportSettings(init_checkpoint="run", output_dir="out", max_seq_length=0)


def test_flags_leave_the_texts_of_a_fine_tuned_run_as_they_were(save_finetuned, tmp_path, caplog):
    save_finetuned(tmp_path / "run", "classification", ("good", "bad"))
    pretrained = load_pretrained(str(tmp_path / "run"))
    cleaned = dataclasses.replace(pretrained.task, cleaning=dataclasses.asdict(TextCleaning()))
    cased = TextCleaning(do_lower_case=False)
    settings = ExportSettings(init_checkpoint=tmp_path / "run", output_dir="out", cleaning=cased)
    assert tokenizer_for(settings, pretrained).cleaning == cased
    assert "which is not done" not in caplog.text
    assert tokenizer_for(settings, dataclasses.replace(pretrained, task=cleaned, cleaning=TextCleaning())).cleaning == (
        TextCleaning()
    )
    assert "which is not done" in caplog.text


def test_missing_inputs_are_refused(refused, tmp_path):
    assert "vocabulary" in refused(spm_model_file=str(tmp_path / "none.model"))
    assert "no checkpoint here" in refused(init_checkpoint=str(tmp_path / "none"))
