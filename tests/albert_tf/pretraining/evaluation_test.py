"""Figures of run_evaluation: of the sentence task that was trained, by its name, or none; of masks drawn once."""

import dataclasses
import logging
import os
import shutil
import types

import numpy as np
import pytest
from bit_flips import TENSORS, flip_bit

from albert_tf.checkpoints.checkpoint_evaluation import write_evaluation
from albert_tf.conversion.converter import convert
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.pretraining import evaluation
from albert_tf.pretraining.evaluation import evaluate_checkpoint, format_evaluation
from albert_tf.pretraining.pretrain import run
from albert_tf.pretraining.settings import EvaluationSettings
from albert_tf.runtime.errors import InputError


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "figures"),
    [("sop", "sentence_order"), ("nsp", "next_sentence"), ("none", None)],
)
def test_an_evaluation_tells_the_figures_of_the_task_that_was_trained(
    settings, write_manifest, read_log, caplog, task, figures
):
    write_manifest(settings.input_file, "a" * 64, sentence_task="sop" if task == "none" else task)
    run(dataclasses.replace(settings, num_train_steps=1, sentence_task=task, do_eval=True))
    caplog.set_level(logging.INFO)
    (line,) = [line for line in read_log(settings.output_dir) if line["kind"] == "eval"]
    assert ("sentence_order_accuracy" in line) == (task != "none")
    result = evaluate_checkpoint(EvaluationSettings(input_file=settings.input_file, output_dir=settings.output_dir))
    assert result["sentence_task"] == task
    names = {name for name in result if "sentence_order" in name or "next_sentence" in name}
    text = format_evaluation(result)
    if figures is None:
        assert names == set()
        assert "label" not in " ".join(result)
        assert "sentence task       not measured" in text
        assert "was trained without a sentence task" in caplog.text
        return
    assert names == {f"{figures}_{figure}" for figure in ("accuracy", "balanced_accuracy", "loss", "standard_error")}
    assert f"{figures.replace('_', ' ')} balanced" in text
    assert f"{figures.replace('_', ' ')} accuracy" in text
    assert 0 < result["label_frequency_loss"] <= np.log(2)
    # The same head on records of another task, and on records of none.
    for other in {"sop", "nsp", "none"} - {task}:
        write_manifest(settings.input_file, "a" * 64, sentence_task=other)
        result = evaluate_checkpoint(EvaluationSettings(input_file=settings.input_file, output_dir=settings.output_dir))
        assert result["sentence_task"] == "none"
        assert not [name for name in result if "sentence_order" in name or "next_sentence" in name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trained", "own_figures", "other", "figures"),
    [("nsp", "next_sentence", "sop", "sentence_order"), ("sop", "sentence_order", "nsp", "next_sentence")],
)
def test_a_head_of_one_sentence_task_is_scored_on_records_of_the_other_where_that_is_asked_for(
    settings, write_manifest, trained, own_figures, other, figures
):
    write_manifest(settings.input_file, "a" * 64, sentence_task=trained)
    run(dataclasses.replace(settings, num_train_steps=1, sentence_task=trained, do_eval=False))
    given = {"input_file": settings.input_file, "output_dir": settings.output_dir}
    own = evaluate_checkpoint(EvaluationSettings(**given))
    write_manifest(settings.input_file, "a" * 64, sentence_task=other)
    result = evaluate_checkpoint(EvaluationSettings(**given, across_sentence_tasks=True))
    assert result["sentence_task"] == other
    # The same records with the same labels: the same head is as often right.
    assert result[f"{figures}_accuracy"] == own[f"{own_figures}_accuracy"]


@pytest.mark.slow
def test_a_foreign_checkpoint_without_a_sentence_head_is_measured_without_it(finished, tmp_path):
    output = str(tmp_path / "foreign")
    architecture = {"hugging_face_architecture": "AlbertForMaskedLM"}
    convert(ConversionSettings(input=finished.output_dir, output=output, to_format="hugging_face", **architecture))
    given = {"input_file": finished.input_file, "init_checkpoint": output}
    result = evaluate_checkpoint(EvaluationSettings(**given))
    assert result["sentence_task"] == "none"
    ours = evaluate_checkpoint(EvaluationSettings(input_file=finished.input_file, output_dir=finished.output_dir))
    assert ours["sentence_task"] == "sop"
    assert result["masked_lm_loss"] == pytest.approx(ours["masked_lm_loss"], rel=1e-5)
    shutil.rmtree(output)
    convert(
        ConversionSettings(
            input=finished.output_dir, output=output, to_format="hugging_face", hugging_face_architecture="AlbertModel"
        )
    )
    with pytest.raises(InputError, match="has no masked-LM head .* nothing to measure"):
        evaluate_checkpoint(EvaluationSettings(**given))


@pytest.mark.slow
def test_unmasked_records_are_evaluated_with_the_same_masks_each_time(settings, write_unmasked_records):
    (unmasked,) = write_unmasked_records("unmasked", 30)
    run(dataclasses.replace(settings, num_train_steps=1, num_warmup_steps=0))
    given = {"input_file": unmasked, "output_dir": settings.output_dir}
    first, second = (evaluate_checkpoint(EvaluationSettings(**given, eval_batch_size=size)) for size in (8, 30))
    assert first["num_predictions"] > 30
    for name in ("num_predictions", "masked_lm_accuracy", "most_frequent_piece_accuracy"):
        assert first[name] == second[name]
    assert first["masked_lm_loss"] == pytest.approx(second["masked_lm_loss"], rel=1e-5)


def test_the_checkpoint_that_was_measured_is_told_though_its_run_has_a_better_one_by_now(finished, monkeypatch):
    best, later = (os.path.join(finished.output_dir, f"checkpoint-{step:08d}") for step in (8, 12))
    write_evaluation(best, {"masked_lm_accuracy": 0.5})
    measure = evaluation.evaluate

    def measure_while_it_trains(*args):
        write_evaluation(later, {"masked_lm_accuracy": 0.6})
        return measure(*args)

    monkeypatch.setattr(evaluation, "evaluate", measure_while_it_trains)
    given = {"input_file": finished.input_file, "output_dir": finished.output_dir}
    assert evaluate_checkpoint(EvaluationSettings(**given))["checkpoint"] == best
    assert evaluate_checkpoint(EvaluationSettings(**given))["checkpoint"] == later


def test_a_best_checkpoint_with_a_flipped_bit_in_its_tensors_is_passed_over(finished, caplog):
    best, next_best = (os.path.join(finished.output_dir, f"checkpoint-{step:08d}") for step in (8, 4))
    write_evaluation(best, {"masked_lm_accuracy": 0.5})
    write_evaluation(next_best, {"masked_lm_accuracy": 0.4})
    flip_bit(os.path.join(best, TENSORS))
    given = {"input_file": finished.input_file, "output_dir": finished.output_dir}
    assert evaluate_checkpoint(EvaluationSettings(**given))["checkpoint"] == next_best
    assert f"{best} is passed over" in caplog.text
    with pytest.raises(InputError, match=f"{best}/model: the checkpoint is damaged"):
        evaluate_checkpoint(EvaluationSettings(**given | {"output_dir": best}))


@pytest.mark.slow
@pytest.mark.parametrize(("trained", "asked"), [(False, True), (True, False)])
def test_records_of_texts_that_were_cleaned_otherwise_are_warned_of(settings, write_manifest, caplog, trained, asked):
    write_manifest(settings.input_file, "a" * 64, flags={"do_lower_case": trained})
    run(dataclasses.replace(settings, num_train_steps=1, num_warmup_steps=0))
    given = EvaluationSettings(input_file=settings.input_file, output_dir=settings.output_dir)
    before = evaluate_checkpoint(given)
    assert "cleaned" not in caplog.text
    write_manifest(settings.input_file, "a" * 64, flags={"do_lower_case": asked})
    assert evaluate_checkpoint(given) == before
    told = f"was trained on texts cleaned with --do_lower_case={trained}, the records were made with {asked}"
    assert caplog.text.count(told) == 1


def test_a_batch_that_the_devices_cannot_share_is_one_line(settings, monkeypatch):
    # As of JAX, which takes all devices there are.
    monkeypatch.setattr(evaluation, "default_strategy", lambda: types.SimpleNamespace(num_replicas_in_sync=4))
    given = EvaluationSettings(input_file=settings.input_file, output_dir=settings.output_dir, eval_batch_size=6)
    with pytest.raises(InputError, match="--eval_batch_size must be a multiple of 4, for the 4 replicas"):
        evaluate_checkpoint(given)


def test_an_evaluation_in_bfloat16_is_near_that_in_float32(finished):
    given = {"input_file": finished.input_file, "output_dir": finished.output_dir}
    full = evaluate_checkpoint(EvaluationSettings(**given))
    half = evaluate_checkpoint(EvaluationSettings(**given, precision="bfloat16"))
    assert full["num_predictions"] == half["num_predictions"]
    assert full["masked_lm_loss"] != half["masked_lm_loss"]
    assert full["masked_lm_loss"] == pytest.approx(half["masked_lm_loss"], rel=5e-3)
    assert full["sentence_order_loss"] == pytest.approx(half["sentence_order_loss"], rel=2e-2)
