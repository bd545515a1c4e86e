"""The facts that lie with a checkpoint: those of its run, its records and its evaluation, and no others."""

import json
import os
import shutil

import pytest

from albert_tf.checkpoints.checkpoint_evaluation import write_evaluation
from albert_tf.conversion.converter import convert
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.runtime.errors import InputError
from albert_tf.uploading.provenance import find_provenance

FLAGS = "--input_file={}\n--train_batch_size=8\n--optimizer=lamb\n--length_schedule=\n--learning_rate=0.01\n--nojit\n"


@pytest.fixture
def run_dir(finished):
    with open(os.path.join(finished.output_dir, "run_pretraining.flags"), "w") as file:
        file.write(FLAGS.format(finished.input_file))
    return finished.output_dir


def test_a_run_tells_its_steps_and_the_flags_that_matter(run_dir):
    found = find_provenance(run_dir)
    assert (found.state.step, found.state.examples_seen) == (12, 96)
    assert found.flags == {"optimizer": "lamb", "learning_rate": "0.01", "train_batch_size": "8"}
    assert find_provenance(os.path.join(run_dir, "checkpoint-00000008")).state.step == 8


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            ["early_exit", "exit_training=joint", "exit_rate_factor=10.0"],
            {"early_exit", "exit_training", "exit_rate_factor"},
        ),
        (["early_exit", "exit_training=fitted", "exit_rate_factor=10.0"], {"early_exit", "exit_training"}),
        (["noearly_exit", "exit_training=joint", "exit_rate_factor=10.0"], set()),
        (["teacher=x", "distillation_weight=0.5"], {"distillation_weight"}),
        (["teacher=", "distillation_weight=0.5", "lora_alpha=16.0"], set()),
        (["lora_rank=8", "lora_alpha=16.0"], {"lora_rank", "lora_alpha"}),
        (["num_train_epochs=3.0"], {"num_train_epochs"}),
        (["num_train_steps=40", "num_train_epochs=3.0"], {"num_train_steps"}),
    ],
)
def test_flags_without_a_part_in_the_training_are_not_told(finished, lines, told):
    with open(os.path.join(finished.output_dir, "run_finetuning.flags"), "w") as file:
        file.write("".join(f"--{line}\n" for line in lines))
    assert set(find_provenance(finished.output_dir).flags) == told


def test_the_scores_are_those_of_the_chosen_checkpoint(run_dir):
    assert find_provenance(run_dir).scores == {}
    folder = os.path.join(run_dir, "checkpoint-00000008")
    write_evaluation(folder, {"masked_lm_accuracy": 0.5, "masked_lm_loss": 2.0, "sentence_task": "sop"})
    found = find_provenance(run_dir)
    assert found.state.step == 8
    assert found.scores == {"evaluation": {"masked_lm_accuracy": 0.5, "masked_lm_loss": 2.0}}


def test_results_of_fine_tuning_count_for_the_checkpoint_that_they_are_of(run_dir):
    results = {"scores": {"dev": {"accuracy": 0.75}}}
    path = os.path.join(run_dir, "results.json")
    for name, scores in (("checkpoint-00000012", {"dev": {"accuracy": 0.75}}), ("checkpoint-00000008", {})):
        with open(path, "w") as file:
            json.dump(results | {"checkpoint": f"elsewhere/{name}"}, file)
        assert find_provenance(run_dir).scores == scores


def test_the_manifest_is_that_of_the_records_that_were_read(run_dir, finished, write_manifest):
    assert find_provenance(run_dir).manifest is None
    write_manifest(finished.input_file, "0" * 64)
    assert find_provenance(run_dir).manifest.num_examples == 50
    # Records made anew under the same name.
    with open(finished.input_file, "rb") as file:
        contents = file.read()
    for made, is_described in ((contents * 2, False), (contents, True)):
        with open(finished.input_file, "wb") as file:
            file.write(made)
        write_manifest(finished.input_file, "0" * 64)
        assert (find_provenance(run_dir).manifest is not None) == is_described
    # Records of a different name, put where the flags point.
    with open(os.path.join(run_dir, "run_pretraining.flags"), "w") as file:
        file.write(FLAGS.format(shutil.copy(finished.input_file, os.path.join(run_dir, "others"))))
    write_manifest(os.path.join(run_dir, "others"), "0" * 64)
    assert find_provenance(run_dir).manifest is None


def test_records_that_are_gone_are_no_error(run_dir, finished):
    os.unlink(finished.input_file)
    assert find_provenance(run_dir).manifest is None


def test_a_converted_checkpoint_claims_no_training(run_dir, tmp_path):
    for format_name, title in (("albert_tf", "a checkpoint of albert_tf"), ("official", "an official checkpoint")):
        folder = str(tmp_path / format_name)
        convert(ConversionSettings(input=run_dir, output=folder, to_format=format_name))
        found = find_provenance(folder)
        assert (found.format, found.state, found.flags, found.manifest, found.scores) == (title, None, {}, None, {})


def test_without_a_checkpoint_it_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no checkpoint here"):
        find_provenance(str(tmp_path))
