"""Records of a pre-training against its settings: vocabulary, sentence task, masks, padding."""

import dataclasses
import logging
import os

import pytest

from albert_tf.checkpoints import run_checkpoints
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.pretraining.evaluation import evaluate_checkpoint
from albert_tf.pretraining.opened_records import open_all_records
from albert_tf.pretraining.pretrain import run
from albert_tf.pretraining.settings import EvaluationSettings
from albert_tf.runtime.errors import InputError


def test_records_with_masks_are_neither_cut_nor_masked_anew(settings):
    with pytest.raises(InputError, match="^--length_schedule, .* and --pack_sequences want records that have no"):
        run(dataclasses.replace(settings, masked_lm_prob="0.3"))


@pytest.mark.slow
def test_records_of_another_vocabulary_are_refused(settings, write_records, tmp_path, write_manifest):
    write_manifest(settings.input_file, "a" * 64)
    run(dataclasses.replace(settings, num_train_steps=1, num_warmup_steps=0))
    assert load_pretrained(settings.output_dir).vocabulary["sha256"] == "a" * 64
    other = write_records("other/train", 50)
    write_manifest(other, "b" * 64)
    second = dataclasses.replace(settings, output_dir=str(tmp_path / "second"))
    for changes in (
        {"do_eval": True, "eval_input_file": other},
        {"input_file": other, "init_checkpoint": settings.output_dir},
        {"input_file": other, "output_dir": settings.output_dir},
    ):
        with pytest.raises(InputError, match="made with another vocabulary") as error:
            run(dataclasses.replace(second, **changes))
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="made with another vocabulary"):
        evaluate_checkpoint(EvaluationSettings(input_file=other, output_dir=settings.output_dir))
    write_manifest(other, "b" * 64, size=61)
    with pytest.raises(InputError, match="a vocabulary of 61 pieces .* the config says vocab_size=60"):
        run(dataclasses.replace(second, input_file=other))
    assert not os.path.exists(second.output_dir)


@pytest.mark.slow
def test_records_of_another_sentence_task_are_refused(settings, write_manifest):
    write_manifest(settings.input_file, "a" * 64, sentence_task="nsp")
    with pytest.raises(InputError, match="--sentence_task=sop, but the records were made with --sentence_task=nsp"):
        run(dataclasses.replace(settings, sentence_task="sop"))
    run(dataclasses.replace(settings, num_train_steps=1, num_warmup_steps=0))
    assert run_checkpoints.read_state(os.path.join(settings.output_dir, "checkpoint-00000001")).sentence_task == "nsp"


@pytest.mark.slow
def test_records_to_evaluate_on_are_of_the_same_sentence_task(settings, write_records, write_manifest):
    write_manifest(settings.input_file, "a" * 64)
    other = write_records("other/train", 50)
    write_manifest(other, "a" * 64, sentence_task="nsp")
    settings = dataclasses.replace(settings, do_eval=True, eval_input_file=other, num_train_steps=1)
    with pytest.raises(InputError, match="--eval_input_file: the records were made with --sentence_task=nsp, those of"):
        run(settings)
    run(dataclasses.replace(settings, sentence_task="none"))


def test_records_to_evaluate_on_are_cleaned_as_those_to_train_on(settings, small_config, write_records, write_manifest):
    write_manifest(settings.input_file, "a" * 64, flags={"keep_accents": True})
    other = write_records("other/train", 50)
    write_manifest(other, "a" * 64)
    settings = dataclasses.replace(settings, do_eval=True, eval_input_file=other)
    message = "^--eval_input_file: made with --keep_accents=False, --input_file with True; give records of one kind$"
    with pytest.raises(InputError, match=message):
        open_all_records(settings, small_config)
    write_manifest(other, "a" * 64, flags={"keep_accents": True, "ngram": 1})
    open_all_records(settings, small_config)


def test_masks_of_the_other_kind_are_refused(settings, write_unmasked_records):
    with pytest.raises(InputError, match="--masking=dynamic, but the records have their masks in them"):
        run(dataclasses.replace(settings, masking="dynamic"))
    (unmasked,) = write_unmasked_records("unmasked", 20)
    with pytest.raises(InputError, match="--masking=static, but the records hold no masks"):
        run(dataclasses.replace(settings, masking="static", input_file=unmasked))
    assert not os.path.exists(settings.output_dir)


def test_much_padding_is_told_of(settings, write_unmasked_records, small_config, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    for share in (0.04, 0.062):
        (path,) = write_unmasked_records(f"records{share}", 50, statistics={"padding_share": share})
        open_all_records(dataclasses.replace(settings, input_file=path), small_config)
        assert ("6.2 % of the records' tokens are padding" in caplog.text) == (share > 0.05)
    assert "padding, computed for nothing; --pack_sequences leaves less of it" in caplog.text


def test_packed_rows_and_records_with_masks_are_not_told_the_same(
    settings, write_manifest, write_unmasked_records, small_config, caplog
):
    caplog.set_level(logging.INFO, logger="absl")
    padded = {"statistics": {"padding_share": 0.07}}
    (path,) = write_unmasked_records("records", 50, **padded)
    open_all_records(dataclasses.replace(settings, input_file=path, pack_sequences=True), small_config)
    assert "padding" not in caplog.text
    write_manifest(settings.input_file, "a" * 64, statistics=padded["statistics"])
    open_all_records(settings, small_config)
    assert "records of create_pretraining_data --masking=dynamic can be read with --pack_sequences" in caplog.text


def test_records_with_nothing_masked_are_told_of(
    settings, write_manifest, write_unmasked_records, small_config, caplog
):
    for predictions in (3, 0):
        write_manifest(settings.input_file, "a" * 64, statistics={"predictions": predictions})
        open_all_records(settings, small_config)
        assert ("nothing is masked in the records: no words are learned" in caplog.text) == (predictions == 0)
    caplog.clear()
    (path,) = write_unmasked_records("records", 50)
    open_all_records(dataclasses.replace(settings, input_file=path), small_config)
    assert "nothing is masked" not in caplog.text


def test_records_to_evaluate_on_that_are_not_read_are_told_of(settings, small_config, caplog):
    found = open_all_records(dataclasses.replace(settings, eval_input_file="nowhere", do_eval=False), small_config)
    assert found[1] is None
    assert "--eval_input_file is not read: without --do_eval nothing is evaluated" in caplog.text
