"""Whole runs on a model that trains in milliseconds: what they write and learn, what they refuse."""

import dataclasses
import os

import numpy as np
import pytest
import tensorflow as tf
from absl import flags

from albert_tf import run_pretraining
from albert_tf.checkpoints import run_checkpoints
from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.pretraining.evaluation import evaluate_checkpoint, format_evaluation
from albert_tf.pretraining.pretrain import run
from albert_tf.pretraining.settings import EvaluationSettings, PretrainingSettings
from albert_tf.runtime import allocator
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.settings_flags import values_of
from albert_tf.training.strategy import TpuAddress

STEPS = 12


@pytest.mark.slow
@pytest.mark.parametrize("given_back", [False, True])
def test_memory_that_is_not_given_back_is_told_where_it_was_to_be(settings, monkeypatch, caplog, given_back):
    monkeypatch.setattr(allocator, "gives_memory_back", lambda: given_back)
    short = dataclasses.replace(settings, num_train_steps=1, num_warmup_steps=0)
    run(dataclasses.replace(short, release_memory=True))
    assert ("release_memory comes too late" in caplog.text) == (not given_back)
    caplog.clear()
    run(dataclasses.replace(short, output_dir=f"{settings.output_dir}-2"))
    assert "release_memory" not in caplog.text


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


def test_a_run_that_python_began_leaves_its_flags_too(settings):
    settings = dataclasses.replace(
        settings, resolved_flags="", num_train_steps=2, warmup_proportion=0.5, do_eval=True, log_steps=1
    )
    run(settings)
    given = flags.FlagValues()
    run_pretraining.define_flags(given)
    given(["run_pretraining", f"--flagfile={os.path.join(settings.output_dir, 'run_pretraining.flags')}"])
    assert PretrainingSettings(**values_of(PretrainingSettings, given)) == settings
    # What --warmup_proportion takes the place of is not given beside it.
    assert not given["num_warmup_steps"].present


def test_the_flags_of_a_run_say_which_tpu_it_had(settings):
    told = dataclasses.replace(settings, tpu=TpuAddress("pod", zone="us-west4-a")).to_flags()
    assert told.endswith("--use_tpu\n--tpu_name=pod\n--tpu_zone=us-west4-a\n")
    assert "use_tpu" not in settings.to_flags()


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
def test_the_sentence_head_learns_at_a_rate_of_its_own(settings, read_weights):
    given = dataclasses.replace(settings, optimizer="adamw", sentence_head_rate=0.01, num_train_steps=4)
    run(dataclasses.replace(given, save_checkpoints_steps=1))
    # The first step of a warm-up moves nothing.
    first, last = read_weights(given.output_dir, 1), read_weights(given.output_dir, 4)
    # Not the moments, nor the kernels of query and key, whose gradients here are as small as Adam's epsilon.
    kernels = [name for name in last if name.endswith("/kernel") and not name.startswith("adam_")]
    moved = {name: np.abs(last[name] - first[name]).max() for name in kernels}
    slow = {name for name in moved if name.startswith(("albert/pooler/", "sentence_order/"))}
    assert len(moved) > len(slow) + 3
    assert len(slow) == 2
    assert all(0 < moved[name] < 0.02 * min(moved[other] for other in moved.keys() - slow) for name in slow)


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
        ({"learning_rate": float("nan")}, "--learning_rate must lie in"),
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
        (
            {"gradient_accumulation_steps": 3, "batch_schedule": "9:0.5,10:0.5"},
            "a stage of the run must be a multiple of 3",
        ),
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
