"""A run to a folder of the hub: what is written is what transformers reads, and the same model comes back by name."""

import json
import os
import subprocess
import sys
from unittest import mock

import pytest
from hub_server import read_folder

import albert_tf
from albert_tf.conversion.hugging_face import save_hugging_face
from albert_tf.conversion.hugging_face_tokenizer import folder_cleaning
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.heads.pooling import Pooling
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.uploading import publish as publish_module
from albert_tf.uploading.publish import publish
from albert_tf.uploading.settings import PublicationSettings


def _dry(run_dir, folder, **changes):
    settings = {"repo": "somebody/model", "input_dir": run_dir, "output_dir": folder, "dry_run": True}
    return publish(PublicationSettings(**settings | changes))


def test_a_dry_run_writes_the_folder_with_its_card(finished, small_vocabulary, tmp_path):
    folder = str(tmp_path / "folder")
    assert _dry(finished.output_dir, folder, spm_model_file=small_vocabulary, license="mit") is None
    assert sorted(os.listdir(folder)) == [
        *("README.md", "config.json", "model.safetensors", "spiece.model", "tokenizer.json", "tokenizer_config.json")
    ]
    card = (tmp_path / "folder" / "README.md").read_text()
    assert card.startswith("---\nlicense: mit\n")
    assert "| steps | 12 |" in card
    assert str(tmp_path) not in card
    ours, theirs = (named_weights(albert_tf.load(path)) for path in (finished.output_dir, folder))
    assert {name: value.numpy().tobytes() for name, value in ours.items()} == {
        name: value.numpy().tobytes() for name, value in theirs.items()
    }


def test_the_tokenizer_and_the_card_clean_texts_by_the_settings(finished, small_vocabulary, tmp_path):
    folder = tmp_path / "folder"
    _dry(finished.output_dir, str(folder), spm_model_file=small_vocabulary, cleaning=TextCleaning(do_lower_case=False))
    assert json.loads((folder / "tokenizer_config.json").read_text())["do_lower_case"] is False
    assert "cleaned with do_lower_case=False" in (folder / "README.md").read_text()


def test_the_card_says_how_texts_are_cleaned_where_the_model_itself_knows_it(finished, small_vocabulary, tmp_path):
    kept = TextCleaning(do_lower_case=False, normalization="NFKC")
    model = albert_tf.load(finished.output_dir)
    albert_tf.save(model, tmp_path / "ours", "hugging_face", vocabulary_file=small_vocabulary, cleaning=kept)
    _dry(str(tmp_path / "ours"), str(tmp_path / "folder"))
    assert folder_cleaning(str(tmp_path / "folder")) == kept
    said = "cleaned with do_lower_case=False, keep_accents=False, normalization=NFKC"
    assert said in (tmp_path / "folder" / "README.md").read_text()


def test_a_cleaning_that_the_records_did_not_have_is_refused(finished, small_vocabulary, tmp_path, monkeypatch):
    known = mock.Mock(**{"manifest.flags": {"do_lower_case": False}, "state.task": None})
    monkeypatch.setattr(publish_module, "find_provenance", lambda path: known)
    with pytest.raises(InputError, match="--do_lower_case is True, the records .* were made with False; give the same"):
        _dry(finished.output_dir, str(tmp_path / "folder"), spm_model_file=small_vocabulary)
    assert not (tmp_path / "folder").exists()


def test_the_records_are_compared_with_how_the_model_says_that_texts_are_cleaned(
    finished, small_vocabulary, tmp_path, monkeypatch
):
    kept = TextCleaning(do_lower_case=False)
    model = albert_tf.load(finished.output_dir)
    albert_tf.save(model, tmp_path / "ours", "hugging_face", vocabulary_file=small_vocabulary, cleaning=kept)
    known = mock.Mock(**{"manifest.flags": {"do_lower_case": True}, "state.task": None})
    monkeypatch.setattr(publish_module, "find_provenance", lambda path: known)
    with pytest.raises(InputError, match="--do_lower_case is False, the records .* were made with True; give the same"):
        _dry(str(tmp_path / "ours"), str(tmp_path / "folder"))
    known.manifest.flags["do_lower_case"] = False
    known.state.step = 12
    monkeypatch.setattr(publish_module, "write_card", lambda *arguments: None)
    assert _dry(str(tmp_path / "ours"), str(tmp_path / "folder")) is None
    assert folder_cleaning(str(tmp_path / "folder")) == kept


def test_a_model_for_vectors_keeps_its_pooling(finished, small_vocabulary, tmp_path):
    model = albert_tf.load(finished.output_dir)
    model.pooling = Pooling("cls", True, 12)
    albert_tf.save(model, tmp_path / "ours", vocabulary_file=small_vocabulary)
    _dry(str(tmp_path / "ours"), str(tmp_path / "folder"))
    assert load_pretrained(str(tmp_path / "folder")).pooling == model.pooling
    assert "pipeline_tag: sentence-similarity" in (tmp_path / "folder" / "README.md").read_text()
    with pytest.raises(InputError, match="makes vectors of texts .*; leave --hugging_face_architecture out"):
        _dry(str(tmp_path / "ours"), str(tmp_path / "other"), hugging_face_architecture="AlbertModel")


def test_a_folder_that_holds_something_is_left_alone(finished, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        _dry(finished.output_dir, str(tmp_path / "folder"))
    assert os.listdir(tmp_path / "folder") == ["mine.txt"]


def test_a_model_that_transformers_lacks_leaves_nothing(finished, tmp_path):
    with pytest.raises(InputError, match="no head for AlbertForSequenceClassification"):
        _dry(
            finished.output_dir,
            str(tmp_path / "folder"),
            hugging_face_architecture="AlbertForSequenceClassification",
        )
    assert not (tmp_path / "folder").exists()


def test_only_what_transformers_reads_is_uploaded_from_python(small_config):
    with pytest.raises(InputError, match="only `format` 'hugging_face' can be uploaded"):
        albert_tf.save(AlbertForPretraining(small_config), "hf://somebody/model")


_SAVE = """
import sys
import albert_tf
model = albert_tf.load(sys.argv[1])
albert_tf.save(model, "hf://somebody/saved@v1", format="hugging_face")
"""


def _run(environment, *command):
    arguments = [sys.executable, *command]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.slow
def test_a_model_goes_to_the_hub_and_comes_back_by_its_name(
    hub, hub_environment, small_config, small_vocabulary, tmp_path
):
    pytest.importorskip("huggingface_hub", reason="pip install 'albert_tf[hub]'")
    hub.token = "hf_secret"
    folder = str(tmp_path / "saved")
    save_hugging_face(AlbertForPretraining(small_config), folder, small_vocabulary)
    push = ["-m", "albert_tf.push_to_hub", f"--input_dir={folder}", "--repo=somebody/pushed"]
    done = _run(hub_environment, *push)
    assert done.returncode == 1
    assert "an upload needs a token" in done.stderr.splitlines()[-1]
    environment = hub_environment | {"HF_TOKEN": "hf_secret"}
    done = _run(environment, *push, "--private")
    assert done.returncode == 0, done.stderr
    pushed = hub.repositories["somebody/pushed"]
    assert pushed.private
    files = dict(pushed.revisions["main"])
    assert files.pop("README.md").startswith(b"---\nlibrary_name: transformers\n")
    del files[".gitattributes"]
    assert files == read_folder(folder)
    done = _run(environment, "-c", _SAVE, "hf://somebody/pushed")
    assert done.returncode == 0, done.stderr
    saved = hub.repositories["somebody/saved"].revisions["v1"]
    assert saved["model.safetensors"] == files["model.safetensors"]
    assert json.loads(saved["config.json"]) == json.loads(files["config.json"])
