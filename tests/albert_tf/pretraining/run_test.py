"""Whole runs on a model that trains in milliseconds: what they write, that they resume exactly, what they refuse."""

import dataclasses
import logging
import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.checkpoints import run_checkpoints
from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import initialise, load_pretrained
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.pretraining.evaluation import EvaluationSettings, evaluate_checkpoint, format_evaluation
from albert_tf.pretraining.opened_records import open_all_records
from albert_tf.pretraining.pretrain import run
from albert_tf.runtime.errors import InputError

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
    settings, write_unmasked_records, cut_off_at, read_weights, read_log
):
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
    for name, value in read_weights(settings.output_dir, STEPS).items():
        np.testing.assert_array_equal(value, whole[name], err_msg=name)
    again = [line for line in read_log(settings.output_dir) if line["kind"] == "train"]
    assert [(line["loss"], line["examples_seen"]) for line in again] == [
        (line["loss"], line["examples_seen"]) for line in lines
    ]


def test_records_with_masks_are_neither_cut_nor_masked_anew(settings):
    with pytest.raises(InputError, match="^--length_schedule, --masked_lm_prob and --ngram want records that have no"):
        run(dataclasses.replace(settings, masked_lm_prob="0.3"))


def test_what_a_run_writes(finished, read_weights, read_log):
    assert sorted(os.listdir(finished.output_dir)) == [
        "albert_config.json",
        "checkpoint-00000004",
        "checkpoint-00000008",
        "checkpoint-00000012",
        "run_pretraining.flags",
        "tensorboard",
        "train_log.jsonl",
    ]
    state = run_checkpoints.read_state(os.path.join(finished.output_dir, "checkpoint-00000012"))
    assert (state.step, state.examples_seen, state.optimizer) == (12, 96, "lamb")
    start, line = read_log(finished.output_dir)[:2]
    assert (start["kind"], start["step"], start["replicas"]) == ("start", 0, 1)
    assert line["examples_seen"] == 24
    assert line["epochs"] == 24 / 50
    assert line["learning_rate"] == pytest.approx(0.01 * (1 - 2 / STEPS))
    assert {"loss", "masked_lm_accuracy", "sentence_order_accuracy", "gradient_norm", "tokens_per_second"} < set(line)
    # A run that is done trains no further.
    before = read_weights(finished.output_dir, STEPS)
    run(finished)
    for name, value in read_weights(finished.output_dir, STEPS).items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.slow
def test_training_learns_the_labels(settings, small_config, read_log):
    # With large enough initial weights to leave the start within seconds.
    config = {**small_config.to_dict(), "initializer_range": 0.2}
    AlbertConfig.from_dict(config).to_json_file(settings.albert_config_file)
    settings = dataclasses.replace(settings, optimizer="adamw", learning_rate=0.003, num_train_steps=200)
    run(dataclasses.replace(settings, num_warmup_steps=50, save_checkpoints_steps=200, log_steps=50))
    losses = [line["sentence_order_loss"] for line in read_log(settings.output_dir) if line["kind"] == "train"]
    assert losses[-1] < 0.3 < losses[0]
    result = evaluate_checkpoint(EvaluationSettings(input_file=settings.input_file, output_dir=settings.output_dir))
    assert result["sentence_order_accuracy"] > 0.9
    assert result["num_examples"] == 50
    assert result["sentence_order_standard_error"] == pytest.approx(0.5 / 50**0.5)
    assert 0 < result["most_frequent_piece_accuracy"] < 0.5
    assert "checkpoint-00000200" in format_evaluation(result)


@pytest.mark.slow
def test_without_a_sentence_task_its_head_is_left_as_it_was(settings, read_weights):
    settings = dataclasses.replace(
        settings, sentence_task="none", optimizer="adamw", num_train_steps=4, input_file=settings.input_file
    )
    run(settings)
    tf.keras.utils.set_random_seed(settings.random_seed)
    untrained = AlbertForPretraining(AlbertConfig.from_json_file(settings.albert_config_file))
    trained = read_weights(settings.output_dir, 4)
    np.testing.assert_array_equal(trained["adam_m/sentence_order/classifier/kernel"], 0)
    assert np.abs(trained["adam_m/masked_lm/transform/kernel"]).max() > 0
    # Weight decay, the only thing that moves it: 4 steps of at most lr * .01.
    kernel = named_weights(untrained)["sentence_order/classifier/kernel"].numpy()
    np.testing.assert_allclose(trained["sentence_order/classifier/kernel"], kernel, rtol=4 * 0.01 * 0.01)


@pytest.mark.slow
def test_a_run_starts_from_the_best_checkpoint_of_another(finished, tmp_path, read_weights):
    pretrained = load_pretrained(finished.output_dir)
    model = pretrained.model
    assert pretrained.vocabulary is None
    for name, value in named_weights(model).items():
        np.testing.assert_array_equal(value.numpy(), read_weights(finished.output_dir, STEPS)[name])
    second = dataclasses.replace(
        finished,
        output_dir=str(tmp_path / "second"),
        init_checkpoint=finished.output_dir,
        num_train_steps=1,
        num_warmup_steps=1,
    )
    run(second)
    # The first step of a warm-up has learning rate 0: the weights are still those it started from.
    for name, value in named_weights(model).items():
        np.testing.assert_array_equal(value.numpy(), read_weights(second.output_dir, 1)[name])


def test_groups_start_from_group_0(finished, three_layers, read_weights):
    config = AlbertConfig.from_dict({**three_layers.to_dict(), "num_hidden_groups": 3})
    model = AlbertForPretraining(config)
    with pytest.raises(InputError, match="missing albert/encoder/block_1_0"):
        initialise(model, finished.output_dir)
    initialise(model, finished.output_dir, from_group0=True)
    weights = named_weights(model)
    source = read_weights(finished.output_dir, STEPS)
    for group in range(3):
        name = "feed_forward/output/kernel"
        np.testing.assert_array_equal(
            weights[f"albert/encoder/block_{group}_0/{name}"].numpy(), source[f"albert/encoder/block_0_0/{name}"]
        )


def test_an_official_checkpoint_starts_a_run(shared):
    prefix = str(shared / "reference/official/groups2/model.ckpt")
    config = AlbertConfig.from_json_file(str(shared / "reference/official/groups2/albert_config.json"))
    model = AlbertForPretraining(config)
    initialise(model, prefix)
    stored = np.load(shared / "reference/official/groups2/parity.npz")
    np.testing.assert_array_equal(
        named_weights(model)["sentence_order/classifier/kernel"].numpy(),
        stored["var/cls/seq_relationship/output_weights"].T,
    )


@pytest.mark.slow
def test_a_loss_that_is_not_finite_stops_the_run(finished, tmp_path):
    model = load_pretrained(finished.output_dir).model
    broken = str(tmp_path / "broken")
    os.makedirs(broken)
    weights = {name: value.numpy() for name, value in named_weights(model).items()}
    # Finite, as all weights must be; their products are not.
    (norm,) = [name for name in weights if name.startswith("albert/embeddings/") and name.endswith("gamma")]
    weights[norm][:] = 3e38
    run_checkpoints.write_weights(broken, model.config, weights, None)
    with pytest.raises(InputError, match="the loss is nan in step 0 ") as error:
        run(dataclasses.replace(finished, output_dir=str(tmp_path / "next"), init_checkpoint=broken))
    assert "--learning_rate" in str(error.value)
    assert not run_checkpoints.CheckpointFolder(str(tmp_path / "next")).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"do_train": False}, "at least one of --do_train and --do_eval"),
        ({"train_batch_size": 0}, "--train_batch_size must be at least 1"),
        ({"learning_rate": float("nan")}, "--learning_rate must be a positive number"),
        ({"albert_config_file": "none.json"}, "none.json: no such config file"),
        ({"input_file": "none-*"}, "--input_file: no file matches 'none-*'"),
        ({"max_seq_length": 8}, "records hold 16 tokens, --max_seq_length=8"),
        ({"max_seq_length": 32}, "--max_seq_length=32 exceeds max_position_embeddings=16"),
        ({"max_predictions_per_seq": 5}, "records hold 4 predictions"),
        ({"init_checkpoint": ""}, "--init_checkpoint is empty"),
        ({"init_checkpoint": "nowhere"}, "nowhere: no checkpoint here"),
        ({"distribution_strategy": "two"}, "--distribution_strategy must be one of"),
        ({"optimizer": "lamp"}, "--optimizer must be one of"),
        ({"precision": "float8"}, "--precision must be one of float32, bfloat16, float16"),
        ({"nonfinite": "ignore"}, "--nonfinite must be one of stop, skip"),
        ({"max_nonfinite_steps": -1}, "--max_nonfinite_steps must be at least 0"),
        ({"gradient_accumulation_steps": 0}, "--gradient_accumulation_steps must be at least 1"),
        ({"gradient_accumulation_steps": 3}, "--train_batch_size must be a multiple of 3"),
        ({"distribution_strategy": "multi_worker"}, "multi_worker needs TF_CONFIG"),
        ({"do_train": False, "do_eval": True}, "holds no checkpoint to evaluate"),
    ],
)
def test_bad_settings_end_in_one_line_and_write_nothing(settings, changes, message):
    with pytest.raises(InputError) as error:
        run(dataclasses.replace(settings, **changes))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not os.path.exists(settings.output_dir)


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


def test_masks_of_the_other_kind_are_refused(settings, write_unmasked_records):
    with pytest.raises(InputError, match="--masking=dynamic, but the records have their masks in them"):
        run(dataclasses.replace(settings, masking="dynamic"))
    (unmasked,) = write_unmasked_records("unmasked", 20)
    with pytest.raises(InputError, match="--masking=static, but the records hold no masks"):
        run(dataclasses.replace(settings, masking="static", input_file=unmasked))
    assert not os.path.exists(settings.output_dir)


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


def test_much_padding_is_told_of(settings, write_unmasked_records, small_config, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    for share in (0.04, 0.062):
        (path,) = write_unmasked_records(f"records{share}", 50, statistics={"padding_share": share})
        open_all_records(dataclasses.replace(settings, input_file=path), small_config)
        assert ("6.2 % of the records' tokens are padding" in caplog.text) == (share > 0.05)
    assert "--short_seq_prob=0 makes records with less of it" in caplog.text


def test_what_was_done_against_padding_is_not_advised_again(settings, write_unmasked_records, small_config, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    made = {"statistics": {"padding_share": 0.07}, "flags": {"short_seq_prob": 0.0}}
    (path,) = write_unmasked_records("records", 50, **made)
    open_all_records(dataclasses.replace(settings, input_file=path), small_config)
    assert "7.0 % of the records' tokens are padding, computed for nothing; the ends of short documents" in caplog.text
    assert "short_seq_prob" not in caplog.text
