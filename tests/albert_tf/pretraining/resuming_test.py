"""Resumed runs: cut off anywhere, in stages, with an evaluation that was cut off, in float16, with other records."""

import dataclasses
import json
import logging
import os
import shutil

import numpy as np
import pytest

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import read_evaluation
from albert_tf.pretraining.pretrain import run
from albert_tf.training.run_description import describe_changed_flags

STEPS = 12


@pytest.mark.parametrize("masking", ["static", pytest.param("dynamic", marks=pytest.mark.faults)])
def test_a_run_cut_off_ends_with_the_same_weights_as_one_that_was_not(
    settings, write_records, write_unmasked_records, masking, read_weights, read_log
):
    if masking == "dynamic":
        settings = dataclasses.replace(settings, input_file=write_unmasked_records("unmasked", 50)[0], masking=masking)
    settings = dataclasses.replace(settings, do_eval=True, eval_input_file=write_records("heldout", 20, seed=9))
    run(settings)
    whole = read_weights(settings.output_dir, STEPS)
    whole_log = [line["loss"] for line in read_log(settings.output_dir) if line["kind"] == "train"]
    # The state of a process killed after step 9: a checkpoint at 8, half of one at 12, a log line cut short.
    shutil.rmtree(os.path.join(settings.output_dir, "checkpoint-00000012"))
    os.makedirs(os.path.join(settings.output_dir, "checkpoint-00000012"))
    with open(os.path.join(settings.output_dir, "train_log.jsonl"), "a") as file:
        file.write('{"kind": "tr')
    run(settings)
    for name, value in read_weights(settings.output_dir, STEPS).items():
        np.testing.assert_array_equal(value, whole[name], err_msg=name)
    log = read_log(settings.output_dir)
    assert [line["loss"] for line in log if line["kind"] == "train"] == whole_log
    # Reports every 3 steps and at every checkpoint.
    assert [line["step"] for line in log if line["kind"] == "train"] == [3, 4, 6, 8, 9, 12]
    assert [line["step"] for line in log if line["kind"] == "eval"] == [4, 8, 12]


@pytest.mark.faults
@pytest.mark.parametrize("cut_off_at", [4, 8])
def test_a_run_of_stages_is_the_same_run_wherever_it_is_cut_off(
    settings, write_unmasked_records, cut_off_at, read_weights, read_log, caplog
):
    caplog.set_level(logging.INFO, logger="absl")
    settings = dataclasses.replace(
        settings,
        input_file=write_unmasked_records("unmasked", 50)[0],
        length_schedule="8:0.5,16:0.5",
        masked_lm_prob="0.4:0.75,0.2:0.25",
        ngram="1",
    )
    run(settings)
    whole, log = read_weights(settings.output_dir, STEPS), read_log(settings.output_dir)
    # Six steps of 16 examples of 8 tokens, then six of 8 of 16.
    last = run_checkpoints.read_state(os.path.join(settings.output_dir, f"checkpoint-{STEPS:08d}"))
    assert last.examples_seen == 6 * 16 + 6 * 8
    lines = [line for line in log if line["kind"] == "train"]
    assert [(line["step"], line["examples_seen"]) for line in lines] == [
        *((3, 48), (4, 64), (6, 96), (8, 112), (9, 120), (12, 144)),
    ]
    for step in range(cut_off_at + 4, STEPS + 1, 4):
        shutil.rmtree(os.path.join(settings.output_dir, f"checkpoint-{step:08d}"))
    run(settings)
    told = "12 steps of 16, then 8 examples: 144 examples, 2.88 epochs of the 50 in 1 file(s); step %d is done"
    assert told % 0 in caplog.text and told % cut_off_at in caplog.text
    for name, value in read_weights(settings.output_dir, STEPS).items():
        np.testing.assert_array_equal(value, whole[name], err_msg=name)
    again = [line for line in read_log(settings.output_dir) if line["kind"] == "train"]
    assert [(line["loss"], line["examples_seen"]) for line in again] == [
        (line["loss"], line["examples_seen"]) for line in lines
    ]


@pytest.mark.faults
def test_an_evaluation_that_was_cut_off_is_made_up_for(settings, write_records):
    settings = dataclasses.replace(settings, do_eval=True, eval_input_file=write_records("heldout", 20, seed=9))
    run(settings)
    folder = os.path.join(settings.output_dir, "checkpoint-00000004")
    before = read_evaluation(folder)
    os.remove(os.path.join(folder, "evaluation.json"))
    for later in ("checkpoint-00000008", "checkpoint-00000012"):
        shutil.rmtree(os.path.join(settings.output_dir, later))
    run(settings)
    assert read_evaluation(folder) == before


@pytest.mark.slow
def test_an_evaluation_that_was_cut_off_before_its_report_is_reported(settings, write_records, read_log):
    settings = dataclasses.replace(settings, do_eval=True, eval_input_file=write_records("heldout", 20, seed=9))
    run(settings)
    whole = [line for line in read_log(settings.output_dir) if line["kind"] == "eval"]
    # The state of a process killed after evaluation.json of step 8 was written.
    shutil.rmtree(os.path.join(settings.output_dir, "checkpoint-00000012"))
    path = os.path.join(settings.output_dir, "train_log.jsonl")
    with open(path) as file:
        lines = file.readlines()
    with open(path, "w") as file:
        file.writelines(lines[: next(at for at, line in enumerate(lines) if json.loads(line) == whole[1])])
    run(settings)
    assert [line for line in read_log(settings.output_dir) if line["kind"] == "eval"] == whole
    # Once is enough.
    run(settings)
    assert [line for line in read_log(settings.output_dir) if line["kind"] == "eval"] == whole


@pytest.mark.slow
def test_a_scaled_run_in_micro_batches_cut_off_ends_with_the_same_weights(settings, read_weights, read_log):
    settings = dataclasses.replace(settings, precision="float16", gradient_accumulation_steps=2)
    run(settings)
    whole = read_weights(settings.output_dir, STEPS)
    assert all(value.dtype == np.float32 for value in whole.values())
    last = os.path.join(settings.output_dir, f"checkpoint-{STEPS:08d}")
    scale = run_checkpoints.read_state(last).loss_scale
    assert scale["scale"] <= 2**15
    assert scale["good_steps"] + scale["overflows"] > 0
    line = [line for line in read_log(settings.output_dir) if line["kind"] == "train"][-1]
    assert (line["loss_scale"], line["overflow_steps"]) == (scale["scale"], scale["overflows"])
    shutil.rmtree(last)
    run(settings)
    assert run_checkpoints.read_state(last).loss_scale == scale
    for name, value in read_weights(settings.output_dir, STEPS).items():
        np.testing.assert_array_equal(value, whole[name], err_msg=name)


@pytest.mark.slow
def test_changed_records_are_told_of(finished, write_records, caplog):
    more = write_records("more", 20)
    write_records("train", 40)
    run(dataclasses.replace(finished, num_train_steps=STEPS + 1, input_file=f"{finished.input_file},{more}"))
    (told,) = [record.getMessage() for record in caplog.records if "are not those of" in record.getMessage()]
    assert "the records are not those of the checkpoint of step 12: more is new; train had" in told


def test_a_run_of_fewer_steps_than_were_taken_says_that_none_is_left(finished, caplog):
    run(dataclasses.replace(finished, num_train_steps=STEPS - 4))
    assert "no step is left: the run is at 12, it was to have 8" in [
        record.getMessage() for record in caplog.records if record.levelname == "WARNING"
    ]


def test_changed_flags_are_told_of_and_others_are_not(finished, caplog):
    # The flags that differ from those in run_pretraining.flags of `finished` decide nothing, so nothing is reported.
    run(dataclasses.replace(finished, resolved_flags="--seed\n--log_steps=7\n"))
    assert "other flags" not in caplog.text
    run(dataclasses.replace(finished, resolved_flags="--seed\n--train_batch_size=8\n--init_checkpoint=a=b\n"))
    assert "with other flags: --init_checkpoint was not given, is a=b now; its weights are the" in caplog.text
    assert "--train_batch_size" not in caplog.text
    before = "--train_batch_size=8\n--nodo_eval\n--learning_rate=0.1\n--output_dir=a\n"
    assert describe_changed_flags(before, before.replace("=a", "=b"), 7) is None
    # A flag that an earlier version did not know.
    assert describe_changed_flags(before, before + "--muon_rate=20.0\n", 7) is None
    assert "--muon_rate was 1.0, is 20.0" in describe_changed_flags("--muon_rate=1.0\n", "--muon_rate=20.0\n", 7)
    told = describe_changed_flags(before, before.replace("0.1", "0.2"), 7)
    assert told == "the run goes on from step 7 with other flags: --learning_rate was 0.1, is 0.2 now"
    assert describe_changed_flags("", before, 7) is None


@pytest.mark.slow
def test_a_run_with_muon_and_a_stable_rate_goes_on_bit_for_bit(settings, read_weights):
    settings = dataclasses.replace(
        settings, optimizer="muon", learning_rate=1e-3, learning_rate_schedule="stable_decay", decay_proportion=0.5
    )
    run(settings)
    whole = read_weights(settings.output_dir, STEPS)
    shutil.rmtree(os.path.join(settings.output_dir, f"checkpoint-{STEPS:08d}"))
    run(settings)
    for name, value in read_weights(settings.output_dir, STEPS).items():
        np.testing.assert_array_equal(value, whole[name], err_msg=name)
    assert whole["adam_v/albert/encoder/block_0_0/attention/query_kernel"].shape == ()
