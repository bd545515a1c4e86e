"""Evaluations of a run that is there: checkpoints are compared by the same records, whichever those are now."""

import dataclasses
import logging
import os

import pytest
import random_records

from albert_tf.checkpoints.checkpoint_evaluation import BEST_METRIC, read_evaluation
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder
from albert_tf.pretraining.evaluation import evaluate_checkpoint
from albert_tf.pretraining.pretrain import run
from albert_tf.pretraining.settings import EvaluationSettings


def _evaluations(settings):
    folders = [name for name in sorted(os.listdir(settings.output_dir)) if name.startswith("checkpoint-")]
    return {name: read_evaluation(os.path.join(settings.output_dir, name)) for name in folders}


@pytest.mark.parametrize("more_steps", [None, 4])
def test_checkpoints_that_were_evaluated_on_other_records_are_evaluated_again(
    finished, write_records, read_log, more_steps
):
    settings = dataclasses.replace(finished, do_train=False, do_eval=True, eval_input_file=write_records("first", 20))
    run(settings)
    before = _evaluations(settings)
    assert {found["num_examples"] for found in before.values()} == {20}
    run(settings)
    assert _evaluations(settings) == before
    other = write_records("second", 30, seed=3)
    settings = dataclasses.replace(settings, eval_input_file=other)
    if more_steps is not None:
        # While it trains on, too: which checkpoints are kept goes by the best.
        settings = dataclasses.replace(settings, do_train=True, num_train_steps=settings.num_train_steps + more_steps)
    run(settings)
    after = _evaluations(settings)
    assert {found["num_examples"] for found in after.values()} == {30}
    # The last line of each step is that of the records now given.
    logged = {line["step"]: line["num_examples"] for line in read_log(settings.output_dir) if line["kind"] == "eval"}
    assert {int(name.removeprefix("checkpoint-")) for name in after} <= logged.keys() and set(logged.values()) == {30}
    path = os.path.join(settings.output_dir, "checkpoint-00000008")
    measured = evaluate_checkpoint(EvaluationSettings(input_file=other, init_checkpoint=path))
    assert after["checkpoint-00000008"]["masked_lm_accuracy"] == pytest.approx(measured["masked_lm_accuracy"])


def test_records_in_which_nothing_is_masked_compare_checkpoints_by_their_sentence_order(
    finished, write_records, write_manifest, monkeypatch, caplog
):
    draw = random_records._random_instance

    def without_masks(rng):
        return dataclasses.replace(draw(rng), masked_lm_positions=[], masked_lm_ids=[])

    monkeypatch.setattr(random_records, "_random_instance", without_masks)
    caplog.set_level(logging.INFO)
    run(dataclasses.replace(finished, do_train=False, do_eval=True, eval_input_file=write_records("unmasked", 20)))
    evaluations = _evaluations(finished)
    assert all("masked_lm_accuracy" not in found for found in evaluations.values())
    assert {found[BEST_METRIC] for found in evaluations.values()} == {"sentence_order_accuracy"}
    best = max(evaluations, key=lambda name: evaluations[name]["sentence_order_accuracy"])
    assert os.path.basename(CheckpointFolder(finished.output_dir).best()) == best
    assert "masked_lm_accuracy" not in caplog.text


def test_other_batches_of_the_same_records_are_no_reason_and_fewer_of_them_are(finished, write_records):
    settings = dataclasses.replace(finished, do_train=False, do_eval=True, eval_input_file=write_records("first", 20))
    run(settings)
    before = _evaluations(settings)
    run(dataclasses.replace(settings, eval_batch_size=4))
    assert _evaluations(settings) == before
    run(dataclasses.replace(settings, eval_batch_size=4, max_eval_steps=2))
    assert {found["num_examples"] for found in _evaluations(settings).values()} == {8}
