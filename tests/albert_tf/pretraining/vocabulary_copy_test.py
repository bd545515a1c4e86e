"""A run of pre-training keeps its vocabulary: found by its hash, named by a flag, never a different one."""

import dataclasses
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.finetuning.model_source import model_and_vocabulary
from albert_tf.pretraining.pretrain import run
from albert_tf.pretraining.vocabulary_copy import locate_vocabulary
from albert_tf.runtime.errors import InputError
from tests.support.word_pieces import write_word_pieces


@pytest.fixture
def sha256(small_vocabulary) -> str:
    """The SHA-256 of the vocabulary."""
    return hashlib.sha256(Path(small_vocabulary).read_bytes()).hexdigest()


@pytest.fixture
def short(settings, write_manifest, sha256):
    """A run of one step on records that know their vocabulary."""
    write_manifest(settings.input_file, sha256)
    return dataclasses.replace(settings, num_train_steps=1)


def test_it_is_found_by_its_hash_in_the_likely_places(tmp_path, small_vocabulary, sha256, caplog):
    known = {"file": "renamed.model", "sha256": sha256, "size": 60}
    records = tmp_path / "work" / "records"
    records.mkdir(parents=True)
    paths = [str(records / "train-0"), str(records / "train-1")]
    caplog.set_level("INFO", "absl")
    # One of the same name, and files that are no vocabulary.
    (records / "renamed.model").write_bytes(Path(small_vocabulary).read_bytes() + b" ")
    (records / "folder.model").mkdir()
    assert locate_vocabulary(known, paths, []) is None
    assert "with --spm_model_file the run would keep a copy" in caplog.text
    for place in (tmp_path / "work", records, tmp_path / "near"):
        place.mkdir(exist_ok=True)
        shutil.copy(small_vocabulary, place / "spiece.model")
        assert locate_vocabulary(known, paths, [str(tmp_path / "near")]) == str(place / "spiece.model")
    assert locate_vocabulary(None, paths, []) is None


def test_word_pieces_of_any_name_are_found_by_their_hash(tmp_path):
    contents = Path(write_word_pieces(tmp_path / "pieces.txt")).read_bytes()
    (tmp_path / "corpus.txt").write_text("Some text.")
    known = {"file": "pieces.txt", "sha256": hashlib.sha256(contents).hexdigest(), "size": 200}
    assert locate_vocabulary(known, [str(tmp_path / "train.tfrecord")], []) == str(tmp_path / "pieces.txt")


@pytest.mark.slow
def test_whatever_opens_the_run_finds_it_there(short, small_vocabulary, tmp_path, finetuning_settings):
    shutil.copy(small_vocabulary, os.path.join(os.path.dirname(short.input_file), "small.model"))
    run(short)
    kept = os.path.join(short.output_dir, "small.model")
    # A second one beside it does no harm.
    Path(short.output_dir, "other.model").write_bytes(b"other")
    assert load_pretrained(short.output_dir).vocabulary_file == kept
    finetuning = dataclasses.replace(
        finetuning_settings, init_checkpoint=short.output_dir, spm_model_file=None, output_dir=str(tmp_path / "task")
    )
    assert model_and_vocabulary(finetuning)[1] == kept
    # A damaged copy is none.
    Path(kept).write_bytes(Path(kept).read_bytes() + b" ")
    assert load_pretrained(short.output_dir).vocabulary_file is None
    with pytest.raises(InputError, match="no vocabulary lies with --init_checkpoint; name its .model or vocab.txt"):
        model_and_vocabulary(finetuning)


@pytest.mark.slow
def test_the_flag_names_it_and_no_other_one_is_taken(short, small_vocabulary, tmp_path):
    elsewhere = shutil.copy(small_vocabulary, tmp_path / "elsewhere.model")
    other = tmp_path / "other.model"
    other.write_bytes(b"other")
    with pytest.raises(InputError, match="other.model"):
        run(dataclasses.replace(short, spm_model_file=str(other)))
    assert not os.path.exists(short.output_dir)
    # Records without a manifest do not say; the flag does.
    os.remove(f"{short.input_file}.manifest.json")
    run(dataclasses.replace(short, spm_model_file=str(elsewhere)))
    assert load_pretrained(short.output_dir).vocabulary_file == os.path.join(short.output_dir, "elsewhere.model")
